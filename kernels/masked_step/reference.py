"""masked_step in plain PyTorch. This file defines the right answer."""

from typing import NamedTuple

import torch
from torch import Tensor


class Branches(NamedTuple):
    """What the transformer predicted: the velocity d latent / d sigma, with or without a negative branch.

    Shapes: positive and negative [B, C, T, H, W]; guidance [B], fp32: negative + guidance * (positive -
        negative).
    """

    positive: Tensor
    negative: Tensor | None = None
    guidance: Tensor | None = None


class Edit(NamedTuple):
    """What an edited lane keeps; a lane of ones in both masks is a lane without a mask, bit for bit.

    Shapes: clean and anchor as the latent; cell_mask and token_mask [B, T, H, W], 0 keeps, 1 regenerates.
    clean is the encoded source, anchor the same with a trace of noise: what a kept token shows the
    transformer. cell_mask restores after the prediction. token_mask is what the transformer is told: the
    largest value of the cells of a token, on each of its cells.
    """

    clean: Tensor
    anchor: Tensor
    cell_mask: Tensor
    token_mask: Tensor


class Stepped(NamedTuple):
    """The latent at the next sigma and, where it was asked for, what enters the transformer next."""

    latent: Tensor
    next_input: Tensor | None


def masked_step_reference(
    latent: Tensor,
    branches: Branches,
    sigma: Tensor,
    sigma_next: Tensor,
    edit: Edit | None = None,
    *,
    with_next_input: bool = False,
) -> Stepped:
    """One Euler step from sigma to sigma_next, in fp32, rounded once.

    Shapes: latent [B, C, T, H, W]; sigma and sigma_next [B], [B, T] (per latent frame) or [B, T, H, W]. A
        lane or cell whose sigma is 0 is finished and stays as it is.
    Guarantees: cells of cell_mask 0 hold the bits of `clean` once sigma_next is 0.
    """
    x, velocity = latent.float(), combined(branches)
    now, after = per_cell(sigma), per_cell(sigma_next)
    euler = x + (after - now) * velocity
    if edit is None:
        return Stepped(euler.to(latent.dtype), None)

    clean, anchor = edit.clean.float(), edit.anchor.float()
    cell, token = edit.cell_mask[:, None].float(), edit.token_mask[:, None].float()
    predicted = anchor + token * (x - anchor) - now * token * velocity
    restored = clean + cell * (predicted - clean)
    ratio = torch.where(now > 0, after / now, 1.0)
    stepped = torch.where((cell == 1) & (token == 1), euler, ratio * x + (1 - ratio) * restored)
    stepped = torch.where((cell == 0) & (after == 0), clean, stepped)
    next_input = (anchor + token * (stepped - anchor)).to(latent.dtype) if with_next_input else None
    return Stepped(stepped.to(latent.dtype), next_input)


def combined(branches: Branches) -> Tensor:
    """The velocity that guidance makes of the branches, fp32."""
    positive = branches.positive.float()
    if branches.negative is None or branches.guidance is None:
        return positive
    negative = branches.negative.float()
    return negative + branches.guidance.float()[:, None, None, None, None] * (positive - negative)


def per_cell(sigma: Tensor) -> Tensor:
    """[B], [B, T] or [B, T, H, W] -> a shape that broadcasts over [B, C, T, H, W], fp32."""
    lanes = sigma.shape[0]
    frames = sigma.shape[1] if sigma.ndim > 1 else 1
    size = sigma.shape[2:] if sigma.ndim > 2 else (1, 1)
    return sigma.float().reshape(lanes, 1, frames, *size)
