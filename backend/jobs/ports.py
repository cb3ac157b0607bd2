"""What this room needs of its neighbours, and no more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from rushes.compiler.ir.spec import PipelineSpec

from .requests import ChunkEncoding


class WorkerMessage(Protocol):
    """One event of the engine: `header["type"]` names its kind."""

    @property
    def header(self) -> Mapping[str, Any]: ...
    @property
    def payload(self) -> bytes: ...


class JobWorker(Protocol):
    """The process that computes; `rushes.backend.workers.worker.Worker` is the one.

    Errors: WorkerError (a RuntimeError) from `start` and `submit` when there is no process to talk to.
    """

    @property
    def state(self) -> str: ...
    async def start(self) -> None: ...
    async def submit(
        self,
        job_id: str,
        spec: PipelineSpec,
        *,
        assets: Mapping[str, Path],
        output_dir: Path,
        metadata: Mapping[str, Any],
        chunk_encoding: ChunkEncoding = "jpeg",
    ) -> None: ...
    async def cancel(self, job_id: str) -> None: ...
    async def control(  # noqa: PLR0913
        self,
        job_id: str,
        node_id: str,
        *,
        seq: int,
        wanted_chunk: int | None = None,
        keys: Sequence[str] | None = None,
        prompt: str | None = None,
        stop: bool = False,
    ) -> None: ...
    async def ack(self, job_id: str, node_id: str, chunk_index: int) -> None: ...
    def events(self) -> AsyncIterator[WorkerMessage]: ...
    async def stop(self) -> None: ...


class JobFiles(Protocol):
    """The files jobs read and make."""

    async def locate(self, names: Collection[str]) -> Mapping[str, Path]:
        """Path of each asset. Errors: LookupError naming one that is gone."""
        ...

    async def keep(self, header: Mapping[str, Any]) -> Mapping[str, Any]:
        """Store what an `artifact.created` of the worker names; the event as clients get it.

        Errors: OSError when it cannot be stored.
        """
        ...

    async def forget(self, job_id: str) -> None:
        """Drop the artifacts of a job, and their bytes where nothing else has them."""
        ...
