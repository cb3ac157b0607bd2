"""One worker process as the server sees it: commands in, events out, death noticed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from rushes.backend.engine.protocol import (
    TERMINAL_TYPES,
    AckChunk,
    CancelJob,
    Command,
    ControlJob,
    ProtocolError,
    StopWorker,
    SubmitJob,
    WorkerDied,
    to_header,
)
from rushes.backend.workers.process import EngineCommandLine, EngineProcess
from rushes.compiler.ir.spec import PipelineSpec, spec_to_json

WorkerState = Literal["stopped", "starting", "ready", "restarting", "stopping", "broken"]
WAITING_EVENTS_MAX: Final = 256
KILL_S: Final = 5.0
"""How long a killed process and a consumer of events are waited for."""
log = logging.getLogger(__name__)


class WorkerError(RuntimeError):
    """There is no process to talk to, or none can be started."""


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

    A death gives one ``worker.died`` event naming the jobs that were inside; the process is started again by
    itself and announces ``worker.ready`` when warm. ``events`` ends after ``stop``, or when the worker is
    broken. A consumer that stops reading events stops the engine's deliveries, not its cancels.
    """

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        self._state: WorkerState = "stopped"
        self._process: EngineProcess | None = None
        self._supervisor: asyncio.Task[None] | None = None
        self._events: asyncio.Queue[WorkerEvent | None] = asyncio.Queue(WAITING_EVENTS_MAX)
        self._first_outcome: asyncio.Event = asyncio.Event()
        self._inside: dict[str, None] = {}
        self._sending = asyncio.Lock()

    @property
    def state(self) -> WorkerState:
        return self._state

    @property
    def pid(self) -> int | None:
        """Of the process that runs now; None between two."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Return when the first ``worker.ready`` came.

        Errors: WorkerError when the process cannot be started, or `stop` came first.
        """
        if self._state != "stopped":
            raise WorkerError(f"a stopped worker was expected, this one is {self._state}")
        self._state = "starting"
        self._supervisor = asyncio.create_task(self._supervise(), name="worker")
        await self._first_outcome.wait()
        if not self._is_ready():
            raise WorkerError(f"the worker process did not become ready, it is {self._state}")

    async def submit(
        self,
        job_id: str,
        spec: PipelineSpec,
        *,
        assets: Mapping[str, Path],
        output_dir: Path,
        metadata: Mapping[str, Any],
        chunk_encoding: Literal["jpeg", "rgb24"] = "jpeg",
    ) -> None:
        """Errors: WorkerError when the worker is not ready (submit again after ``worker.ready``)."""
        if self._state != "ready":
            raise WorkerError(f"a ready worker was expected, this one is {self._state}")
        paths = {name: str(path) for name, path in assets.items()}
        self._inside[job_id] = None
        try:
            await self._send(
                SubmitJob(job_id, spec_to_json(spec), paths, str(output_dir), metadata, chunk_encoding)
            )
        except ConnectionError as error:
            self._inside.pop(job_id, None)
            raise WorkerError(f"the worker process is gone: {error}") from error

    async def cancel(self, job_id: str) -> None:
        """A job that is not in the worker is left as it is; the answer is an event."""
        await self._send_if_alive(CancelJob(job_id))

    async def control(  # noqa: PLR0913 - what one update may say
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
        """See `ControlJob`. What takes effect is answered by ``control.applied``."""
        held = None if keys is None else list(keys)
        await self._send_if_alive(ControlJob(job_id, node_id, seq, wanted_chunk, held, prompt, stop))

    async def ack(self, job_id: str, node_id: str, chunk_index: int) -> None:
        """The consumer has this chunk and all before it."""
        await self._send_if_alive(AckChunk(job_id, node_id, chunk_index))

    async def events(self) -> AsyncIterator[WorkerEvent]:
        """All events in order. One consumer."""
        while (event := await self._events.get()) is not None:
            yield event

    async def stop(self) -> None:
        """Let the jobs at hand finish (at most ``drain_s``), then end the process."""
        if self._supervisor is None or self._state == "broken":
            return
        was_ready = self._is_ready()
        self._state = "stopping"
        if was_ready:
            await self._send_if_alive(StopWorker())
            await asyncio.wait({self._supervisor}, timeout=self._config.drain_s)
        if self._process is not None:
            self._process.kill()
            await asyncio.wait({self._supervisor}, timeout=KILL_S)
        self._supervisor.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._supervisor
        self._state = "stopped"

    # ---- the process --------------------------------------------------------------------------------------

    async def _supervise(self) -> None:
        """Start, watch, start again. Ends when asked to stop or when starting is hopeless."""
        failed_starts = 0
        try:
            while self._state != "stopping":
                was_ready, exit_code = await self._run_once()
                if self._is_stopping():
                    return
                self._state = "restarting"
                await self._report_death(exit_code)
                failed_starts = 0 if was_ready else failed_starts + 1
                if failed_starts >= self._config.starts_max:
                    log.error("the worker process failed to start %d times in a row", failed_starts)
                    self._state = "broken"
                    return
                await asyncio.sleep(self._backoff_s(failed_starts))
        finally:
            self._process = None
            self._first_outcome.set()
            await self._end_events()

    async def _run_once(self) -> tuple[bool, int]:
        """One life of the process: whether it was ever ready, and its exit code."""
        command_line = EngineCommandLine(self._config.python, self._config.checkpoints, self._config.device)
        try:
            process = self._process = await EngineProcess.spawn(command_line)
        except OSError as error:
            log.error("the worker process cannot be started: %s", error)
            return False, 127
        try:
            was_ready = await self._pump(process)
        finally:
            self._process = None
            exit_code = await process.end(KILL_S)
        return was_ready, exit_code

    async def _pump(self, process: EngineProcess) -> bool:
        """Hand its events on until there are no more."""
        was_ready = False
        while True:
            try:
                message = await process.receive()
            except ProtocolError as error:
                log.error("the worker process broke the channel: %s", error)
                return was_ready
            if message is None:
                return was_ready
            header, payload = message
            if header["type"] == "worker.ready":
                was_ready = True
                self._note_ready()
            elif header["type"] in TERMINAL_TYPES:
                self._inside.pop(header["job_id"], None)
            await self._events.put(WorkerEvent(header, payload))

    def _note_ready(self) -> None:
        if not self._is_stopping():
            self._state = "ready"
            self._first_outcome.set()

    def _is_ready(self) -> bool:
        return self._state == "ready"

    def _is_stopping(self) -> bool:
        return self._state == "stopping"

    async def _report_death(self, exit_code: int) -> None:
        job_ids = list(self._inside)
        self._inside.clear()
        log.warning("the worker process ended with %d; %d jobs were in it", exit_code, len(job_ids))
        await self._events.put(WorkerEvent(to_header(WorkerDied(exit_code, job_ids))))

    async def _end_events(self) -> None:
        """Tell the consumer that there are no more; one that does not read is not waited for."""
        try:
            async with asyncio.timeout(KILL_S):
                await self._events.put(None)
        except TimeoutError:
            self._events.get_nowait()
            self._events.put_nowait(None)

    def _backoff_s(self, failed_starts: int) -> float:
        return self._config.backoff_s[min(failed_starts, len(self._config.backoff_s) - 1)]

    # ---- the channel --------------------------------------------------------------------------------------

    async def _send(self, command: Command) -> None:
        async with self._sending:
            if self._process is None:
                raise ConnectionError("no process")
            await self._process.send(command)

    async def _send_if_alive(self, command: Command) -> None:
        """Of a process that is gone its death tells all there is to know."""
        with contextlib.suppress(ConnectionError):
            await self._send(command)
