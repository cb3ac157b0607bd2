"""What the BatchScheduler is told. Every event names the job it is about."""

from __future__ import annotations

from dataclasses import dataclass

from rushes.backend.engine.batching.lane import BatchKey, LaneRef, StageNeed, StageRef


@dataclass(frozen=True, slots=True)
class JobArrived:
    """Stages whose results are known already are left out. ``is_alone``: its lanes share no forward."""

    job_id: str
    stages: tuple[StageNeed, ...]
    is_alone: bool = False


@dataclass(frozen=True, slots=True)
class JobCancelled:
    job_id: str


@dataclass(frozen=True, slots=True)
class StageFinished:
    """A plain stage ran, or the loop of this stage came to its end."""

    stage: StageRef


@dataclass(frozen=True, slots=True)
class StageFailed:
    stage: StageRef


@dataclass(frozen=True, slots=True)
class LaneReady:
    """The lane wants a step. Said again before it ran, it replaces what was said.

    ``key`` None: it never shares one. ``not_before_s``: it wants the step then, not now. ``deadline_s``: when
    a viewer would notice; a lane with a deadline is live.
    """

    lane: LaneRef
    slot: str
    key: BatchKey | None = None
    not_before_s: float = 0.0
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class LanePaused:
    """The lane waits for something outside the device: an ack, another lane of its loop."""

    lane: LaneRef


@dataclass(frozen=True, slots=True)
class SlotFree:
    """What ran in ``slot`` is back and reported; it can take work. The only event that starts anything."""

    slot: str
    now_s: float


Event = JobArrived | JobCancelled | StageFinished | StageFailed | LaneReady | LanePaused | SlotFree
