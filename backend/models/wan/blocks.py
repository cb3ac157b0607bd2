"""The blocks of Wan's transformer, and what they are given."""

from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rushes.backend.models.layers.adapted_linear import AdaptedLinear, LaneAdapters
from rushes.backend.models.layers.attention import PLAIN, AttentionChoice
from rushes.backend.models.layers.joined_rings import JoinedRings
from rushes.backend.models.layers.ring_kv import RingKVCache
from rushes.backend.models.layers.rotary import Rotary, rotate
from rushes.backend.models.wan.transformer_config import WanTransformerConfig


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
        up = cast(FeedForward.Up, self.net[0])
        return self.net[2](F.gelu(up.proj(x, adapters), approximate="tanh"), adapters)


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
        self.scale_shift_table = nn.Parameter(small_normal(1, 6, dim))

    def forward(self, x: Tensor, modulation: Tensor, inputs: BlockInputs) -> Tensor:
        """x [B, groups, tokens, dim]; modulation [B, groups, 6, dim], shared by the tokens of a group."""
        parts = (self.scale_shift_table[None] + modulation).unsqueeze(3).unbind(2)
        shift, scale, gate, ff_shift, ff_scale, ff_gate = parts
        groups = x.shape[1:3]

        attended = self.self_attention(modulated_norm(x, scale, shift, self.eps).flatten(1, 2), inputs)
        x = (x.float() + attended.unflatten(1, groups) * gate).type_as(x)

        attended = self.cross_attention(_fp32_norm(self.norm2, x).flatten(1, 2), inputs)
        x = x + attended.unflatten(1, groups)

        fed = self.ffn(modulated_norm(x, ff_scale, ff_shift, self.eps).flatten(1, 2), inputs.adapters)
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


def small_normal(*shape: int) -> Tensor:
    table = torch.empty(shape)
    # Drawing on the meta device would import torch's compiler, a second or two at every start.
    return table if table.is_meta else table.normal_(std=shape[-1] ** -0.5)


def modulated_norm(x: Tensor, scale: Tensor, shift: Tensor, eps: float) -> Tensor:
    normed = F.layer_norm(x.float(), x.shape[-1:], eps=eps)
    return (normed * (1 + scale) + shift).type_as(x)


def _fp32_norm(norm: nn.Module, x: Tensor) -> Tensor:
    if not isinstance(norm, nn.LayerNorm):
        return x
    return F.layer_norm(
        x.float(), norm.normalized_shape, norm.weight.float(), norm.bias.float(), norm.eps
    ).type_as(x)
