"""Wan's transformer: patches of a latent in, velocity out; parameters named as diffusers names them."""

import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rushes.backend.models.layers.adapted_linear import AdaptedLinear, LaneAdapters, name_adapted_layers
from rushes.backend.models.layers.attention import AttentionChoice
from rushes.backend.models.layers.joined_rings import JoinedRings
from rushes.backend.models.layers.ring_kv import RingKVCache
from rushes.backend.models.layers.rotary import Rotary, rotary_3d
from rushes.backend.models.wan.blocks import (
    BlockInputs,
    History,
    TextKV,
    TextRows,
    WanBlock,
    modulated_norm,
    small_normal,
)
from rushes.backend.models.wan.transformer_config import WanTransformerConfig

if TYPE_CHECKING:
    from rushes.backend.models.wan.fused import FusedBlocks

__all__ = ["TextKV", "TextRows", "WanTransformer", "WanTransformerConfig"]


class TwoLayers(nn.Module):
    """linear_1, an activation, linear_2: the form of both embedders."""

    def __init__(self, inputs: int, dim: int) -> None:
        super().__init__()
        self.linear_1 = AdaptedLinear(inputs, dim)
        self.linear_2 = AdaptedLinear(dim, dim)


class ConditionEmbedder(nn.Module):
    def __init__(self, config: WanTransformerConfig) -> None:
        super().__init__()
        self.freq_dim = config.freq_dim
        self.time_embedder = TwoLayers(config.freq_dim, config.dim)
        self.time_proj = AdaptedLinear(config.dim, 6 * config.dim)
        self.text_embedder = TwoLayers(config.text_dim, config.dim)

    def embed_time(self, timestep: Tensor, adapters: LaneAdapters | None) -> Tensor:
        """timestep [B, groups] -> [B, groups, dim]"""
        first, second = self.time_embedder.linear_1, self.time_embedder.linear_2
        waves = _sinusoid(timestep, self.freq_dim).to(first.weight.dtype)
        return second(F.silu(first(waves, adapters)), adapters)

    def project_time(self, embedded: Tensor, adapters: LaneAdapters | None) -> Tensor:
        """[B, groups, dim] -> [B, groups, 6, dim], fp32"""
        active = F.silu(embedded).to(self.time_proj.weight.dtype)
        return self.time_proj(active, adapters).unflatten(-1, (6, -1)).float()

    def embed_text(self, text: Tensor, adapters: LaneAdapters | None) -> Tensor:
        first, second = self.text_embedder.linear_1, self.text_embedder.linear_2
        return second(F.gelu(first(text.to(first.weight.dtype), adapters), approximate="tanh"), adapters)


class WanTransformer(nn.Module):
    """Predicts the velocity of a latent.

    Shapes: latent [B, C, T, H, W]; timestep [B], [B, T] (per latent frame) or [B, tokens], 0 to 1000;
        text [B, L, text_dim], TextRows or TextKV; keys [B, T, dim], embedded, added to the time embedding of
        each latent frame; attention_mask bool [tokens, tokens] or [B, 1, tokens, tokens], True attends.
        Tokens are ordered time, height, width. Returns [B, out_channels, T, H, W] in the dtype computed in.
    State: none of its own, but for the choice of kernels. With `cache`, self-attention also sees the cached
        frames; with `commit` the keys and values of this latent are appended to it.
    Errors: ValueError for a latent that does not divide into patches, a timestep of another length, adapters
        for another number of lanes.
    """

    def __init__(self, config: WanTransformerConfig) -> None:
        super().__init__()
        dim = config.dim
        self.config = config
        self.patch_embedding = nn.Conv3d(config.in_channels, dim, config.patch_size, config.patch_size)
        self.condition_embedder = ConditionEmbedder(config)
        self.blocks = nn.ModuleList(WanBlock(config, layer) for layer in range(config.num_layers))
        patch_volume = config.patch_size[0] * config.patch_size[1] * config.patch_size[2]
        self.proj_out = AdaptedLinear(dim, config.out_channels * patch_volume)
        self.scale_shift_table = nn.Parameter(small_normal(1, 2, dim))
        self._fused: FusedBlocks | None = None
        self._uses_kernels = False
        name_adapted_layers(self)

    def forward(  # noqa: PLR0913 - one forward serves training, denoising and rollouts
        self,
        latent: Tensor,
        timestep: Tensor,
        text: Tensor | TextRows | TextKV,
        *,
        keys: Tensor | None = None,
        attention_mask: Tensor | None = None,
        cache: RingKVCache | JoinedRings | None = None,
        commit: bool = False,
        adapters: LaneAdapters | None = None,
    ) -> Tensor:
        grid = self._grid(latent)
        if adapters is not None and adapters.lanes != latent.shape[0]:
            raise ValueError(f"adapters must be for {latent.shape[0]} lanes, got {adapters.lanes}")
        embedded = self.condition_embedder.embed_time(_grouped(timestep, grid), adapters)
        if keys is not None:
            embedded = _add_keys(embedded, keys, grid)
        modulation = self.condition_embedder.project_time(embedded, adapters)
        if not isinstance(text, TextKV):
            text = self.text_kv(text, adapters)

        rotary, history = self._positions(latent, grid, cache, commit)
        inputs = BlockInputs(text, rotary, attention_mask, history, adapters)
        fused = None if torch.is_grad_enabled() or torch.compiler.is_compiling() else self._fused
        if fused is not None and self._uses_kernels:
            x = fused.forward(self._patch_rows(latent, grid), embedded, modulation, inputs)
        else:
            x = self._plain(self._patches(latent), embedded, modulation, inputs)
        if cache is not None and commit:
            cache.end()
        return self._unpatched(self.proj_out(x, adapters), grid)

    def _plain(self, x: Tensor, embedded: Tensor, modulation: Tensor, inputs: BlockInputs) -> Tensor:
        groups = embedded.shape[1]
        x = x.unflatten(1, (groups, x.shape[1] // groups))
        for block in self.blocks:
            x = block(x, modulation, inputs)
        shift, scale = (self.scale_shift_table[None] + embedded.float().unsqueeze(2)).unsqueeze(3).unbind(2)
        return modulated_norm(x, scale, shift, self.config.eps).flatten(1, 2)

    def text_kv(self, text: Tensor | TextRows, adapters: LaneAdapters | None = None) -> TextKV:
        """Keys and values of a prompt for every layer; they do not change from step to step."""
        rows, log_count = text if isinstance(text, TextRows) else (text, None)
        embedded = self.condition_embedder.embed_text(rows, adapters)
        blocks = cast(list[WanBlock], self.blocks)
        layers = tuple(block.attn2.key_value(embedded, adapters) for block in blocks)
        return TextKV(layers, log_count)

    def rotate_past(self, cache: RingKVCache | JoinedRings, height: int, width: int) -> None:
        """Turn all past keys by their positions now; height and width count tokens."""
        if not cache.is_past_rotated:
            cache.rotate_past(self._past(cache, height, width))

    def use_attention(self, choice: AttentionChoice) -> None:
        """Take another choice of attention backends than plain SDPA, in every layer."""
        for block in cast(list[WanBlock], self.blocks):
            block.attn1.choice = block.attn2.choice = choice

    def use_kernels(self, are_used: bool) -> None:
        """Run the blocks through our own kernels wherever gradients are off, or no longer so.

        To be called again after the weights moved to other memory.
        Errors: ValueError for a config that they are not made for.
        """
        self._uses_kernels = are_used
        if not are_used or (self._fused is not None and self._fused.is_current):
            return
        from rushes.backend.models.wan.fused import FusedBlocks  # needs Triton, which not every machine has

        blocks = cast(list[WanBlock], self.blocks)
        self._fused = FusedBlocks(blocks, self.scale_shift_table, self.config.eps)

    @property
    def can_use_kernels(self) -> bool:
        """Whether they are made for this config and for where the weights are."""
        is_there = self.proj_out.weight.is_cuda and find_spec("triton") is not None
        return is_there and self.config.cross_attn_norm

    def _grid(self, latent: Tensor) -> tuple[int, int, int]:
        sizes, patch = latent.shape[2:], self.config.patch_size
        if any(size % side for size, side in zip(sizes, patch, strict=True)):
            raise ValueError(
                f"latent frames, height and width must be multiples of {patch}, got {tuple(sizes)}"
            )
        return sizes[0] // patch[0], sizes[1] // patch[1], sizes[2] // patch[2]

    def _positions(
        self,
        latent: Tensor,
        grid: tuple[int, int, int],
        cache: RingKVCache | JoinedRings | None,
        commit: bool,
    ) -> tuple[Rotary, History | None]:
        frames, height, width = grid
        head_dim = self.config.attention_head_dim
        positions = torch.arange(frames, device=latent.device)
        if cache is None:
            return rotary_3d(positions, height, width, head_dim), None
        if commit:
            cache.begin(cache.frames, frames)
        rotary = rotary_3d(cache.kept_frames + positions, height, width, head_dim)
        return rotary, History(cache, self._past(cache, height, width), commit)

    def _past(self, cache: RingKVCache | JoinedRings, height: int, width: int) -> Rotary:
        return rotary_3d(cache.frame_positions(), height, width, self.config.attention_head_dim)

    def _patches(self, latent: Tensor) -> Tensor:
        weight = self.patch_embedding.weight
        return self.patch_embedding(latent.to(weight.dtype)).flatten(2).transpose(1, 2).contiguous()

    def _patch_rows(self, latent: Tensor, grid: tuple[int, int, int]) -> Tensor:
        """What `_patches` makes, as one matrix product."""
        weight, (_, height, width) = self.patch_embedding.weight, grid
        depth, tall, wide = self.config.patch_size
        cells = latent.to(weight.dtype).unflatten(4, (width, wide)).unflatten(3, (height, tall))
        rows = cells.unflatten(2, (-1, depth)).permute(0, 2, 4, 6, 1, 3, 5, 7).flatten(4).flatten(1, 3)
        return F.linear(rows, weight.flatten(1), self.patch_embedding.bias)

    def _unpatched(self, x: Tensor, grid: tuple[int, int, int]) -> Tensor:
        x = x.unflatten(1, grid).unflatten(-1, (*self.config.patch_size, -1))
        return x.permute(0, 7, 1, 4, 2, 5, 3, 6).flatten(6, 7).flatten(4, 5).flatten(2, 3)


def _grouped(timestep: Tensor, grid: tuple[int, int, int]) -> Tensor:
    """[B, groups]: one group for all tokens, one per latent frame, or one per token."""
    grouped = timestep[:, None] if timestep.ndim == 1 else timestep
    frames, tokens = grid[0], grid[0] * grid[1] * grid[2]
    if grouped.shape[1] not in (1, frames, tokens):
        raise ValueError(
            f"timestep must have 1, {frames} or {tokens} values a sample, got {grouped.shape[1]}"
        )
    return grouped


def _add_keys(embedded: Tensor, keys: Tensor, grid: tuple[int, int, int]) -> Tensor:
    """Keys are per latent frame: a time embedding per token needs them repeated over the frame's tokens."""
    if embedded.shape[1] > grid[0]:
        keys = keys.repeat_interleave(grid[1] * grid[2], dim=1)
    return embedded + keys.type_as(embedded)


def _sinusoid(timestep: Tensor, dim: int) -> Tensor:
    half = dim // 2
    exponent = -math.log(10000.0) * torch.arange(half, dtype=torch.float32, device=timestep.device) / half
    angles = timestep.float()[..., None] * exponent.exp()
    return torch.cat((angles.cos(), angles.sin()), dim=-1)
