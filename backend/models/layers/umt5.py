"""UMT5's encoder: token ids to rows of text; parameters named as transformers names them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rushes.backend.models.layers.adapted_linear import AdaptedLinear, LaneAdapters, name_adapted_layers

# transformers keeps these in fp32: in half precision they overflow.
KEPT_FP32 = (".wo.",)


@dataclass(frozen=True, slots=True)
class UMT5Config:
    """The fields of text_encoder/config.json that an encoder has use for."""

    vocab_size: int
    d_model: int
    d_kv: int
    d_ff: int
    num_layers: int
    num_heads: int
    relative_attention_num_buckets: int = 32
    relative_attention_max_distance: int = 128
    layer_norm_epsilon: float = 1e-6

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "UMT5Config":
        """Errors: ValueError for another kind of encoder."""
        kind = (values.get("model_type"), values.get("feed_forward_proj"))
        if kind != ("umt5", "gated-gelu"):
            raise ValueError(f"the text encoder must be umt5 with gated-gelu, got {kind[0]} with {kind[1]}")
        return cls(**{name: values[name] for name in cls.__slots__ if name in values})


class UMT5Encoder(nn.Module):
    """Shapes: ids [B, N], mask [B, N] of 0 and 1 -> [B, N, d_model]; rows where mask is 0 mean nothing."""

    def __init__(self, config: UMT5Config) -> None:
        super().__init__()
        self.shared = _unset_embedding(config.vocab_size, config.d_model)
        self.encoder = Stack(config)
        name_adapted_layers(self)

    def forward(self, ids: Tensor, mask: Tensor, adapters: LaneAdapters | None = None) -> Tensor:
        return self.encoder(self.shared(ids).float(), mask, adapters)


class Stack(nn.Module):
    def __init__(self, config: UMT5Config) -> None:
        super().__init__()
        self.block = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.final_layer_norm = nn.RMSNorm(config.d_model, config.layer_norm_epsilon)
        self.buckets = config.relative_attention_num_buckets
        self.max_distance = config.relative_attention_max_distance

    def forward(self, x: Tensor, mask: Tensor, adapters: LaneAdapters | None) -> Tensor:
        buckets = relative_buckets(x.shape[1], self.buckets, self.max_distance, x.device)
        is_seen = mask[:, None, None].bool()
        for block in self.block:
            x = block(x, buckets, is_seen, adapters)
        return _normed(self.final_layer_norm, x)


class Block(nn.Module):
    def __init__(self, config: UMT5Config) -> None:
        super().__init__()
        self.layer = nn.ModuleList([AttentionLayer(config), FeedForwardLayer(config)])

    def forward(self, x: Tensor, buckets: Tensor, is_seen: Tensor, adapters: LaneAdapters | None) -> Tensor:
        x = x + self.layer[0](x, buckets, is_seen, adapters)
        return x + self.layer[1](x, adapters)


class AttentionLayer(nn.Module):
    def __init__(self, config: UMT5Config) -> None:
        super().__init__()
        self.SelfAttention = Attention(config)
        self.layer_norm = nn.RMSNorm(config.d_model, config.layer_norm_epsilon)

    def forward(self, x: Tensor, buckets: Tensor, is_seen: Tensor, adapters: LaneAdapters | None) -> Tensor:
        return self.SelfAttention(_normed(self.layer_norm, x), buckets, is_seen, adapters)


class Attention(nn.Module):
    """Scores are not scaled and carry a bias per head that depends on the distance of the tokens."""

    def __init__(self, config: UMT5Config) -> None:
        super().__init__()
        inner = config.num_heads * config.d_kv
        self.heads = config.num_heads
        self.q = AdaptedLinear(config.d_model, inner, bias=False)
        self.k = AdaptedLinear(config.d_model, inner, bias=False)
        self.v = AdaptedLinear(config.d_model, inner, bias=False)
        self.o = AdaptedLinear(inner, config.d_model, bias=False)
        self.relative_attention_bias = _unset_embedding(
            config.relative_attention_num_buckets, config.num_heads
        )

    def forward(self, x: Tensor, buckets: Tensor, is_seen: Tensor, adapters: LaneAdapters | None) -> Tensor:
        query, key, value = (
            layer(x, adapters).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        bias = self.relative_attention_bias(buckets).permute(2, 0, 1)[None]
        bias = bias.masked_fill(~is_seen, float("-inf")).to(query.dtype)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=1.0)
        return self.o(attended.transpose(1, 2).flatten(2), adapters)


class FeedForwardLayer(nn.Module):
    def __init__(self, config: UMT5Config) -> None:
        super().__init__()
        self.DenseReluDense = GatedFeedForward(config)
        self.layer_norm = nn.RMSNorm(config.d_model, config.layer_norm_epsilon)

    def forward(self, x: Tensor, adapters: LaneAdapters | None) -> Tensor:
        return self.DenseReluDense(_normed(self.layer_norm, x), adapters)


class GatedFeedForward(nn.Module):
    def __init__(self, config: UMT5Config) -> None:
        super().__init__()
        self.wi_0 = AdaptedLinear(config.d_model, config.d_ff, bias=False)
        self.wi_1 = AdaptedLinear(config.d_model, config.d_ff, bias=False)
        self.wo = AdaptedLinear(config.d_ff, config.d_model, bias=False)

    def forward(self, x: Tensor, adapters: LaneAdapters | None) -> Tensor:
        gated = F.gelu(self.wi_0(x, adapters), approximate="tanh") * self.wi_1(x, adapters)
        return self.wo(gated.to(self.wo.weight.dtype), adapters)


def relative_buckets(length: int, buckets: int, max_distance: int, device: torch.device) -> Tensor:
    """Bucket of each pair of positions, [length, length]: the first half for keys up to the query, the other
    for keys after it; near distances have a bucket each, far ones share them by logarithm.
    """
    positions = torch.arange(length, device=device)
    distance = positions[None] - positions[:, None]
    half = buckets // 2
    near = half // 2
    far = (distance.abs().clamp(min=1) / near).log() / math.log(max_distance / near) * (half - near)
    far = (near + far.long()).clamp(max=half - 1)
    return (distance > 0) * half + torch.where(distance.abs() < near, distance.abs(), far)


def _unset_embedding(rows: int, dim: int) -> nn.Embedding:
    # Weights are always loaded; drawing them on the meta device would import torch's compiler.
    return nn.Embedding.from_pretrained(torch.empty(rows, dim), freeze=False)


def _normed(norm: nn.RMSNorm, x: Tensor) -> Tensor:
    """In fp32; the result has the dtype of the weight."""
    return F.rms_norm(x.float(), norm.normalized_shape, norm.weight.float(), norm.eps).to(norm.weight.dtype)
