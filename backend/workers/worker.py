"""One worker process as the server sees it: commands in, events out, death noticed."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rushes.compiler.ir.spec import PipelineSpec

WorkerState = Literal["stopped", "starting", "ready", "restarting", "stopping", "broken"]


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """One event of the engine. ``header["type"]`` names its kind (``rushes.backend.engine.protocol``)."""

    header: Mapping[str, Any]
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """How to start the process and how stubborn to be about it.

    After a death the next start waits ``backoff_s[n]``, n being the deaths in a row without a ready worker in
    between (the last entry repeats); after ``starts_max`` failed starts in a row the worker is broken.
    """

    checkpoints: Sequence[Path]
    device: str = "auto"
    python: str = sys.executable
    backoff_s: Sequence[float] = field(default=(0.0, 0.5, 2.0, 8.0))
    starts_max: int = 5
    drain_s: float = 30.0


class Worker:
    """Owns one process of ``python -m rushes.backend.engine``.

    ``events`` ends after ``stop``. A death gives one ``worker.died`` event naming the jobs that were inside;
    the process is started again by itself and announces ``worker.ready`` when warm.
    """

    def __init__(self, config: WorkerConfig) -> None: ...

    @property
    def state(self) -> WorkerState: ...

    @property
    def pid(self) -> int | None: ...

    async def start(self) -> None:
        """Return when the first ``worker.ready`` came. Errors: WorkerError when the process cannot start."""
        raise NotImplementedError

    async def submit(
        self,
        job_id: str,
        spec: PipelineSpec,
        *,
        assets: Mapping[str, Path],
        output_dir: Path,
        metadata: Mapping[str, Any],
    ) -> None:
        """Errors: WorkerError when the worker is not ready (submit again after ``worker.ready``)."""
        raise NotImplementedError

    async def cancel(self, job_id: str) -> None:
        raise NotImplementedError

    async def control(
        self,
        job_id: str,
        node_id: str,
        *,
        seq: int,
        wanted_chunk: int | None = None,
        keys: Sequence[str] | None = None,
        prompt: str | None = None,
        stop: bool = False,
    ) -> None:
        raise NotImplementedError

    async def ack(self, job_id: str, node_id: str, chunk_index: int) -> None:
        raise NotImplementedError

    def events(self) -> AsyncIterator[WorkerEvent]:
        """All events in order. One consumer."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Let the jobs at hand finish (at most ``drain_s``), then end the process."""
        raise NotImplementedError
