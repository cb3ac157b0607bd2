"""The blocks on a GPU: the same arithmetic as blocks.py in fewer passes over memory.

Per block the norms, modulations, gates and residual sums take three launches, the norms of query and key with
their rotation two, their projection with that of the values one, the feed-forward's activation none. The last
sum of a block is left to the first norm of the next.
"""

from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rushes.backend.models.layers.adapted_linear import AdaptedLinear, LaneAdapters
from rushes.backend.models.layers.rotary import Rotary
from rushes.backend.models.wan.blocks import BlockInputs, FeedForward, RMSNorm, WanBlock
from rushes.kernels.adaln_modulate.kernel import adaln_modulate, add_adaln_modulate
from rushes.kernels.adaln_modulate.reference import Modulation, Residual
from rushes.kernels.rms_rotary.kernel import rms_rotary


class FusedBlocks:
    """All blocks of a transformer and the norm before its last projection. Without gradients.

    Shapes: as `WanBlock`, but x [B, tokens, dim]; embedded [B, groups, dim], modulation [B, groups, 6, dim].
    State: none that changes. The weights of query, key and value of a layer lie as one tensor from here on,
        of which the layer's parameters are views and need no gradient.
    Errors: ValueError for blocks without a norm before cross-attention, or tensors off the current GPU.
    """

    def __init__(self, blocks: Sequence[WanBlock], last_table: Tensor, eps: float) -> None:
        norms = [block.norm2 for block in blocks]
        if not all(isinstance(norm, nn.LayerNorm) for norm in norms):
            raise ValueError("fused blocks need a norm before cross-attention, got a config without")
        self._layers = tuple(FusedLayer(block) for block in blocks)
        self._last_table = last_table
        self._eps = eps

    @property
    def is_current(self) -> bool:
        """Whether the layers' weights still lie where they were joined."""
        return all(layer.is_current for layer in self._layers)

    def forward(self, x: Tensor, embedded: Tensor, modulation: Tensor, inputs: BlockInputs) -> Tensor:
        residual: Residual | None = None
        for layer in self._layers:
            x, residual = layer.forward(x, residual, modulation, inputs)
        shift_table, scale_table = self._last_table[0].unbind(0)
        last = Modulation(embedded, embedded, scale_table, shift_table)
        return _summed(x, residual, last, self._eps)[1]


class FusedLayer:
    """One block. What its feed-forward adds is returned with its gate, for whoever sums next."""

    def __init__(self, block: WanBlock) -> None:
        attention = block.attn1
        self._block = block
        self._projections = (attention.to_q, attention.to_k, attention.to_v)
        self._weight, self._bias = _laid_as_one(self._projections)

    @property
    def is_current(self) -> bool:
        return self._projections[0].weight.data_ptr() == self._weight.data_ptr()

    def forward(
        self, x: Tensor, residual: Residual | None, modulation: Tensor, inputs: BlockInputs
    ) -> tuple[Tensor, Residual]:
        block, eps = self._block, self._block.eps
        shift, scale, gate, ff_shift, ff_scale, ff_gate = modulation.unbind(2)
        tables = block.scale_shift_table[0].unbind(0)

        x, normed = _summed(x, residual, Modulation(scale, shift, tables[1], tables[0]), eps)
        attended = self._self_attention(normed, inputs)

        x, normed = add_adaln_modulate(x, Residual(attended, gate, tables[2]), self._affine(x.shape[0]), eps)
        attended = block.cross_attention(normed, inputs)

        fed_by = Modulation(ff_scale, ff_shift, tables[4], tables[3])
        x, normed = add_adaln_modulate(x, Residual(attended), fed_by, eps)
        return x, Residual(_fed(block.ffn, normed, inputs.adapters), ff_gate, tables[5])

    def _affine(self, lanes: int) -> Modulation:
        norm = cast(nn.LayerNorm, self._block.norm2)
        return Modulation(norm.weight.expand(lanes, -1), norm.bias.expand(lanes, -1), is_gain=True)

    def _self_attention(self, x: Tensor, inputs: BlockInputs) -> Tensor:
        attention, adapters = self._block.attn1, inputs.adapters
        joined = F.linear(x, self._weight, self._bias).unflatten(-1, (3, -1)).unbind(-2)
        query, key, value = (
            layer.adapted(base, x, adapters) for layer, base in zip(self._projections, joined, strict=True)
        )
        values = value.unflatten(-1, (attention.heads, -1))
        query = self._turned(attention.norm_q, query, inputs.rotary)
        keys = self._turned(attention.norm_k, key, inputs.rotary)
        if inputs.history is None:
            return attention.output(attention.choice.attend(query, keys, values, inputs.mask), adapters)
        cache, past, commit = inputs.history
        seen = cache.extended(self._block.layer, past, keys, values)
        attended = attention.choice.attend(query, *seen, inputs.mask)
        if commit:  # only now: a write may take the place of a frame that was attended to
            cache.write(self._block.layer, attention.norm_k(key).unflatten(-1, (attention.heads, -1)), values)
        return attention.output(attended, adapters)

    def _turned(self, norm: RMSNorm, x: Tensor, rotary: Rotary) -> Tensor:
        eps = self._block.eps
        return rms_rotary(x, norm.weight, *rotary, eps).unflatten(-1, (self._block.attn1.heads, -1))


def _summed(
    x: Tensor, residual: Residual | None, modulation: Modulation, eps: float
) -> tuple[Tensor, Tensor]:
    if residual is None:
        return x, adaln_modulate(x, modulation, eps)
    return add_adaln_modulate(x, residual, modulation, eps)


def _fed(feed_forward: FeedForward, x: Tensor, adapters: LaneAdapters | None) -> Tensor:
    up = cast(FeedForward.Up, feed_forward.net[0]).proj
    if not x.is_cuda or up.is_adapted(adapters):
        return feed_forward(x, adapters)
    # The matrix product's own epilogue; on CUDA its gelu is the tanh form.
    active = torch._addmm_activation(up.bias, x.flatten(0, 1), up.weight.t(), use_gelu=True)
    return feed_forward.net[2](active.unflatten(0, x.shape[:2]), adapters)


def _laid_as_one(layers: Sequence[AdaptedLinear]) -> tuple[Tensor, Tensor]:
    """Weights and biases of layers with one input, one after the other."""
    weight = torch.cat([layer.weight.detach() for layer in layers])
    bias = torch.cat([layer.bias.detach() for layer in layers])
    parts = zip(layers, weight.chunk(len(layers)), bias.chunk(len(layers)), strict=True)
    for layer, its_weight, its_bias in parts:
        layer.weight = nn.Parameter(its_weight, requires_grad=False)
        layer.bias = nn.Parameter(its_bias, requires_grad=False)
    return weight, bias
