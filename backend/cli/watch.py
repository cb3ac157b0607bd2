"""Watches one job to its end, and ends an endless one when it is time."""

from __future__ import annotations

import asyncio
import math
import sys

from ..client import ClientError, EventStream
from ..wire.v1.events import TERMINAL_EVENTS, ChunkFrames, ErrorMessage, Hello, WorkerBroken
from ..wire.v1.records import Job
from .progress_bar import ProgressBar
from .report import warn_lines

_STOP_SEQ = 2**53 - 1
"""Above every control before it; the last one there is."""


class JobWatch:
    """A job's events. `duration_s`: seconds of video after which endless rollouts are stopped."""

    def __init__(self, job: Job, stream: EventStream, duration_s: float | None) -> None:
        self._job = job
        self._stream = stream
        self._duration_s = duration_s
        self._endless = {rollout.node_id for rollout in job.rollouts if rollout.chunk_count is None}
        self._stopping: set[str] = set()
        self._bar = ProgressBar(sys.stderr)
        self._tasks: set[asyncio.Task[None]] = set()
        self._interrupt_count = 0

    async def until_over(self) -> None:
        """Errors: ClientError when the job cannot end any more."""
        await self._stream.subscribe(self._job.job_id)
        if self._endless and self._duration_s is None:
            warn_lines(
                ["this workflow is endless: Ctrl-C ends it and writes what was made (or use --duration)"]
            )
        try:
            async for received in self._stream:
                message = received.message
                if isinstance(message, WorkerBroken):
                    raise ClientError("E_WORKER_BROKEN", message.message)
                if message.type in TERMINAL_EVENTS:
                    return
                if isinstance(message, Hello):
                    if all(known.job.job_id != self._job.job_id for known in message.jobs):
                        return
                elif isinstance(message, ChunkFrames):
                    await self._measure(message)
                elif isinstance(message, ErrorMessage):
                    await self._take_refusal(message)
                else:
                    self._bar.show(message)
        finally:
            self._bar.clear()

    def interrupt(self) -> None:
        """The first ends endless rollouts gracefully, or cancels a job without one; the second cancels."""
        self._interrupt_count += 1
        is_graceful = self._interrupt_count == 1 and bool(self._endless)
        task = asyncio.get_running_loop().create_task(self._stop_all() if is_graceful else self._cancel())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _announce(self) -> None:
        if self._endless and self._duration_s is None:
            warn_lines(["an endless workflow: Ctrl-C ends it and writes what was made (or use --duration)"])
        elif self._duration_s is not None and not self._endless:
            warn_lines(["--duration changes nothing: this workflow ends by itself"])

    async def _measure(self, chunk: ChunkFrames) -> None:
        """Stop a rollout after the chunk that fills the duration; how long chunks are shows in the second."""
        if self._duration_s is None or chunk.node_id not in self._endless or chunk.node_id in self._stopping:
            return
        wanted_frames = math.ceil(self._duration_s * chunk.fps)
        if chunk.chunk_index == 0:
            if chunk.frame_index + chunk.frame_count >= wanted_frames:
                await self._stop(chunk.node_id, 1)
            return
        first_frames = chunk.frame_index - chunk.part_index * chunk.frame_count
        each_frames = chunk.part_count * chunk.frame_count
        missing = max(0, wanted_frames - first_frames)
        await self._stop(chunk.node_id, chunk.chunk_index + math.ceil(missing / each_frames))

    async def _take_refusal(self, error: ErrorMessage) -> None:
        """A job that does not run yet cannot be stopped gracefully, only cancelled."""
        if error.request == "job.control" and self._interrupt_count:
            await self._cancel()

    async def _stop_all(self) -> None:
        for node_id in self._endless:
            await self._stop(node_id, None)

    async def _stop(self, node_id: str, before_chunk: int | None) -> None:
        self._stopping.add(node_id)
        await self._stream.control(
            self._job.job_id, node_id, seq=_STOP_SEQ, wanted_chunk=before_chunk, stop=True
        )

    async def _cancel(self) -> None:
        await self._stream.cancel(self._job.job_id)
