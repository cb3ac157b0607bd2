"""Wan's transformer: patches of a latent in, velocity out; parameters named as diffusers names them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rushes.backend.models.layers.adapted_linear import AdaptedLinear, LaneAdapters, name_adapted_layers
from rushes.backend.models.layers.attention import PLAIN, AttentionChoice
from rushes.backend.models.layers.joined_rings import JoinedRings
from rushes.backend.models.layers.ring_kv import RingKVCache
from rushes.backend.models.layers.rotary import Rotary, rotary_3d, rotate


@dataclass(frozen=True, slots=True)
class WanTransformerConfig:
    """The fields of diffusers' transformer/config.json."""

    patch_size: tuple[int, int, int] = (1, 2, 2)
    num_attention_heads: int = 40
    attention_head_dim: int = 128
    in_channels: int = 16
    out_channels: int = 16
    text_dim: int = 4096
    freq_dim: int = 256
    ffn_dim: int = 13824
    num_layers: int = 40
    cross_attn_norm: bool = True
    qk_norm: str = "rms_norm_across_heads"
    eps: float = 1e-6
    image_dim: int | None = None
    added_kv_proj_dim: int | None = None
    rope_max_seq_len: int = 1024
    pos_embed_seq_len: int | None = None

    @property
    def dim(self) -> int:
        return self.num_attention_heads * self.attention_head_dim

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "WanTransformerConfig":
        """Errors: ValueError for a field this transformer does not know or cannot honour."""
        known = {field.name for field in fields(cls)}
        given = {name: value for name, value in values.items() if not name.startswith("_")}
        if unknown := sorted(given.keys() - known):
            raise ValueError(f"the transformer config must have Wan's fields only, got {', '.join(unknown)}")
        if given.get("image_dim") is not None or given.get("added_kv_proj_dim") is not None:
            raise ValueError(
                "image_dim and added_kv_proj_dim must be null: image embeddings are not supported"
            )
        if "patch_size" in given:
            given["patch_size"] = tuple(given["patch_size"])
        return cls(**given)


class TextRows(NamedTuple):
    """Encoded text in fewer rows: equal rows once, with the logarithm of how often they occur.

    Shapes: rows [B, L, text_dim]; log_count [B, L], -inf hides a row.
    """

    rows: Tensor
    log_count: Tensor


class TextKV(NamedTuple):
    """Keys and values of the text for each layer's cross-attention.

    Shapes: layers of ([B, L, heads, head_dim], the same); log_count [B, L] or None, see TextRows.
    """

    layers: tuple[tuple[Tensor, Tensor], ...]
    log_count: Tensor | None


class History(NamedTuple):
    """What a block needs to see the past: the cache, the rotary of its kept frames, whether to write."""

    cache: RingKVCache | JoinedRings
    rotary: Rotary
    commit: bool


class BlockInputs(NamedTuple):
    """What every block of one forward gets alike."""

    text: TextKV
    rotary: Rotary
    mask: Tensor | None
    history: History | None
    adapters: LaneAdapters | None


class RMSNorm(nn.RMSNorm):
    def forward(self, x: Tensor) -> Tensor:
        # Under autocast the weight is fp32 and x is not; the fused kernel wants them alike.
        return F.rms_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.eps)


class Attention(nn.Module):
    def __init__(self, config: WanTransformerConfig) -> None:
        super().__init__()
        dim = config.dim
        self.heads = config.num_attention_heads
        self.choice: AttentionChoice = PLAIN
        self.to_q = AdaptedLinear(dim, dim)
        self.to_k = AdaptedLinear(dim, dim)
        self.to_v = AdaptedLinear(dim, dim)
        self.to_out = nn.ModuleList([AdaptedLinear(dim, dim)])
        self.norm_q = RMSNorm(dim, config.eps)
        self.norm_k = RMSNorm(dim, config.eps)

    def query(self, x: Tensor, adapters: LaneAdapters | None) -> Tensor:
        return self._split(self.norm_q(self.to_q(x, adapters)))

    def key_value(self, x: Tensor, adapters: LaneAdapters | None) -> tuple[Tensor, Tensor]:
        return self._split(self.norm_k(self.to_k(x, adapters))), self._split(self.to_v(x, adapters))

    def output(self, attended: Tensor, adapters: LaneAdapters | None) -> Tensor:
        return self.to_out[0](attended.flatten(2), adapters)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1))


class FeedForward(nn.Module):
    """The layers sit at the indices they have in diffusers' net: 0 with its own proj, and 2."""

    class Up(nn.Module):
        def __init__(self, dim: int, inner: int) -> None:
            super().__init__()
            self.proj = AdaptedLinear(dim, inner)

    def __init__(self, config: WanTransformerConfig) -> None:
        super().__init__()
        down = AdaptedLinear(config.ffn_dim, config.dim)
        self.net = nn.ModuleList([self.Up(config.dim, config.ffn_dim), nn.Identity(), down])

    def forward(self, x: Tensor, adapters: LaneAdapters | None) -> Tensor:
        return self.net[2](F.gelu(self.net[0].proj(x, adapters), approximate="tanh"), adapters)


class WanBlock(nn.Module):
    def __init__(self, config: WanTransformerConfig, layer: int) -> None:
        super().__init__()
        dim = config.dim
        self.layer = layer
        self.eps = config.eps
        self.attn1 = Attention(config)
        self.attn2 = Attention(config)
        self.norm2 = nn.LayerNorm(dim, config.eps) if config.cross_attn_norm else nn.Identity()
        self.ffn = FeedForward(config)
        self.scale_shift_table = nn.Parameter(_small_normal(1, 6, dim))

    def forward(self, x: Tensor, modulation: Tensor, inputs: BlockInputs) -> Tensor:
        """x [B, groups, tokens, dim]; modulation [B, groups, 6, dim], shared by the tokens of a group."""
        parts = (self.scale_shift_table[None] + modulation).unsqueeze(3).unbind(2)
        shift, scale, gate, ff_shift, ff_scale, ff_gate = parts
        groups = x.shape[1:3]

        attended = self.self_attention(_modulated_norm(x, scale, shift, self.eps).flatten(1, 2), inputs)
        x = (x.float() + attended.unflatten(1, groups) * gate).type_as(x)

        attended = self.cross_attention(_fp32_norm(self.norm2, x).flatten(1, 2), inputs)
        x = x + attended.unflatten(1, groups)

        fed = self.ffn(_modulated_norm(x, ff_scale, ff_shift, self.eps).flatten(1, 2), inputs.adapters)
        return (x.float() + fed.unflatten(1, groups).float() * ff_gate).type_as(x)

    def self_attention(self, x: Tensor, inputs: BlockInputs) -> Tensor:
        query = rotate(self.attn1.query(x, inputs.adapters), inputs.rotary)
        raw_keys, raw_values = self.attn1.key_value(x, inputs.adapters)
        keys, values = rotate(raw_keys, inputs.rotary), raw_values
        if inputs.history is None:
            attended = self.attn1.choice.attend(query, keys, values, inputs.mask)
        else:
            cache, past, commit = inputs.history
            attended = self.attn1.choice.attend(
                query, *cache.extended(self.layer, past, keys, values), inputs.mask
            )
            if commit:  # only now: a write may take the place of a frame that was attended to
                cache.write(self.layer, raw_keys, raw_values)
        return self.attn1.output(attended, inputs.adapters)

    def cross_attention(self, x: Tensor, inputs: BlockInputs) -> Tensor:
        query = self.attn2.query(x, inputs.adapters)
        keys, values = inputs.text.layers[self.layer]
        log_count = inputs.text.log_count
        bias = None if log_count is None else log_count[:, None, None].to(query.dtype)
        return self.attn2.output(self.attn2.choice.attend(query, keys, values, bias), inputs.adapters)


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
    State: none of its own. With `cache`, self-attention also sees the cached frames; with `commit` the keys
        and values of this latent are appended to it.
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
        self.scale_shift_table = nn.Parameter(_small_normal(1, 2, dim))
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
        tokens = grid[0] * grid[1] * grid[2]
        embedded = self.condition_embedder.embed_time(_grouped(timestep, grid), adapters)
        if keys is not None:
            embedded = _add_keys(embedded, keys, grid)
        modulation = self.condition_embedder.project_time(embedded, adapters)
        if not isinstance(text, TextKV):
            text = self.text_kv(text, adapters)

        rotary, history = self._positions(latent, grid, cache, commit)
        x = self._patches(latent)
        x = x.unflatten(1, (embedded.shape[1], tokens // embedded.shape[1]))
        inputs = BlockInputs(text, rotary, attention_mask, history, adapters)
        for block in self.blocks:
            x = block(x, modulation, inputs)
        if cache is not None and commit:
            cache.end()

        shift, scale = (self.scale_shift_table[None] + embedded.float().unsqueeze(2)).unsqueeze(3).unbind(2)
        x = _modulated_norm(x, scale, shift, self.config.eps).flatten(1, 2)
        return self._unpatched(self.proj_out(x, adapters), grid)

    def text_kv(self, text: Tensor | TextRows, adapters: LaneAdapters | None = None) -> TextKV:
        """Keys and values of a prompt for every layer; they do not change from step to step."""
        rows, log_count = text if isinstance(text, TextRows) else (text, None)
        embedded = self.condition_embedder.embed_text(rows, adapters)
        layers = tuple(block.attn2.key_value(embedded, adapters) for block in self.blocks)
        return TextKV(layers, log_count)

    def use_attention(self, choice: AttentionChoice) -> None:
        """Take another choice of attention backends than plain SDPA, in every layer."""
        for block in self.blocks:
            block.attn1.choice = block.attn2.choice = choice

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
        past = rotary_3d(cache.frame_positions(), height, width, head_dim)
        return rotary, History(cache, past, commit)

    def _patches(self, latent: Tensor) -> Tensor:
        weight = self.patch_embedding.weight
        return self.patch_embedding(latent.to(weight.dtype)).flatten(2).transpose(1, 2).contiguous()

    def _unpatched(self, x: Tensor, grid: tuple[int, int, int]) -> Tensor:
        x = x.unflatten(1, grid).unflatten(-1, (*self.config.patch_size, -1))
        return x.permute(0, 7, 1, 4, 2, 5, 3, 6).flatten(6, 7).flatten(4, 5).flatten(2, 3)


def _small_normal(*shape: int) -> Tensor:
    table = torch.empty(shape)
    # Drawing on the meta device would import torch's compiler, a second or two at every start.
    return table if table.is_meta else table.normal_(std=shape[-1] ** -0.5)


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


def _modulated_norm(x: Tensor, scale: Tensor, shift: Tensor, eps: float) -> Tensor:
    normed = F.layer_norm(x.float(), x.shape[-1:], eps=eps)
    return (normed * (1 + scale) + shift).type_as(x)


def _fp32_norm(norm: nn.Module, x: Tensor) -> Tensor:
    if not isinstance(norm, nn.LayerNorm):
        return x
    return F.layer_norm(
        x.float(), norm.normalized_shape, norm.weight.float(), norm.bias.float(), norm.eps
    ).type_as(x)
