"""The BatchScheduler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from rushes.backend.engine.batching.commands import (
    Command,
    EndJob,
    Outcome,
    RunStage,
    SkipStage,
    SleepUntil,
    StepLanes,
)
from rushes.backend.engine.batching.events import (
    Event,
    JobArrived,
    JobCancelled,
    LanePaused,
    LaneReady,
    SlotFree,
    StageFailed,
    StageFinished,
)
from rushes.backend.engine.batching.lane import LaneRef, StageRef

StageState = Literal["waiting", "ready", "running", "looping", "done", "failed", "skipped"]
"""waiting: a stage it needs is not done. ready: may be picked. running: in a slot. looping: its lanes step.
done, failed, skipped: over."""

LaneState = Literal["paused", "ready", "stepping"]
"""paused: waits for something outside. ready: may be picked from its time on. stepping: in a slot."""

_STAGE_TRANSITIONS: Final = frozenset(
    {
        ("waiting", "ready"),
        ("waiting", "skipped"),
        ("ready", "running"),
        ("running", "looping"),
        ("running", "done"),
        ("running", "failed"),
        ("looping", "done"),
        ("looping", "failed"),
    }
)
_LANE_TRANSITIONS: Final = frozenset(
    {
        ("paused", "ready"),
        ("paused", "paused"),
        ("ready", "ready"),
        ("ready", "paused"),
        ("ready", "stepping"),
        ("stepping", "ready"),
        ("stepping", "paused"),
    }
)


class InvalidTransition(RuntimeError):
    """An event that does not fit the state it met; names the story of the stage or lane so far."""


class InvariantError(RuntimeError):
    """The state of the scheduler contradicts itself. Raised only under ``validate``."""


@dataclass(slots=True)
class _Lane:
    ref: LaneRef
    state: LaneState = "paused"
    want: LaneReady | None = None
    passed_over: int = 0


@dataclass(slots=True)
class _Stage:
    ref: StageRef
    slot: str
    after: set[int]
    state: StageState = "waiting"
    story: list[str] = field(default_factory=lambda: ["waiting"])
    lanes: dict[str, _Lane] = field(default_factory=dict)
    passed_over: int = 0


@dataclass(slots=True)
class _Job:
    job_id: str
    arrival: int
    is_alone: bool
    stages: dict[int, _Stage]
    last_turn: int = -1
    outcome: Outcome | None = None


_Candidate = _Stage | _Lane


class BatchScheduler:
    """Decides what a device does next, for all jobs at once. No clock, no device, no thread.

    Order: what was passed over ``age_limit`` times by live lanes; live lanes, earliest deadline first; then
    the job served longest ago, ties by arrival. Around the chosen lane all ready lanes of an equal batch key
    are taken along, up to ``rows_max`` rows; a job that came with ``is_alone`` shares nothing.

    A failed stage skips what needs it and nothing else: the job goes on with its other branches and ends as
    failed. A cancelled job ends as soon as nothing of it is in a slot.

    Errors: InvalidTransition on an event that does not fit; InvariantError under ``validate``.
    """

    def __init__(self, *, rows_max: int = 8, age_limit: int = 8, validate: bool = False) -> None:
        self._rows_max = rows_max
        self._age_limit = age_limit
        self._validate = validate
        self._jobs: dict[str, _Job] = {}
        self._in_slot: dict[str, tuple[StageRef | LaneRef, ...]] = {}
        self._arrivals = 0
        self._turn = 0

    def handle(self, event: Event) -> list[Command]:
        """Take one event in, give what follows from it, in order."""
        commands = self._dispatch(event)
        if self._validate:
            self._check()
        return commands

    def has_jobs(self) -> bool:
        return bool(self._jobs)

    def is_ending(self, job_id: str) -> bool:
        """Whether the job is cancelled and only waits for what is still in a slot."""
        return job_id in self._jobs and self._jobs[job_id].outcome is not None

    # ---- events -------------------------------------------------------------------------------------------

    def _dispatch(self, event: Event) -> list[Command]:
        match event:
            case JobArrived():
                return self._arrive(event)
            case JobCancelled():
                return self._cancel(event.job_id)
            case StageFinished():
                return self._end_stage(event.stage, "done")
            case StageFailed():
                return self._end_stage(event.stage, "failed")
            case LaneReady():
                return self._want(event.lane, event)
            case LanePaused():
                return self._want(event.lane, None)
            case SlotFree():
                return self._free(event)

    def _arrive(self, event: JobArrived) -> list[Command]:
        if event.job_id in self._jobs:
            raise InvalidTransition(f"job {event.job_id} is here already")
        stages = {
            need.stage: _Stage(StageRef(event.job_id, need.stage), need.slot, set(need.after))
            for need in event.stages
        }
        job = _Job(event.job_id, self._arrivals, event.is_alone, stages)
        self._arrivals += 1
        self._jobs[event.job_id] = job
        for stage in stages.values():
            if not stage.after:
                _move_stage(stage, "ready")
        return self._settle(job)

    def _cancel(self, job_id: str) -> list[Command]:
        job = self._jobs.get(job_id)
        if job is None or job.outcome is not None:
            return []
        job.outcome = "cancelled"
        return self._settle(job)

    def _end_stage(self, ref: StageRef, state: Literal["done", "failed"]) -> list[Command]:
        job = self._jobs.get(ref.job_id)
        if job is None:
            raise InvalidTransition(f"job {ref.job_id} is not here, yet its stage {ref.stage} is {state}")
        if job.outcome is not None:
            return []
        stage = job.stages[ref.stage]
        _move_stage(stage, state)
        stage.lanes.clear()
        if state == "failed":
            return [*self._skip_after(job, {ref.stage}), *self._settle(job)]
        for other in job.stages.values():
            other.after.discard(ref.stage)
            if other.state == "waiting" and not other.after:
                _move_stage(other, "ready")
        return self._settle(job)

    def _skip_after(self, job: _Job, lost: set[int]) -> list[Command]:
        skipped: list[Command] = []
        for stage in job.stages.values():
            if stage.state == "waiting" and stage.after & lost:
                _move_stage(stage, "skipped")
                skipped.append(SkipStage(stage.ref))
                skipped.extend(self._skip_after(job, {stage.ref.stage}))
        return skipped

    def _want(self, ref: LaneRef, want: LaneReady | None) -> list[Command]:
        job = self._jobs.get(ref.job_id)
        if job is None or job.outcome is not None or job.stages[ref.stage].state in ("done", "failed"):
            return []
        stage = job.stages[ref.stage]
        if stage.state != "looping":
            _move_stage(stage, "looping")
        lane = stage.lanes.setdefault(ref.part, _Lane(ref))
        _move_lane(lane, "paused" if want is None else "ready")
        lane.want = want
        return []

    def _free(self, event: SlotFree) -> list[Command]:
        returned = self._in_slot.pop(event.slot, ())
        commands: list[Command] = []
        for job_id in sorted({ref.job_id for ref in returned}):
            if job_id in self._jobs:
                commands.extend(self._settle(self._jobs[job_id]))
        return [*commands, self._pick(event.slot, event.now_s)]

    def _settle(self, job: _Job) -> list[Command]:
        """End the job if nothing is left to do for it and nothing of it is in a slot."""
        if any(ref.job_id == job.job_id for content in self._in_slot.values() for ref in content):
            return []
        if job.outcome is None:
            states = {stage.state for stage in job.stages.values()}
            if states & {"waiting", "ready", "running", "looping"}:
                return []
            job.outcome = "failed" if "failed" in states else "completed"
        del self._jobs[job.job_id]
        return [EndJob(job.job_id, job.outcome)]

    # ---- choice -------------------------------------------------------------------------------------------

    def _pick(self, slot: str, now_s: float) -> Command:
        candidates = [c for c in self._candidates(slot) if _time_of(c) <= now_s]
        if not candidates:
            times = [_time_of(candidate) for candidate in self._candidates(slot)]
            return SleepUntil(slot, min(times, default=None))
        chosen = min(candidates, key=self._rank)
        self._turn += 1
        self._age(candidates, chosen)
        if isinstance(chosen, _Stage):
            return self._run(slot, chosen)
        return self._step(slot, chosen, candidates)

    def _candidates(self, slot: str) -> Iterator[_Candidate]:
        for job in self._jobs.values():
            if job.outcome is not None:
                continue
            for stage in job.stages.values():
                if stage.state == "ready" and stage.slot == slot:
                    yield stage
                for lane in stage.lanes.values():
                    if lane.state == "ready" and lane.want is not None and lane.want.slot == slot:
                        yield lane

    def _rank(self, candidate: _Candidate) -> tuple[int, float, int, int, int]:
        job = self._jobs[candidate.ref.job_id]
        deadline = _deadline_of(candidate)
        group = 1 if deadline is not None else 2
        if candidate.passed_over >= self._age_limit:
            group = 0
        urgency = deadline if deadline is not None and group == 1 else 0.0
        return group, urgency, job.last_turn, job.arrival, candidate.ref.stage

    def _age(self, candidates: Iterable[_Candidate], chosen: _Candidate) -> None:
        if _deadline_of(chosen) is None:
            return
        for candidate in candidates:
            if _deadline_of(candidate) is None:
                candidate.passed_over += 1

    def _run(self, slot: str, stage: _Stage) -> Command:
        self._serve(stage)
        _move_stage(stage, "running")
        self._in_slot[slot] = (stage.ref,)
        return RunStage(slot, stage.ref)

    def _step(self, slot: str, chosen: _Lane, candidates: list[_Candidate]) -> Command:
        lanes = [chosen]
        key = chosen.want.key if chosen.want is not None else None
        if key is not None and not self._jobs[chosen.ref.job_id].is_alone:
            room = max(1, self._rows_max // key.branches) - 1
            mates = (c for c in candidates if isinstance(c, _Lane) and c is not chosen)
            equal = [m for m in mates if m.want is not None and m.want.key == key]
            free = [m for m in equal if not self._jobs[m.ref.job_id].is_alone]
            lanes.extend(sorted(free, key=self._rank)[:room])
        for lane in lanes:
            self._serve(lane)
            _move_lane(lane, "stepping")
        self._in_slot[slot] = tuple(lane.ref for lane in lanes)
        return StepLanes(slot, tuple(lane.ref for lane in lanes))

    def _serve(self, candidate: _Candidate) -> None:
        candidate.passed_over = 0
        self._jobs[candidate.ref.job_id].last_turn = self._turn

    # ---- invariants ---------------------------------------------------------------------------------------

    def _check(self) -> None:
        held = [ref for content in self._in_slot.values() for ref in content]
        if len(set(held)) != len(held):
            raise InvariantError(f"something is in two slots: {held}")
        for job in self._jobs.values():
            for stage in job.stages.values():
                self._check_stage(job, stage, held)
            is_over = all(s.state in ("done", "failed", "skipped") for s in job.stages.values())
            is_held = any(ref.job_id == job.job_id for ref in held)
            self._expect(is_held or not is_over, f"{job.job_id} is over and still here")
        for ref in held:
            self._expect(ref.job_id in self._jobs, f"{ref} is in a slot and its job has ended")

    def _check_stage(self, job: _Job, stage: _Stage, held: list[StageRef | LaneRef]) -> None:
        self._expect(
            (stage.state == "waiting") == bool(stage.after) or stage.state == "skipped",
            f"{stage.ref} is {stage.state} and still needs {sorted(stage.after)}",
        )
        self._expect(
            not stage.lanes or stage.state == "looping", f"{stage.ref} is {stage.state} and has lanes"
        )
        for lane in stage.lanes.values():
            is_held = lane.ref in held
            fits = is_held or lane.state != "stepping"
            self._expect(fits or job.outcome is not None, f"{lane.ref} is stepping and in no slot")
            self._expect(lane.state != "ready" or lane.want is not None, f"{lane.ref} is ready for nothing")

    def _expect(self, claim: bool, otherwise: str) -> None:
        if not claim:
            raise InvariantError(otherwise)


def _time_of(candidate: _Candidate) -> float:
    if isinstance(candidate, _Lane) and candidate.want is not None:
        return candidate.want.not_before_s
    return 0.0


def _deadline_of(candidate: _Candidate) -> float | None:
    return candidate.want.deadline_s if isinstance(candidate, _Lane) and candidate.want is not None else None


def _move_stage(stage: _Stage, to: StageState) -> None:
    if (stage.state, to) not in _STAGE_TRANSITIONS:
        story = " -> ".join(stage.story)
        raise InvalidTransition(f"{stage.ref} cannot become {to}; its story: {story}")
    stage.state = to
    stage.story.append(to)


def _move_lane(lane: _Lane, to: LaneState) -> None:
    if (lane.state, to) not in _LANE_TRANSITIONS:
        raise InvalidTransition(f"{lane.ref} cannot go from {lane.state} to {to}")
    lane.state = to
