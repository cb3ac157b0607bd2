"""What the BatchScheduler asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rushes.backend.engine.batching.lane import LaneRef, StageRef

Outcome = Literal["completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class RunStage:
    """Run a plain stage, or open the loop of a loop stage (its lanes then report LaneReady)."""

    slot: str
    stage: StageRef


@dataclass(frozen=True, slots=True)
class StepLanes:
    """One step of each of these lanes, in one forward where there is more than one."""

    slot: str
    lanes: tuple[LaneRef, ...]


@dataclass(frozen=True, slots=True)
class SleepUntil:
    """No work for ``slot`` now. None: until another event."""

    slot: str
    time_s: float | None


@dataclass(frozen=True, slots=True)
class SkipStage:
    """A stage it needs failed, so this one cannot run."""

    stage: StageRef


@dataclass(frozen=True, slots=True)
class EndJob:
    """Free all of the job and report this outcome. Exactly one per job, and nothing of the job after it."""

    job_id: str
    outcome: Outcome


Command = RunStage | StepLanes | SleepUntil | SkipStage | EndJob
