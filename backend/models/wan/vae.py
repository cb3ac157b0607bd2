"""Wan's video autoencoder; parameters named as diffusers names them.

Frames and latent frames: 1 + 4k pixel frames are 1 + k latent frames; the first latent frame stands for the
first frame alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rushes.backend.models.wan.vae_layers import (
    CausalConv3d,
    Downsample,
    MidBlock,
    ResidualBlock,
    RMSNorm,
    Upsample,
)


@dataclass(frozen=True, slots=True)
class WanVaeConfig:
    """The fields of diffusers' vae/config.json."""

    latents_mean: tuple[float, ...]
    latents_std: tuple[float, ...]
    base_dim: int = 96
    decoder_base_dim: int | None = None
    z_dim: int = 16
    dim_mult: tuple[int, ...] = (1, 2, 4, 4)
    num_res_blocks: int = 2
    attn_scales: tuple[float, ...] = ()
    temperal_downsample: tuple[bool, ...] = (False, True, True)
    dropout: float = 0.0
    is_residual: bool = False
    in_channels: int = 3
    out_channels: int = 3
    patch_size: int | None = None
    scale_factor_temporal: int = 4
    scale_factor_spatial: int = 8

    @property
    def patch(self) -> int:
        return self.patch_size or 1

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "WanVaeConfig":
        """Errors: ValueError for a field this autoencoder does not know or cannot honour."""
        known = {field.name for field in fields(cls)}
        given = {name: value for name, value in values.items() if not name.startswith("_")}
        if unknown := sorted(given.keys() - known):
            raise ValueError(f"the vae config must have Wan's fields only, got {', '.join(unknown)}")
        if given.get("attn_scales") or given.get("is_residual"):
            raise ValueError("attn_scales must be empty and is_residual false: the others are not supported")
        tuples = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return cls(**{**given, **tuples})


class Encoder(nn.Module):
    def __init__(self, config: WanVaeConfig) -> None:
        super().__init__()
        widths = [config.base_dim * factor for factor in (1, *config.dim_mult)]
        self.conv_in = CausalConv3d(config.in_channels, widths[0], (3, 3, 3))
        self.down_blocks = nn.ModuleList()
        for level, (inputs, outputs) in enumerate(pairwise(widths)):
            for index in range(config.num_res_blocks):
                self.down_blocks.append(ResidualBlock(inputs if index == 0 else outputs, outputs))
            if level < len(config.dim_mult) - 1:
                self.down_blocks.append(Downsample(outputs, in_time=config.temperal_downsample[level]))
        self.mid_block = MidBlock(widths[-1])
        self.norm_out = RMSNorm(widths[-1], axes=3)
        self.conv_out = CausalConv3d(widths[-1], 2 * config.z_dim, (3, 3, 3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv_in(x)
        for block in self.down_blocks:
            x = block(x)
        return self.conv_out(F.silu(self.norm_out(self.mid_block(x))))


class UpBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, num_res_blocks: int) -> None:
        super().__init__()
        widths = [inputs] + [outputs] * num_res_blocks
        self.resnets = nn.ModuleList(ResidualBlock(width, outputs) for width in widths)
        self.upsamplers: nn.ModuleList | None = None

    def forward(self, x: Tensor) -> Tensor:
        for resnet in self.resnets:
            x = resnet(x)
        return x if self.upsamplers is None else self.upsamplers[0](x)


class Decoder(nn.Module):
    def __init__(self, config: WanVaeConfig) -> None:
        super().__init__()
        base = config.decoder_base_dim or config.base_dim
        widths = [base * factor for factor in (config.dim_mult[-1], *reversed(config.dim_mult))]
        in_time = tuple(reversed(config.temperal_downsample))
        self.conv_in = CausalConv3d(config.z_dim, widths[0], (3, 3, 3))
        self.mid_block = MidBlock(widths[0])
        self.up_blocks = nn.ModuleList()
        for level, (inputs, outputs) in enumerate(pairwise(widths)):
            # An upsampling halves the channels.
            block = UpBlock(inputs if level == 0 else inputs // 2, outputs, config.num_res_blocks)
            if level < len(config.dim_mult) - 1:
                block.upsamplers = nn.ModuleList([Upsample(outputs, outputs // 2, in_time=in_time[level])])
            self.up_blocks.append(block)
        self.norm_out = RMSNorm(widths[-1], axes=3)
        self.conv_out = CausalConv3d(widths[-1], config.out_channels, (3, 3, 3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.mid_block(self.conv_in(x))
        for block in self.up_blocks:
            x = block(x)
        return self.conv_out(F.silu(self.norm_out(x)))


class WanVae(nn.Module):
    """Video to latent and back.

    Shapes: video [B, 3, 1 + 4k, H, W] in -1..1; latent [B, z_dim, 1 + k, H / s, W / s], not normalised unless
        said; H and W multiples of s, the product of the downsamplings and the patch.
    State: none; see `stream` for decoding a video as it comes.
    Errors: ValueError for a frame count or a size off that lattice.
    """

    def __init__(self, config: WanVaeConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.quant_conv = CausalConv3d(2 * config.z_dim, 2 * config.z_dim, (1, 1, 1))
        self.post_quant_conv = CausalConv3d(config.z_dim, config.z_dim, (1, 1, 1))

    @property
    def spatial(self) -> int:
        """Pixels per latent cell."""
        return self.config.patch * 2 ** (len(self.config.dim_mult) - 1)

    def moments(self, video: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of the latent's distribution, in one pass over the whole clip."""
        self._check_clip(video)
        mean, log_variance = self.quant_conv(self.encoder(patchified(video, self.config.patch))).chunk(
            2, dim=1
        )
        return mean, log_variance.clamp(-30.0, 20.0)

    def encode(self, video: Tensor) -> Tensor:
        """The mean latent of a whole clip."""
        return self.moments(video)[0]

    def decode(self, latent: Tensor, *, clamp: bool = True) -> Tensor:
        """The whole clip in one pass; without `clamp` it may leave -1..1, which training wants."""
        video = unpatchified(self.decoder(self.post_quant_conv(latent)), self.config.patch)
        return video.clamp(-1.0, 1.0) if clamp else video

    def normalised(self, latent: Tensor) -> Tensor:
        """(latent - mean) / std, per channel"""
        return (latent - self._statistic(self.config.latents_mean, latent)) / self._statistic(
            self.config.latents_std, latent
        )

    def denormalised(self, latent: Tensor) -> Tensor:
        """latent * std + mean, per channel"""
        return latent * self._statistic(self.config.latents_std, latent) + self._statistic(
            self.config.latents_mean, latent
        )

    def _statistic(self, values: tuple[float, ...], like: Tensor) -> Tensor:
        return torch.tensor(values, device=like.device, dtype=like.dtype).view(1, -1, 1, 1, 1)

    def _check_clip(self, video: Tensor) -> None:
        frames, height, width = video.shape[2:]
        step = 2 ** sum(self.config.temperal_downsample)
        if frames % step != 1:
            raise ValueError(f"frame count must be {step}k + 1, got {frames}")
        if height % self.spatial or width % self.spatial:
            raise ValueError(
                f"height and width must be multiples of {self.spatial}, got {height} and {width}"
            )


def patchified(video: Tensor, patch: int) -> Tensor:
    """Squares of patch x patch pixels become channels, columns before rows as in Wan 2.2."""
    if patch == 1:
        return video
    split = video.unflatten(-1, (-1, patch)).unflatten(3, (-1, patch))
    return split.permute(0, 1, 6, 4, 2, 3, 5).flatten(1, 3)


def unpatchified(video: Tensor, patch: int) -> Tensor:
    if patch == 1:
        return video
    split = video.unflatten(1, (-1, patch, patch))
    return split.permute(0, 1, 4, 5, 3, 6, 2).flatten(5, 6).flatten(3, 4)
