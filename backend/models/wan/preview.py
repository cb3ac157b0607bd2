"""A picture of a latent at the price of one small matrix."""

import json
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch
from torch import Tensor

from rushes.backend.models.family import FamilyError
from rushes.backend.models.wan.vae import WanVae


@dataclass(frozen=True, slots=True)
class LinearPreview:
    """RGB in 0..1 as weight @ channels + bias of the normalised latent; weight [3, C], bias [3]."""

    weight: Tensor
    bias: Tensor

    def __call__(self, latent: Tensor) -> Tensor:
        """[1, C, T, h, w] -> uint8 [T, h, w, 3]"""
        channels = latent[0].to(self.weight.device).float().permute(1, 2, 3, 0)
        colour = channels @ self.weight.T + self.bias
        return (colour.clamp(0, 1) * 255).round().to(torch.uint8)


def read_preview(path: Path, device: torch.device) -> LinearPreview:
    """Errors: FamilyError for a file that is not `{"weight": [3][C], "bias": [3]}`."""
    try:
        told = json.loads(path.read_bytes())
        weight, bias = torch.tensor(told["weight"]), torch.tensor(told["bias"])
    except (KeyError, TypeError, ValueError) as error:
        raise FamilyError(f"{path.name}: must hold weight [3][C] and bias [3], got {error}") from error
    if weight.ndim != 2 or weight.shape[0] != 3 or bias.shape != (3,):
        raise FamilyError(f"{path.name}: must hold weight [3][C] and bias [3], got {list(weight.shape)}")
    return LinearPreview(weight.float().to(device), bias.float().to(device))


@torch.no_grad()
def fit_preview(vae: WanVae) -> LinearPreview:
    """Least squares from the latents of plain colours to the colours, for a checkpoint that brings none."""
    weight = vae.decoder.conv_in.weight
    levels = torch.linspace(-1, 1, 4)
    colours = torch.tensor(list(product(levels.tolist(), repeat=3)), device=weight.device)
    side = 4 * vae.spatial
    stills = colours[:, :, None, None, None].expand(-1, -1, 1, side, side).to(weight.dtype)
    latent = vae.normalised(vae.encode(stills).float())
    channels = latent[:, :, 0, 1:-1, 1:-1].mean(dim=(2, 3))
    rows = torch.cat((channels, torch.ones_like(channels[:, :1])), dim=1).double().cpu()
    # A little ridge: 16 channels of plain colours lie close to a plane.
    gram = rows.T @ rows + 1e-3 * torch.eye(rows.shape[1], dtype=torch.float64)
    fit = torch.linalg.solve(gram, rows.T @ (colours.double().cpu() / 2 + 0.5)).float().to(weight.device)
    return LinearPreview(fit[:-1].T.contiguous(), fit[-1])
