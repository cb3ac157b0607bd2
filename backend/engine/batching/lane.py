"""Names of what the BatchScheduler schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple


class StageRef(NamedTuple):
    """One stage of one job."""

    job_id: str
    stage: int


class LaneRef(NamedTuple):
    """One stream of steps of a loop stage. A rollout has two: it predicts, and it decodes the prediction."""

    job_id: str
    stage: int
    part: str

    @property
    def owner(self) -> StageRef:
        return StageRef(self.job_id, self.stage)


COMPUTE: Final = "compute"
"""The slot of all that runs on the device, one thing at a time. Other slots run beside it."""


@dataclass(frozen=True, slots=True)
class StageNeed:
    """A stage, the stages of the same job that must be done before it, and the slot it runs in."""

    stage: int
    after: tuple[int, ...] = ()
    slot: str = COMPUTE


@dataclass(frozen=True, slots=True)
class BatchKey:
    """Lanes whose keys are equal may share one forward: all that a forward cannot take per row.

    Timestep, prompt, adapters, seed and masks are per row, so they are not here.
    """

    model: str
    """Checkpoint, content id and precision."""
    component: str
    latent_shape: tuple[int, ...]
    dtype: str
    branches: int
    """Rows each lane brings."""
    history: tuple[int, ...] = ()
    """Clock, sink and window of the cache its attention reads; empty without one."""
    is_commit: bool = False
