"""Stacks of adapters, one per lane, laid side by side for one batch."""

from collections.abc import Sequence

import torch
from torch import Tensor

from rushes.backend.models.adapters.adapter import Adapter, LowRank
from rushes.backend.models.layers.adapted_linear import LaneAdapters, LaneDelta

Stack = Sequence[tuple[Adapter, float]]


def stack_lanes(stacks: Sequence[Stack]) -> LaneAdapters | None:
    """The deltas of each lane's adapters times their strengths; None when no lane has any.

    An adapter at strength 0 vanishes. Lanes that all have the same stack share one.
    """
    used = [tuple((adapter, strength) for adapter, strength in stack if strength != 0) for stack in stacks]
    if not any(used):
        return None
    if all(stack == used[0] for stack in used):
        used = used[:1]
    layers = dict.fromkeys(layer for stack in used for adapter, _ in stack for layer in adapter.deltas)
    return LaneAdapters(len(stacks), {layer: _delta(layer, used) for layer in layers})


def _delta(layer: str, stacks: Sequence[Stack]) -> LaneDelta:
    lanes = [
        [(adapter.deltas[layer], strength) for adapter, strength in stack if layer in adapter.deltas]
        for stack in stacks
    ]
    like = next(delta for lane in lanes for delta, _ in lane)
    rank = max(sum(delta.down.shape[0] for delta, _ in lane) for lane in lanes)
    down = like.down.new_zeros(len(lanes), rank, like.down.shape[1])
    up = like.up.new_zeros(len(lanes), like.up.shape[0], rank)
    scale = torch.zeros(len(lanes), rank, device=down.device)
    for index, lane in enumerate(lanes):
        _fill(down[index], up[index], scale[index], lane)
    return LaneDelta(down, up, scale)


def _fill(down: Tensor, up: Tensor, scale: Tensor, lane: Sequence[tuple[LowRank, float]]) -> None:
    start = 0
    for delta, strength in lane:
        stop = start + delta.down.shape[0]
        down[start:stop] = delta.down
        up[:, start:stop] = delta.up
        scale[start:stop] = delta.scale * strength
        start = stop
