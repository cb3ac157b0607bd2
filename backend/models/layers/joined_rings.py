"""Several ring caches read and written as the lanes of one batch."""

from collections.abc import Sequence

import torch
from torch import Tensor

from rushes.backend.models.layers.ring_kv import RingKVCache
from rushes.backend.models.layers.rotary import Rotary


class JoinedRings:
    """Lanes of several caches, in their order; each cache keeps its own memory.

    State: none of its own; a commit writes to every cache.
    Errors: ValueError for caches whose clocks, sinks, windows or frame shapes differ.
    """

    def __init__(self, rings: Sequence[RingKVCache]) -> None:
        if len({_likeness(ring) for ring in rings}) != 1:
            raise ValueError(f"caches of one batch must be alike, got {[_likeness(ring) for ring in rings]}")
        self._rings = tuple(rings)
        self._lanes = [ring.shape.lanes for ring in rings]

    @property
    def frames(self) -> int:
        return self._rings[0].frames

    @property
    def kept_frames(self) -> int:
        return self._rings[0].kept_frames

    def frame_positions(self) -> Tensor:
        return self._rings[0].frame_positions()

    def extended(self, layer: int, past: Rotary, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """See RingKVCache.extended; the result is a copy."""
        parts = zip(self._rings, keys.split(self._lanes), values.split(self._lanes), strict=True)
        pairs = [ring.extended(layer, past, lane_keys, lane_values) for ring, lane_keys, lane_values in parts]
        return torch.cat([pair[0] for pair in pairs]), torch.cat([pair[1] for pair in pairs])

    @property
    def is_full(self) -> bool:
        return self._rings[0].is_full

    def memory(self) -> tuple[int, ...]:
        return tuple(place for ring in self._rings for place in ring.memory())

    @property
    def is_past_rotated(self) -> bool:
        return all(ring.is_past_rotated for ring in self._rings)

    def rotate_past(self, past: Rotary) -> None:
        for ring in self._rings:
            ring.rotate_past(past)

    def begin(self, start_frame: int, frame_count: int) -> None:
        for ring in self._rings:
            ring.begin(start_frame, frame_count)

    def write(self, layer: int, keys: Tensor, values: Tensor) -> None:
        parts = zip(self._rings, keys.split(self._lanes), values.split(self._lanes), strict=True)
        for ring, lane_keys, lane_values in parts:
            ring.write(layer, lane_keys, lane_values)

    def end(self) -> None:
        for ring in self._rings:
            ring.end()


def _likeness(ring: RingKVCache) -> tuple[int, ...]:
    shape = ring.shape
    frame = (shape.layers, shape.tokens_per_frame, shape.heads, shape.head_dim)
    return (ring.frames, ring.sink_frames, ring.window_frames, *frame)
