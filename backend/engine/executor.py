"""The tick loop: tells the BatchScheduler what happened, does what it says, on one device."""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from rushes.backend.engine import protocol
from rushes.backend.engine.batching import commands, events
from rushes.backend.engine.batching.lane import LaneRef, StageRef
from rushes.backend.engine.batching.scheduler import BatchScheduler
from rushes.backend.engine.failures import Failure, failure_of
from rushes.backend.engine.job import JobRun, plan_job
from rushes.backend.engine.loops.control import Update
from rushes.backend.engine.results import ResultCache
from rushes.backend.engine.slots import Returned, SideSlot
from rushes.backend.engine.stages import load_stages
from rushes.backend.engine.stages.stage import (
    COMPUTE,
    DECODE,
    IO,
    Emit,
    Host,
    JobContext,
    LaneWant,
    LoopRun,
    LoopStage,
    Outputs,
)
from rushes.backend.engine.stepping import LaneStep, Raised, attempt, step_alone, step_together
from rushes.backend.engine.threads import ThreadPlan, ThreadSwitch
from rushes.compiler.ir.spec import spec_from_json

RESULT_BYTES_MAX: Final = 256 << 20
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EndOfCommands:
    """Nobody is there to send commands any more."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Opened:
    loop: LoopRun


@dataclass(frozen=True, slots=True)
class _Ran:
    outputs: Outputs


News = protocol.Command | Returned | EndOfCommands
Inbox = queue.Queue[News]


class Executor:
    """Runs jobs on one device until told to stop.

    The device, the decoders of rollouts and files have a thread each; the thread that calls `run` owns the
    jobs, takes news in as it comes and never waits for the device. A cancel acts at the next step. What a
    stage raises ends that stage, with a code; only a fault of the engine itself ends the loop.
    """

    def __init__(self, host: Host, emit: Emit, inbox: Inbox, *, validate: bool = False) -> None:
        self._host = host
        self._emit = emit
        self._inbox = inbox
        self._stages = load_stages()
        self._results = ResultCache(RESULT_BYTES_MAX)
        self._scheduler = BatchScheduler(validate=validate)
        self._jobs: dict[str, JobRun] = {}
        self._wants: dict[LaneRef, LaneWant] = {}
        self._stepping: set[LaneRef] = set()
        plan = ThreadPlan.of(torch.get_num_threads())
        self._threads = {"whole": plan.whole, "predict": plan.predict, "decode": plan.decode}
        self._switch = ThreadSwitch()
        self._slots = {
            DECODE: SideSlot(DECODE, plan.decode, inbox.put),
            IO: SideSlot(IO, 1, inbox.put),
            COMPUTE: SideSlot(COMPUTE, plan.whole, inbox.put),
        }
        self._busy: set[str] = set()
        self._is_draining = False
        self._is_ended = False

    def run(self) -> None:
        """Until the owner says stop and all jobs are done, or nobody is there any more."""
        look_again_s: float | None = 0.0
        while not self._is_ended and not (self._is_draining and not self._jobs):
            self._take_news(look_again_s)
            look_again_s = self._fill_slots()
        for slot in self._slots.values():
            slot.stop()
        for job in self._jobs.values():
            job.close()

    # ---- news ---------------------------------------------------------------------------------------------

    def _take_news(self, look_again_s: float | None) -> None:
        """All news there is. With nothing to run, wait for some, or for the time."""
        wait_s = None if look_again_s is None else max(0.0, look_again_s - time.perf_counter())
        try:
            self._take(self._inbox.get(block=wait_s != 0.0, timeout=wait_s or None))
            while True:
                self._take(self._inbox.get_nowait())
        except queue.Empty:
            return

    def _take(self, news: News) -> None:
        match news:
            case Returned():
                self._busy.discard(news.slot)
                news.settle()
            case protocol.SubmitJob():
                self._submit(news)
            case protocol.CancelJob():
                self._tell(events.JobCancelled(news.job_id))
            case protocol.ControlJob():
                self._control(news)
            case protocol.AckChunk():
                self._steer(news.job_id, news.node_id, lambda loop: loop.ack(news.chunk_index))
            case protocol.StopWorker():
                self._is_draining = True
            case EndOfCommands():
                log.info("ending: %s", news.reason)
                self._is_ended = True

    def _submit(self, submitted: protocol.SubmitJob) -> None:
        job_id = submitted.job_id
        if job_id in self._jobs:
            log.error("job %s was submitted twice; the second is left out", job_id)
            return
        self._emit(protocol.JobStarted(job_id), b"")
        job = attempt(lambda: self._planned(submitted))
        if isinstance(job, Raised):
            failure = failure_of(job.error)
            log.error("job %s cannot be planned", job_id, exc_info=job.error)
            self._emit(protocol.JobFailed(job_id, failure.code, failure.message, None), b"")
            return
        self._jobs[job_id] = job
        self._host.previews.begin(job_id)
        job.open_books()
        self._tell(events.JobArrived(job_id, job.plan.needs, is_alone=job.spec.level == "exact"))

    def _planned(self, submitted: protocol.SubmitJob) -> JobRun:
        context = JobContext(
            job_id=submitted.job_id,
            assets={name: Path(path) for name, path in submitted.assets.items()},
            output_dir=Path(submitted.output_dir),
            metadata=submitted.metadata,
            chunk_encoding=submitted.chunk_encoding,
            emit=self._emit,
        )
        context.output_dir.mkdir(parents=True, exist_ok=True)
        spec = spec_from_json(submitted.spec)
        return JobRun(context, spec, plan_job(spec, self._stages, self._results.get))

    def _control(self, told: protocol.ControlJob) -> None:
        keys = None if told.keys is None else tuple(told.keys)
        update = Update(told.seq, told.wanted_chunk, keys, told.prompt)

        def apply(loop: LoopRun) -> None:
            loop.control(update)
            if told.stop:
                loop.stop(told.wanted_chunk or 0)

        self._steer(told.job_id, told.node_id, apply)

    def _steer(self, job_id: str, node_id: str, apply: Callable[[LoopRun], None]) -> None:
        """Reach the open loops of a node; one that is not open yet is reached when it opens."""
        job = self._jobs.get(job_id)
        if job is None:
            return
        for index in job.steer(node_id, apply):
            self._after_step(StageRef(job_id, index))

    # ---- slots --------------------------------------------------------------------------------------------

    def _fill_slots(self) -> float | None:
        """Give work to every slot that is free. When to look again: at a time, or (None) at the next news."""
        times: list[float] = []
        for slot in self._slots:
            if slot not in self._busy:
                time_s = self._tell(events.SlotFree(slot, time.perf_counter()))
                times.extend([] if time_s is None else [time_s])
        return min(times, default=None)

    def _tell(self, event: events.Event) -> float | None:
        """Tell the scheduler and do what it says. When to ask it again, if it said so."""
        again_s: float | None = None
        for command in self._scheduler.handle(event):
            match command:
                case commands.RunStage():
                    self._run_stage(command)
                case commands.StepLanes():
                    self._step_lanes(command)
                case commands.EndJob():
                    self._end_job(command)
                case commands.SleepUntil():
                    again_s = command.time_s
                case commands.SkipStage():
                    pass
        return again_s

    def _start(self, slot: str, work: Callable[[], Callable[[], None]]) -> None:
        """Run on the slot's thread; what ``work`` gives runs on ours, when the slot is back."""
        self._busy.add(slot)
        self._slots[slot].start(work)

    # ---- stages -------------------------------------------------------------------------------------------

    def _run_stage(self, command: commands.RunStage) -> None:
        ref, job = command.stage, self._jobs[command.stage.job_id]
        stage = self._stages[job.spec.stages[ref.stage].op]
        job.started(ref.stage)
        began_s = time.perf_counter()

        def run() -> _Opened | _Ran:
            call = job.call(ref.stage)
            if isinstance(stage, LoopStage):
                return _Opened(stage.open(call, self._host))
            return _Ran(stage.run(call, self._host))

        def work() -> Callable[[], None]:
            if command.slot == COMPUTE:
                self._switch.use(self._threads["whole"])
            with torch.inference_mode():
                result = attempt(run)
            return lambda: self._after_stage(ref, result, time.perf_counter() - began_s)

        self._start(command.slot, work)

    def _after_stage(self, ref: StageRef, result: _Opened | _Ran | Raised, seconds: float) -> None:
        job = self._jobs[ref.job_id]
        job.spent(ref.stage, seconds)
        match result:
            case Raised():
                self._fail(ref, result.error)
            case _Ran():
                self._finish(ref, result.outputs)
            case _Opened():
                job.opened(ref.stage, result.loop)
                self._after_step(ref)

    def _finish(self, ref: StageRef, outputs: Outputs) -> None:
        job = self._jobs[ref.job_id]
        if self._stages[job.spec.stages[ref.stage].op].is_cached:
            self._results.put(job.plan.keys[ref.stage], outputs)
        job.finished(ref.stage, outputs)
        self._tell(events.StageFinished(ref))

    def _fail(self, ref: StageRef, error: Exception) -> None:
        failure = failure_of(error)
        if failure.code == "E_INTERNAL":
            log.error("job %s, stage %d failed", ref.job_id, ref.stage, exc_info=error)
        self._jobs[ref.job_id].failed(ref.stage, failure)
        self._tell(events.StageFailed(ref))

    def _end_job(self, command: commands.EndJob) -> None:
        job = self._jobs.pop(command.job_id)
        self._host.previews.end(command.job_id)
        job.close()
        self._wants = {lane: want for lane, want in self._wants.items() if lane.job_id != command.job_id}
        self._emit(_terminal(command, job), b"")

    # ---- lanes --------------------------------------------------------------------------------------------

    def _step_lanes(self, command: commands.StepLanes) -> None:
        lanes, want = command.lanes, self._wants[command.lanes[0]]
        steps = [LaneStep(self._jobs[lane.job_id].loops[lane.stage], lane.part) for lane in lanes]
        self._stepping.update(lanes)
        began_s = time.perf_counter()

        def work() -> Callable[[], None]:
            if command.slot == COMPUTE:
                self._switch.use(self._threads[want.threads])
            with torch.inference_mode():
                if want.key is None:
                    raised = [step_alone(step) for step in steps]
                else:
                    forwarder = self._host.residency.forwarder(steps[0].loop.model)
                    raised = step_together(steps, forwarder, began_s)
            seconds = (time.perf_counter() - began_s) / len(lanes)
            return lambda: self._after_lanes(lanes, raised, seconds)

        self._start(command.slot, work)

    def _after_lanes(self, lanes: tuple[LaneRef, ...], raised: list[Raised | None], seconds: float) -> None:
        for lane, error in zip(lanes, raised, strict=True):
            self._stepping.discard(lane)
            job = self._jobs[lane.job_id]
            job.spent(lane.stage, seconds)
            if error is None:
                self._after_step(lane.owner)
            elif lane.stage in job.loops:
                job.loops.pop(lane.stage).abandon()
                self._fail(lane.owner, error.error)

    def _after_step(self, ref: StageRef) -> None:
        """Ask the loop what its lanes want now, or take its result when it is done."""
        job = self._jobs[ref.job_id]
        loop = job.loops.get(ref.stage)
        if loop is None or self._scheduler.is_ending(ref.job_id):
            return
        is_stepping = any(lane.owner == ref for lane in self._stepping)
        if not is_stepping and loop.is_done():
            outputs = attempt(loop.finish)
            if isinstance(outputs, Raised):
                job.loops.pop(ref.stage).abandon()
                self._fail(ref, outputs.error)
            else:
                job.closed(ref.stage)
                self._finish(ref, outputs)
            return
        for part in loop.parts:
            lane = LaneRef(*ref, part)
            if lane not in self._stepping:
                self._report(lane, loop.want(part))

    def _report(self, lane: LaneRef, want: LaneWant | None) -> None:
        if want is None:
            self._tell(events.LanePaused(lane))
            return
        self._wants[lane] = want
        ready = events.LaneReady(lane, want.slot, want.key, want.not_before_s, want.deadline_s)
        self._tell(ready)


def _terminal(command: commands.EndJob, job: JobRun) -> protocol.Event:
    job_id = command.job_id
    if command.outcome == "cancelled":
        return protocol.JobCancelled(job_id)
    if command.outcome == "completed":
        return protocol.JobCompleted(job_id, job.timings())
    failure, node_id = job.failure or (Failure("E_INTERNAL", "the job failed without a reason"), None)
    return protocol.JobFailed(job_id, failure.code, failure.message, node_id)
