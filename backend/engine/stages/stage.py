"""What a stage is: one op of a compiled spec, and what it may touch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar

from torch import Tensor

from rushes.backend.engine.batching.lane import BatchKey
from rushes.backend.engine.loops.control import Update
from rushes.backend.engine.loops.forward import Forward
from rushes.backend.engine.media.writing import WrittenFile
from rushes.backend.engine.previews.linear import Previewer
from rushes.backend.engine.protocol import ArtifactCreated, Event
from rushes.backend.engine.residency import Residency
from rushes.backend.engine.values import Clip, Model, Stream, Value
from rushes.compiler.ir.spec import LoopSpec, StageSpec

Emit = Callable[[Event, bytes], None]
Outputs = Mapping[str, Value]
Kind = TypeVar("Kind")

COMPUTE: Final = "compute"
DECODE: Final = "decode"
IO: Final = "io"
"""Slots: the device; the decoders of rollouts; files. Each runs one thing at a time, beside the others."""


@dataclass(frozen=True, slots=True)
class JobContext:
    """What every stage of one job may know of it."""

    job_id: str
    assets: Mapping[str, Path]
    output_dir: Path
    metadata: Mapping[str, Any]
    chunk_encoding: str
    emit: Emit
    names: dict[str, str] = field(default_factory=dict)
    """File names and the nodes that took them."""

    def asset(self, name: str) -> Path:
        return self.assets.get(name, Path(name))

    def output_path(self, name: str, node_id: str, suffix: str) -> Path:
        """A path in the output folder for this node: the plain name for the first node that asks for it."""
        owner = self.names.setdefault(f"{name}{suffix}", node_id)
        return self.output_dir / (f"{name}{suffix}" if owner == node_id else f"{name}-{node_id}{suffix}")

    def announce(self, node_id: str, file: WrittenFile, latent_sha256: str | None) -> None:
        event = ArtifactCreated(
            job_id=self.job_id,
            node_id=node_id,
            name=file.path.name,
            path=str(file.path),
            media_type=file.media_type,
            width_px=file.width_px,
            height_px=file.height_px,
            frame_count=file.frame_count,
            fps=file.fps,
            size_bytes=file.size_bytes,
            sha256=file.sha256,
            latent_sha256=latent_sha256,
        )
        self.emit(event, b"")


@dataclass(frozen=True, slots=True)
class StageCall:
    """One stage about to run: its spec, its inputs by port, and who reads its outputs."""

    index: int
    spec: StageSpec | LoopSpec
    inputs: Mapping[str, Value]
    job: JobContext
    readers: tuple[tuple[int, StageSpec], ...] = field(default=())

    @property
    def trip_count(self) -> int:
        assert isinstance(self.spec, LoopSpec)
        return self.spec.trip_count

    @property
    def node_id(self) -> str:
        return self.spec.node_id

    def need(self, port: str, kind: type[Kind]) -> Kind:
        """The value on a port. TypeError when it is of another kind: the spec was not verified."""
        value = self.inputs[port]
        if not isinstance(value, kind):
            raise TypeError(f"{self.spec.op}.{port} needs {kind.__name__}, got {type(value).__name__}")
        return value

    def find(self, port: str, kind: type[Kind]) -> Kind | None:
        return self.need(port, kind) if port in self.inputs else None

    def video(self, port: str) -> Clip | Stream:
        """A finished clip, or a rollout whose parts were taken while it ran."""
        value = self.inputs[port]
        return value if isinstance(value, Stream) else self.need(port, Clip)

    def text(self, name: str) -> str:
        return self._attr(name, str)

    def integer(self, name: str) -> int:
        return self._attr(name, int)

    def number(self, name: str) -> float:
        value = self.spec.attr(name)
        return float(value) if isinstance(value, int) else self._attr(name, float)

    def flag(self, name: str) -> bool:
        return self._attr(name, bool)

    def row(self, name: str) -> tuple[Any, ...]:
        return self._attr(name, tuple)

    def _attr(self, name: str, kind: type[Kind]) -> Kind:
        value = self.spec.attr(name)
        if not isinstance(value, kind):
            raise TypeError(f"{self.spec.op}.{name} is {kind.__name__}, got {value!r}")
        return value


@dataclass(frozen=True, slots=True)
class Host:
    """What stages share on one device."""

    residency: Residency
    previews: Previewer


Threads = Literal["whole", "predict", "decode"]


@dataclass(frozen=True, slots=True)
class LaneWant:
    """A lane of a run can take a step, in this slot, from ``not_before_s`` on.

    ``key`` None: the step is the run's own business (`LoopRun.run_alone`); else it is a forward.
    """

    slot: str
    key: BatchKey | None = None
    not_before_s: float = 0.0
    deadline_s: float | None = None
    threads: Threads = "whole"


class LoopRun(Protocol):
    """A loop stage that was opened. The executor owns when, the run owns what.

    Lanes are named parts; lanes in different slots may be stepped at the same time, on different threads.
    """

    @property
    def model(self) -> Model: ...

    @property
    def parts(self) -> tuple[str, ...]: ...

    def want(self, part: str) -> LaneWant | None:
        """Whether the lane can take a step; None while it waits. Not asked while this lane is stepping."""

    def prepare(self, part: str, now_s: float) -> Forward:
        """The forward of a lane that wanted one with a key."""

    def advance(self, part: str, velocity: Tensor) -> None:
        """Take the forward's result."""

    def run_alone(self, part: str) -> None:
        """The step of a lane that wanted one without a key."""

    def is_done(self) -> bool:
        """Not asked while any lane is stepping."""

    def finish(self) -> Outputs: ...

    def control(self, update: Update) -> None:
        """A live update. Ignored by loops that nobody steers. May come while lanes are stepping."""

    def stop(self, before_chunk: int) -> None:
        """End gracefully before this chunk, at once if it has begun. May come while lanes are stepping."""

    def ack(self, chunk_index: int) -> None:
        """A consumer has this chunk. May come while lanes are stepping."""

    def abandon(self) -> None:
        """The job ended without this loop's result: leave no file behind."""


@dataclass(frozen=True, slots=True)
class PlainStage:
    """An op that runs in one go."""

    op: str
    run: Callable[[StageCall, Host], Outputs]
    slot: str = COMPUTE
    is_cached: bool = True


@dataclass(frozen=True, slots=True)
class LoopStage:
    """An op that runs step by step. `open` does what comes before the first step."""

    op: str
    open: Callable[[StageCall, Host], LoopRun]
    is_cached: bool = True
    slot: str = COMPUTE


Stage = PlainStage | LoopStage
