"""Carries out what the queue decides: database, worker and event stream in step."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from rushes.compiler.ir.spec import PipelineSpec, spec_from_json, spec_to_json

from ..database import Database
from . import store
from .event_log import EventLog
from .ports import JobFiles, JobWorker, WorkerMessage
from .progress import NodeProgress, ProgressBoard
from .queue import (
    CancelRequested,
    Drained,
    Ended,
    Finish,
    JobQueue,
    Moved,
    QueueCommand,
    QueueEvent,
    Requeue,
    Start,
    StartRefused,
    StopInWorker,
    Submitted,
    WorkerCame,
    WorkerWent,
)
from .record import (
    JobFailure,
    JobOutcome,
    JobProgram,
    JobRecord,
    JobState,
    JobStateError,
    new_job_id,
)
from .requests import Control, DispatchLimits, Draining, NewJob, QueueFull, WorkerFacts
from .rollouts import check_control, list_outputs, list_rollouts

LOG = logging.getLogger(__name__)

_STATE_OF: Mapping[str, JobState] = {
    "job.completed": "completed",
    "job.failed": "failed",
    "job.cancelled": "cancelled",
}


class Dispatcher:
    """The one writer of job states.

    Guarantees: what `submit` returned survives a restart; each job gets one terminal event; a job's events
    come in the worker's order and its terminal event last.
    """

    def __init__(
        self,
        database: Database,
        log: EventLog,
        worker: JobWorker,
        files: JobFiles,
        *,
        runs_dir: Path,
        limits: DispatchLimits,
    ) -> None:
        self._database = database
        self._log = log
        self._worker = worker
        self._files = files
        self._runs_dir = runs_dir
        self._limits = limits
        self._queue = JobQueue(running_max=limits.running_max, attempts_max=limits.attempts_max)
        self._progress = ProgressBoard()
        self._live: dict[str, JobRecord] = {}
        self._timings: dict[str, Mapping[str, float]] = {}
        self._lock = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_draining = False
        self._is_stopped = False
        self._is_hurried = False
        self._changed = asyncio.Event()
        self._clock: Callable[[], float] = time.time
        self.worker_facts = WorkerFacts()

    # ---- life -------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Queue again what an earlier server left, and start the worker without waiting for it."""
        self._runs_dir.mkdir(parents=True, exist_ok=True)
        async with self._lock:
            for job in await self._database.run(store.list_unfinished):
                await self._restore(job)
        self._tasks = [
            asyncio.create_task(self._pump(), name="worker events"),
            asyncio.create_task(self._start_worker(), name="worker start"),
        ]

    async def stop(self, drain_s: float) -> None:
        """Take no new job, end endless ones gracefully, wait at most `drain_s` for the rest.

        What still runs then is queued again for the next start of the server.
        """
        self._is_draining = True
        await self._handle(Drained())
        await self._end_endless()
        try:
            async with asyncio.timeout(drain_s):
                await self._until_idle()
        except TimeoutError:
            LOG.warning(
                "%d jobs still run after %.0f s; they start again later", len(self._queue.running), drain_s
            )
        async with self._lock:
            self._is_stopped = True
            for job_id in self._queue.running:
                await self._leave(self._live[job_id])
        await self._worker.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def hurry(self) -> None:
        """End a `stop` that waits."""
        self._is_hurried = True
        self._changed.set()

    # ---- what hosts ask -----------------------------------------------------------------------------------

    async def submit(self, new: NewJob) -> JobRecord:
        """Errors: Draining, QueueFull."""
        if self._is_draining:
            raise Draining("the server is shutting down and takes no new jobs")
        if len(self._queue.waiting) >= self._limits.queued_max:
            raise QueueFull(f"at most {self._limits.queued_max} jobs may wait, and as many do")
        job = JobRecord(
            job_id=new_job_id(),
            state="queued",
            title=new.title,
            targets=new.targets,
            outputs=list_outputs(new.spec),
            rollouts=list_rollouts(new.spec),
            spec_hash=new.spec.spec_hash,
            attempt=0,
            created_at=self._clock(),
        )
        program = JobProgram(
            new.document, spec_to_json(new.spec), new.diagnostics, new.metadata, new.chunk_encoding
        )
        async with self._lock:
            await self._database.run(partial(store.insert_job, job=job, program=program))
            self._live[job.job_id] = job
            await self._advance(Submitted(job.job_id, is_endless=job.is_endless))
        return await self.read(job.job_id)

    async def cancel(self, job_id: str) -> JobRecord:
        """Ask for the end; a job that is over stays as it is. Errors: JobNotFound."""
        await self._handle(CancelRequested(job_id))
        return await self.read(job_id)

    async def control(self, control: Control) -> None:
        """Errors: JobNotFound, JobStateError unless the job runs, ControlRefused naming the field."""
        job = await self.read(control.job_id)
        if job.state != "running":
            raise JobStateError(f"a running job was expected, {job.job_id} is {job.state}")
        check_control(job.rollouts, control.node_id, control.keys)
        await self._worker.control(
            control.job_id,
            control.node_id,
            seq=control.seq,
            wanted_chunk=control.wanted_chunk,
            keys=control.keys,
            prompt=control.prompt,
            stop=control.stop,
        )

    async def ack(self, job_id: str, node_id: str, chunk_index: int) -> None:
        """Whoever watches has this chunk. Said of a job that does not run, it changes nothing."""
        if job_id in self._queue.running:
            await self._worker.ack(job_id, node_id, chunk_index)

    async def read(self, job_id: str) -> JobRecord:
        """Errors: JobNotFound."""
        if job_id in self._live:
            return self._live[job_id]
        return await self._database.run(partial(store.read_job, job_id=job_id))

    async def read_program(self, job_id: str) -> JobProgram:
        """Errors: JobNotFound."""
        return await self._database.run(partial(store.read_program, job_id=job_id))

    async def read_nodes(self, job_id: str) -> tuple[NodeProgress, ...]:
        """Progress so far, or as it stood at the end."""
        if job_id in self._live:
            return self._progress.nodes(job_id)
        return await self._database.run(partial(store.read_nodes, job_id=job_id))

    async def list_jobs(self, state: JobState | None, limit: int) -> list[JobRecord]:
        """Newest first."""
        return await self._database.run(partial(store.list_jobs, state=state, limit=limit))

    async def delete(self, job_id: str) -> None:
        """Forget a job that is over, artifacts included. Errors: JobNotFound, JobStateError."""
        job = await self.read(job_id)
        if not job.is_over:
            raise JobStateError(f"a job that is over was expected, {job_id} is {job.state}")
        await self._files.forget(job_id)
        await self._database.run(partial(store.delete_job, job_id=job_id))

    @property
    def live_jobs(self) -> tuple[JobRecord, ...]:
        """Every job that is not over, in order of submission."""
        return tuple(self._live.values())

    @property
    def worker_state(self) -> str:
        return self._worker.state

    @property
    def limits(self) -> DispatchLimits:
        return self._limits

    def position(self, job_id: str) -> int | None:
        """Place in the queue, 0 is next; None when it does not wait."""
        return self._queue.position(job_id)

    # ---- the queue's commands -----------------------------------------------------------------------------

    async def _handle(self, event: QueueEvent) -> None:
        async with self._lock:
            await self._advance(event)

    async def _advance(self, event: QueueEvent) -> None:
        """Feed the queue and do what it says, until it says nothing. Holds the lock."""
        pending: deque[QueueEvent] = deque([event])
        while pending:
            for command in self._queue.handle(pending.popleft()):
                answer = await self._carry_out(command)
                if answer is not None:
                    pending.append(answer)
        self._changed.set()

    async def _carry_out(self, command: QueueCommand) -> QueueEvent | None:
        match command:
            case Start():
                return await self._start_job(command)
            case StopInWorker():
                await self._worker.cancel(command.job_id)
            case Requeue():
                await self._requeue(command)
            case Finish():
                await self._finish(command)
            case Moved():
                self._log.append(
                    {"type": "job.queued", "job_id": command.job_id, "position": command.position}
                )
        return None

    async def _start_job(self, command: Start) -> QueueEvent | None:
        job_id, now = command.job_id, self._clock()
        await self._database.run(
            partial(store.mark_running, job_id=job_id, attempt=command.attempt, started_at=now)
        )
        self._live[job_id] = replace(
            self._live[job_id], state="running", attempt=command.attempt, started_at=now
        )
        try:
            await self._hand_over(job_id)
        except LookupError as error:
            return Ended(job_id, "failed", JobFailure("E_UNKNOWN_ASSET", str(error)))
        except (ValueError, TypeError) as error:
            return Ended(
                job_id, "failed", JobFailure("E_PROGRAM", f"the stored program cannot be read: {error}")
            )
        except RuntimeError as error:
            LOG.warning("worker refused %s: %s", job_id, error)
            return StartRefused(job_id)
        return None

    async def _hand_over(self, job_id: str) -> None:
        program = await self.read_program(job_id)
        spec = spec_from_json(program.spec)
        output_dir = self._runs_dir / job_id
        await asyncio.to_thread(output_dir.mkdir, parents=True, exist_ok=True)
        await self._worker.submit(
            job_id,
            spec,
            assets=await self._files.locate(_asset_names(spec)),
            output_dir=output_dir,
            metadata=program.metadata,
            chunk_encoding=program.chunk_encoding,
        )

    async def _requeue(self, command: Requeue) -> None:
        job_id = command.job_id
        await self._database.run(partial(store.mark_queued, job_id=job_id, attempt=command.attempt))
        self._live[job_id] = replace(
            self._live[job_id], state="queued", attempt=command.attempt, started_at=None
        )
        self._progress.forget(job_id)
        await self._files.forget(job_id)
        await self._clean(job_id)

    async def _finish(self, command: Finish) -> None:
        job_id = command.job_id
        timings = self._timings.pop(job_id, {})
        outcome = JobOutcome(
            command.state, self._clock(), command.failure, timings, self._progress.nodes(job_id)
        )
        await self._database.run(partial(store.mark_over, job_id=job_id, outcome=outcome))
        self._live.pop(job_id, None)
        self._progress.forget(job_id)
        await self._clean(job_id)
        header: dict[str, Any] = {"type": f"job.{command.state}", "job_id": job_id}
        if command.state == "completed":
            header["timings"] = timings
        if command.failure is not None:
            header |= asdict(command.failure)
        self._log.append(header)

    async def _clean(self, job_id: str) -> None:
        await asyncio.to_thread(shutil.rmtree, self._runs_dir / job_id, ignore_errors=True)

    # ---- the worker's events ------------------------------------------------------------------------------

    async def _start_worker(self) -> None:
        try:
            await self._worker.start()
        except RuntimeError as error:
            LOG.error("the worker could not be started: %s", error)  # its events end, and that is told

    async def _pump(self) -> None:
        async for message in self._worker.events():
            try:
                await self._take(message)
            except Exception as error:  # a job ends here, the others go on
                LOG.exception("event %s could not be taken", message.header.get("type"))
                await self._give_up(message.header.get("job_id"), error)
        if not self._is_draining:
            await self._handle(WorkerWent())
            self._log.append(
                {"type": "worker.broken", "message": "the worker process does not start any more"}
            )

    async def _take(self, message: WorkerMessage) -> None:
        header = message.header
        kind = header["type"]
        if kind.startswith("worker."):
            await self._take_worker_event(header)
        elif header["job_id"] not in self._queue.running or self._is_stopped:
            LOG.debug("%s of %s, which does not run, is left out", kind, header["job_id"])
        elif kind in _STATE_OF:
            await self._take_terminal(header)
        elif kind == "artifact.created":
            self._log.append(await self._files.keep(header))
        else:
            self._progress.take(header)
            self._log.append(_renamed(header), message.payload)

    async def _take_worker_event(self, header: Mapping[str, Any]) -> None:
        self._log.append(header)
        if header["type"] == "worker.ready":
            facts = {name: header[name] for name in ("device", "device_name", "torch")}
            self.worker_facts = replace(self.worker_facts, **facts)
            await self._handle(WorkerCame())
        elif header["type"] == "worker.died":
            self.worker_facts = replace(self.worker_facts, death_count=self.worker_facts.death_count + 1)
            await self._handle(WorkerWent())

    async def _take_terminal(self, header: Mapping[str, Any]) -> None:
        failure = None
        if header["type"] == "job.failed":
            failure = JobFailure(header["code"], header["message"], header["node_id"])
        self._timings[header["job_id"]] = header.get("timings", {})
        await self._handle(Ended(header["job_id"], _STATE_OF[header["type"]], failure))

    async def _give_up(self, job_id: str | None, error: Exception) -> None:
        if job_id is None or job_id not in self._queue.running:
            return
        code = "E_STORAGE" if isinstance(error, OSError) else "E_INTERNAL"
        await self._worker.cancel(job_id)
        await self._handle(Ended(job_id, "failed", JobFailure(code, _plain(error))))

    # ---- restarts of the server ---------------------------------------------------------------------------

    async def _restore(self, job: JobRecord) -> None:
        was_running = job.state == "running"
        self._live[job.job_id] = replace(job, state="queued", started_at=None)
        await self._advance(Submitted(job.job_id, is_endless=job.is_endless, attempt=job.attempt))
        if was_running and (job.is_endless or job.attempt >= self._limits.attempts_max):
            failure = JobFailure(
                "E_SERVER_STOPPED", f"the server ended while the job ran; it was start {job.attempt}"
            )
            await self._advance(Ended(job.job_id, "failed", failure))
        elif was_running:
            await self._files.forget(job.job_id)
            await self._database.run(partial(store.mark_queued, job_id=job.job_id, attempt=job.attempt))

    async def _leave(self, job: JobRecord) -> None:
        """The server ends while this job runs: queue it again for the next start, or fail it if endless."""
        await self._worker.cancel(job.job_id)
        if job.is_endless:
            failure = JobFailure("E_SERVER_STOPPED", "the server ended while the job ran")
            await self._finish(Finish(job.job_id, "failed", failure))
        else:
            await self._requeue(Requeue(job.job_id, job.attempt - 1))

    async def _end_endless(self) -> None:
        for job_id in self._queue.running:
            for rollout in self._live[job_id].rollouts:
                if rollout.chunk_count is None:
                    await self._worker.control(job_id, rollout.node_id, seq=_LAST_SEQ, stop=True)

    async def _until_idle(self) -> None:
        while self._queue.running and not self._is_hurried:
            self._changed.clear()
            await self._changed.wait()


_LAST_SEQ = 2**53 - 1
"""Above every number a client counts to."""


def _asset_names(spec: PipelineSpec) -> Sequence[str]:
    loads = (stage for stage in spec.stages if stage.op in ("load_image", "load_video"))
    return [str(stage.attr("asset")) for stage in loads]


def _renamed(header: Mapping[str, Any]) -> Mapping[str, Any]:
    """`seq` is the stream's number for clients; the control's own number goes by another name."""
    if header["type"] != "control.applied":
        return header
    rest = {name: value for name, value in header.items() if name != "seq"}
    return rest | {"control_seq": header["seq"]}


def _plain(error: Exception) -> str:
    text = str(error) or "no further word"
    return f"{type(error).__name__}: {text}"
