"""What stages hand to each other. Nothing here is changed once it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rushes.backend.engine.failures import JobFault

if TYPE_CHECKING:
    from rushes.backend.models.family import Components

Kind = TypeVar("Kind")
Frames = NDArray[np.uint8]
"""uint8 [frames, height, width, 3]"""
MaskValues = NDArray[np.float32]
"""fp32 [frames, height, width], 0 keeps and 1 makes anew"""


@dataclass(frozen=True, slots=True)
class Clip:
    """A picture (one frame, fps 0) or a video."""

    frames: Frames
    fps: float
    latent_sha256: str | None = None

    @property
    def frame_count(self) -> int:
        return int(self.frames.shape[0])

    @property
    def width_px(self) -> int:
        return int(self.frames.shape[2])

    @property
    def height_px(self) -> int:
        return int(self.frames.shape[1])


@dataclass(frozen=True, slots=True)
class Model:
    """A loaded checkpoint; ``key`` tells two apart: id, content id, precision."""

    components: Components
    key: str


@dataclass(frozen=True, slots=True)
class AdapterStack:
    """Adapters in chain order: (adapter id, strength for the transformer, strength for the text encoder)."""

    entries: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True, slots=True)
class Conditioning:
    """An encoded prompt: text [1, rows, width]."""

    text: Tensor
    prompt: str


@dataclass(frozen=True, slots=True)
class Latent:
    """A normalised latent [1, C, T, h, w], fp32."""

    latent: Tensor


@dataclass(frozen=True, slots=True)
class LatentMask:
    """A mask on the latent's cells, [1, 1, T, h, w], fp32."""

    cells: Tensor


@dataclass(frozen=True, slots=True)
class Canvas:
    """The frames a mask is drawn on."""

    width_px: int
    height_px: int
    frame_count: int


class Mask:
    """A mask without pixels, drawn at the size that is asked for. The base of the kinds in `masks`."""

    __slots__ = ()

    @property
    def frames_spoken_of(self) -> int:
        """Frames it says something about; 0 when every frame is alike."""
        raise NotImplementedError

    def draw(self, canvas: Canvas) -> MaskValues:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ScriptedActions:
    """Keys held in each latent frame; after the last, hold it or begin again."""

    script: tuple[tuple[str, ...], ...]
    is_loop: bool

    def keys_at(self, latent_frame: int) -> tuple[str, ...]:
        if not self.script:
            return ()
        if latent_frame < len(self.script):
            return self.script[latent_frame]
        return self.script[latent_frame % len(self.script)] if self.is_loop else self.script[-1]


@dataclass(frozen=True, slots=True)
class LiveActions:
    """Keys come from a person while the rollout runs."""


Actions = ScriptedActions | LiveActions


class FrameSink(Protocol):
    """Takes the frames of a rollout while they are made. Used from one thread at a time."""

    def push(self, frames: Frames) -> None: ...

    def abandon(self) -> None:
        """The job ended without this output: leave nothing behind. Safe to call twice."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A rollout that has ended: the sinks that were fed on the way, by the stage they belong to."""

    sinks: dict[int, FrameSink]
    fps: float
    latent_sha256: str

    def sink(self, stage: int, kind: type[Kind]) -> Kind:
        """The sink that was opened for this stage."""
        sink = self.sinks[stage]
        assert isinstance(sink, kind)
        return sink

    def seen_by(self, stage: int) -> Clip | Stream:
        """The whole clip for a stage that had it collected; the stream for one that took it in parts."""
        sink = self.sinks.get(stage)
        return sink.clip(self.fps, self.latent_sha256) if isinstance(sink, Collector) else self


@dataclass(frozen=True, slots=True)
class Session:
    name: str


Value = (
    Clip
    | Model
    | AdapterStack
    | Conditioning
    | Latent
    | LatentMask
    | Mask
    | ScriptedActions
    | LiveActions
    | Stream
    | Session
)

COLLECTED_BYTES_MAX = 2 << 30


class Collector:
    """Keeps a whole rollout for what needs it whole. Errors: JobFault E_STREAM_TOO_LONG over 2 GiB."""

    def __init__(self) -> None:
        self._parts: list[Frames] = []
        self._bytes = 0

    def push(self, frames: Frames) -> None:
        self._bytes += frames.nbytes
        if self._bytes > COLLECTED_BYTES_MAX:
            raise JobFault(
                "E_STREAM_TOO_LONG",
                f"a rollout whose frames are needed as a whole may hold {COLLECTED_BYTES_MAX} bytes",
            )
        self._parts.append(frames)

    def clip(self, fps: float, latent_sha256: str) -> Clip:
        return Clip(np.concatenate(self._parts), fps, latent_sha256)

    def abandon(self) -> None:
        self._parts.clear()


def value_bytes(value: Value) -> int:
    """Memory a cached value holds on to."""
    match value:
        case Clip():
            return value.frames.nbytes
        case Latent():
            return _tensor_bytes([value.latent])
        case LatentMask():
            return _tensor_bytes([value.cells])
        case Conditioning():
            return _tensor_bytes([value.text])
        case _:
            return 256


def _tensor_bytes(tensors: Sequence[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
