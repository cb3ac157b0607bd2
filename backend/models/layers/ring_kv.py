"""Keys and values of past latent frames: the first few for ever, then the newest of a window."""

from dataclasses import dataclass
from typing import TypedDict

import torch
from torch import Tensor


class RingKVState(TypedDict):
    """What `RingKVCache.state_dict` holds: the kept frames of every layer and the clock."""

    keys: Tensor
    values: Tensor
    frames: int
    sink_frames: int
    window_frames: int


@dataclass(frozen=True, slots=True)
class KVShape:
    """What one latent frame's keys take, in every layer and lane."""

    layers: int
    lanes: int
    tokens_per_frame: int
    heads: int
    head_dim: int


class RingKVCache:
    """Self-attention history of a rollout, in memory that does not grow.

    Keys are stored before the rotary embedding. On read every kept frame gets a position: sink frames
    0, 1, ..., then the window's frames in order of time, and the chunk at hand after them. So an endless
    rollout stays within the positions of sink + window + chunk.

    Shapes: per layer [lanes, kept frames * tokens_per_frame, heads, head_dim].
    State: `frames`, the latent frames committed so far, is the clock. A chunk is committed by `begin`, one
        `write` per layer, `end`; a chunk that does not start at the clock is refused.
    Errors: ValueError for a window below 1, a chunk off the clock or a read in the middle of a commit.
    """

    def __init__(
        self,
        shape: KVShape,
        *,
        sink_frames: int,
        window_frames: int,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        if window_frames < 1:
            raise ValueError(f"window_frames must be at least 1, got {window_frames}")
        if sink_frames < 0:
            raise ValueError(f"sink_frames must be at least 0, got {sink_frames}")
        self.lanes = shape.lanes
        self.sink_frames = sink_frames
        self.window_frames = window_frames
        self.tokens_per_frame = shape.tokens_per_frame
        self.frames = 0
        slots = (sink_frames + window_frames) * shape.tokens_per_frame
        size = (shape.layers, shape.lanes, slots, shape.heads, shape.head_dim)
        self._keys = torch.zeros(size, device=device, dtype=dtype)
        self._values = torch.zeros_like(self._keys)
        self._pending: range | None = None
        self._written = 0

    @property
    def kept_frames(self) -> int:
        """How many latent frames a read returns."""
        return min(self.frames, self.sink_frames + self.window_frames)

    @property
    def bytes(self) -> int:
        return 2 * self._keys.numel() * self._keys.element_size()

    def frame_positions(self) -> Tensor:
        """Position of each frame that `read` returns, in the order of its rows; [kept_frames]."""
        device = self._keys.device
        evicted = self.frames - self.kept_frames
        oldest = evicted % self.window_frames
        ring = torch.arange(self.kept_frames - min(self.kept_frames, self.sink_frames), device=device)
        in_time = (ring - oldest) % self.window_frames if evicted else ring
        sink = torch.arange(min(self.kept_frames, self.sink_frames), device=device)
        return torch.cat((sink, self.sink_frames + in_time))

    def read(self, layer: int) -> tuple[Tensor, Tensor]:
        """Keys (not rotated) and values of the kept frames; views, not to be written to."""
        if self._pending is not None and self._written > layer:
            raise ValueError(
                "a commit was begun and not ended: the history must be restored before it is read"
            )
        tokens = self.kept_frames * self.tokens_per_frame
        return self._keys[layer, :, :tokens], self._values[layer, :, :tokens]

    def begin(self, start_frame: int, frame_count: int) -> None:
        """Start to commit `frame_count` latent frames from `start_frame`, which must be the clock."""
        if self._pending is not None:
            raise ValueError(
                "a commit was begun and not ended: the history must be restored before the next one"
            )
        if start_frame != self.frames:
            raise ValueError(
                f"the next frame to commit is {self.frames}, got a chunk that starts at {start_frame}"
            )
        self._pending = range(start_frame, start_frame + frame_count)
        self._written = 0

    def write(self, layer: int, keys: Tensor, values: Tensor) -> None:
        """Store one layer of the chunk: [lanes, frame_count * tokens_per_frame, heads, head_dim] each."""
        if self._pending is None or layer != self._written:
            raise ValueError(f"the next layer to write is {self._written} of a begun commit, got {layer}")
        size = self.tokens_per_frame
        for index, frame in enumerate(self._pending):
            if not self._is_kept(frame):
                continue
            source = slice(index * size, (index + 1) * size)
            slot = self._slot(frame) * size
            self._keys[layer, :, slot : slot + size].copy_(keys[:, source])
            self._values[layer, :, slot : slot + size].copy_(values[:, source])
        self._written += 1

    def end(self) -> None:
        """Advance the clock; every layer must have been written."""
        if self._pending is None or self._written != self._keys.shape[0]:
            raise ValueError(f"a commit ends after {self._keys.shape[0]} layers, got {self._written}")
        self.frames = self._pending.stop
        self._pending = None

    def clone(self) -> "RingKVCache":
        """An independent copy."""
        twin = object.__new__(RingKVCache)
        twin.__dict__.update(self.__dict__)
        twin._keys, twin._values = self._keys.clone(), self._values.clone()
        return twin

    def state_dict(self) -> RingKVState:
        """A copy of the kept frames and the clock."""
        tokens = self.kept_frames * self.tokens_per_frame
        return RingKVState(
            keys=self._keys[:, :, :tokens].clone(),
            values=self._values[:, :, :tokens].clone(),
            frames=self.frames,
            sink_frames=self.sink_frames,
            window_frames=self.window_frames,
        )

    def load_state(self, state: RingKVState) -> None:
        """Become what `state` describes; it must come from a cache of the same shape."""
        if (state["sink_frames"], state["window_frames"]) != (self.sink_frames, self.window_frames):
            raise ValueError(
                f"the state must have sink {self.sink_frames} and window {self.window_frames}, "
                f"got {state['sink_frames']} and {state['window_frames']}"
            )
        self.frames = state["frames"]
        self._pending, self._written = None, 0
        tokens = self.kept_frames * self.tokens_per_frame
        self._keys[:, :, :tokens].copy_(state["keys"])
        self._values[:, :, :tokens].copy_(state["values"])

    def _is_kept(self, frame: int) -> bool:
        assert self._pending is not None
        return frame < self.sink_frames or frame >= self._pending.stop - self.window_frames

    def _slot(self, frame: int) -> int:
        if frame < self.sink_frames:
            return frame
        return self.sink_frames + (frame - self.sink_frames) % self.window_frames
