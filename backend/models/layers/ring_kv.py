"""Keys and values of past latent frames: the first few for ever, then the newest of a window."""

from dataclasses import dataclass
from typing import TypedDict

import torch
from torch import Tensor

from rushes.backend.models.layers.rotary import Rotary, rotate


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
        `write` per layer, `end`; a chunk that does not start at the clock is refused. Behind the kept frames
        lies room for the chunk at hand, so that a layer reads past and present as one tensor; rotated keys
        of the past are kept until the next commit.
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
        self.shape = shape
        self.sink_frames = sink_frames
        self.window_frames = window_frames
        self.frames = 0
        slots = (sink_frames + window_frames) * shape.tokens_per_frame
        size = (shape.layers, shape.lanes, slots, shape.heads, shape.head_dim)
        self._keys = torch.zeros(size, device=device, dtype=dtype)
        self._values = torch.zeros(size, device=device, dtype=dtype)
        self._rotated = self._keys[:, :, :0]
        self._rotated_layers = 0
        self._pending: range | None = None
        self._written = 0

    @property
    def kept_frames(self) -> int:
        """How many latent frames a read returns."""
        return min(self.frames, self.sink_frames + self.window_frames)

    @property
    def bytes(self) -> int:
        """Memory held, the room for the chunk at hand included."""
        return sum(x.numel() * x.element_size() for x in (self._keys, self._values, self._rotated))

    def frame_positions(self) -> Tensor:
        """Position of each kept frame, in the order of the stored rows; [kept_frames]."""
        sink = torch.arange(min(self.kept_frames, self.sink_frames), device=self._keys.device)
        ring = torch.arange(self.kept_frames - sink.shape[0], device=self._keys.device)
        evicted = self.frames - self.kept_frames
        in_time = (ring - evicted) % self.window_frames
        return torch.cat((sink, self.sink_frames + in_time))

    def extended(self, layer: int, past: Rotary, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the past and of the chunk at hand, for attention; nothing kept is changed.

        Shapes: past, for the kept frames at `frame_positions`; keys (rotated already), values [lanes, tokens,
        heads, head_dim]. Returns views that the next call for this layer overwrites.
        """
        self._check_readable(layer)
        kept = self._kept_tokens
        end = kept + keys.shape[1]
        self._make_room(end)
        if layer >= self._rotated_layers:
            self._rotated[layer, :, :kept] = rotate(self._keys[layer, :, :kept], past)
            self._rotated_layers = layer + 1
        self._rotated[layer, :, kept:end] = keys
        self._values[layer, :, kept:end] = values
        return self._rotated[layer, :, :end], self._values[layer, :, :end]

    @property
    def is_full(self) -> bool:
        """Whether a read returns as many frames from now on, in the same memory."""
        return self.frames >= self.sink_frames + self.window_frames

    def memory(self) -> tuple[int, ...]:
        """Where keys and values lie. A read of a full cache depends on nothing else but their contents,
        once `rotate_past` was called; it moves when a larger chunk than ever is read."""
        room = self._keys.shape[2], self._rotated.shape[2]
        return self._rotated.data_ptr(), self._values.data_ptr(), *room

    @property
    def is_past_rotated(self) -> bool:
        """Whether no layer has to be rotated before its next read."""
        return self._rotated_layers == self.shape.layers

    def rotate_past(self, past: Rotary) -> None:
        """Do now, for every layer, what `extended` would do in the first read after a commit."""
        self._check_readable(0)
        kept = self._kept_tokens
        self._make_room(kept)
        for layer in range(self._rotated_layers, self.shape.layers):
            self._rotated[layer, :, :kept] = rotate(self._keys[layer, :, :kept], past)
        self._rotated_layers = self.shape.layers

    def begin(self, start_frame: int, frame_count: int) -> None:
        """Start to commit `frame_count` latent frames from `start_frame`, which must be the clock."""
        self._check_readable(0)
        if start_frame != self.frames:
            raise ValueError(f"the next chunk to commit starts at frame {self.frames}, got {start_frame}")
        self._pending = range(start_frame, start_frame + frame_count)
        self._written = 0

    def write(self, layer: int, keys: Tensor, values: Tensor) -> None:
        """Store one layer of the chunk, keys before rotation: [lanes, tokens, heads, head_dim] each."""
        if self._pending is None or layer != self._written:
            raise ValueError(f"the next layer to write is {self._written} of a begun commit, got {layer}")
        size = self.shape.tokens_per_frame
        for index, frame in enumerate(self._pending):
            if frame >= self.sink_frames and frame < self._pending.stop - self.window_frames:
                continue
            source = slice(index * size, (index + 1) * size)
            slot = self._slot(frame) * size
            self._keys[layer, :, slot : slot + size] = keys[:, source]
            self._values[layer, :, slot : slot + size] = values[:, source]
        self._written += 1

    def end(self) -> None:
        """Advance the clock; every layer must have been written."""
        if self._pending is None or self._written != self.shape.layers:
            raise ValueError(f"a commit ends after {self.shape.layers} layers, got {self._written}")
        self.frames = self._pending.stop
        self._pending = None
        self._rotated_layers = 0

    def clone(self) -> "RingKVCache":
        """An independent copy."""
        twin = RingKVCache(
            self.shape,
            sink_frames=self.sink_frames,
            window_frames=self.window_frames,
            device=self._keys.device,
            dtype=self._keys.dtype,
        )
        twin.load_state(self.state_dict())
        return twin

    def state_dict(self) -> RingKVState:
        """A copy of the kept frames and the clock."""
        self._check_readable(0)
        kept = self._kept_tokens
        return RingKVState(
            keys=self._keys[:, :, :kept].clone(),
            values=self._values[:, :, :kept].clone(),
            frames=self.frames,
            sink_frames=self.sink_frames,
            window_frames=self.window_frames,
        )

    def load_state(self, state: RingKVState) -> None:
        """Become what `state` describes, whatever was going on; it must fit this cache's shape."""
        frames = (state["sink_frames"], state["window_frames"])
        if frames != (self.sink_frames, self.window_frames):
            raise ValueError(f"sink and window must be {self.sink_frames, self.window_frames}, got {frames}")
        kept = min(state["frames"], sum(frames)) * self.shape.tokens_per_frame
        expected = (*self._keys.shape[:2], kept, *self._keys.shape[3:])
        if state["keys"].shape != expected or state["values"].shape != expected:
            raise ValueError(f"keys and values must be {expected}, got {tuple(state['keys'].shape)}")
        self._keys[:, :, :kept] = state["keys"]
        self._values[:, :, :kept] = state["values"]
        self.frames = state["frames"]
        self._pending, self._written, self._rotated_layers = None, 0, 0

    @property
    def _kept_tokens(self) -> int:
        return self.kept_frames * self.shape.tokens_per_frame

    def _slot(self, frame: int) -> int:
        if frame < self.sink_frames:
            return frame
        return self.sink_frames + (frame - self.sink_frames) % self.window_frames

    def _check_readable(self, layer: int) -> None:
        if self._pending is not None and self._written > layer:
            raise ValueError("a commit was begun and not ended: load a state before going on")

    def _make_room(self, tokens: int) -> None:
        """Room for the past at its fullest and the chunk at hand; grows to the largest chunk seen."""
        if self._rotated.shape[2] >= tokens:
            return
        room = self._keys.shape[2] + tokens - self._kept_tokens
        size = (*self._keys.shape[:2], room, *self._keys.shape[3:])
        values = self._values
        self._values = values.new_zeros(size)
        self._values[:, :, : values.shape[2]] = values
        self._rotated = self._keys.new_zeros(size)
        self._rotated_layers = 0
