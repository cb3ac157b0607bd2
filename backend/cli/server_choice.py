"""Which server a command talks to: the one named, or a private one that lives as long as the command."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rushes.compiler.ir.spec import PipelineSpec

from ..app import run_server
from ..client import AsyncClient
from ..jobs.ports import WorkerMessage
from ..jobs.requests import ChunkEncoding
from ..settings import Settings, SettingsError, Wishes, load_settings
from .refusal import refuse


@asynccontextmanager
async def open_client(arguments: argparse.Namespace, *, computes: bool) -> AsyncIterator[AsyncClient]:
    """A client of the server the arguments name, else of a private one on a free loopback port.

    The private one has a temporary data folder and the models of this machine; without `computes` it starts
    no worker. Errors: ClientError.
    """
    if arguments.server is not None:
        async with AsyncClient(arguments.server, token=arguments.token) as client:
            yield client
        return
    with tempfile.TemporaryDirectory(prefix="rushes-", ignore_cleanup_errors=True) as folder:
        settings = replace(read_settings(arguments), data_dir=Path(folder), port=0, token=None, drain_s=5.0)
        make_worker = None if computes else _make_idle
        async with run_server(settings, make_worker) as server, AsyncClient(server.url) as client:
            yield client


def read_settings(arguments: argparse.Namespace, **wishes: Any) -> Settings:
    """Settings of this machine as the arguments wish them. Errors: CommandRefused."""
    try:
        return load_settings(
            Wishes(
                data_dir=arguments.data_dir,
                checkpoint_roots=tuple(arguments.checkpoints),
                device=arguments.device,
                **wishes,
            )
        )
    except SettingsError as error:
        raise refuse("E_INVALID", str(error)) from error


def _make_idle(_settings: Settings) -> IdleWorker:
    return IdleWorker()


class IdleWorker:
    """The worker of a server that compiles and lists, and runs nothing."""

    state = "stopped"

    def __init__(self) -> None:
        self._stopped = asyncio.Event()

    async def start(self) -> None:
        """There is nothing to start."""

    async def submit(
        self,
        job_id: str,
        spec: PipelineSpec,
        *,
        assets: Mapping[str, Path],
        output_dir: Path,
        metadata: Mapping[str, Any],
        chunk_encoding: ChunkEncoding = "jpeg",
    ) -> None:
        raise RuntimeError("this server runs nothing")

    async def cancel(self, job_id: str) -> None:
        """Nothing runs."""

    async def control(  # noqa: PLR0913 - the fields of the message
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
        """Nothing runs."""

    async def ack(self, job_id: str, node_id: str, chunk_index: int) -> None:
        """Nothing runs."""

    async def events(self) -> AsyncIterator[WorkerMessage]:
        await self._stopped.wait()
        messages: tuple[WorkerMessage, ...] = ()
        for message in messages:
            yield message

    async def stop(self) -> None:
        self._stopped.set()
