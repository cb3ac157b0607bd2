"""One step of several lanes in one forward. What a lane raises is that lane's alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from torch import Tensor

from rushes.backend.engine.loops.forward import Forward, Forwarder
from rushes.backend.engine.stages.stage import LoopRun

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class LaneStep:
    loop: LoopRun
    part: str


@dataclass(frozen=True, slots=True)
class Raised:
    """What came instead of a result."""

    error: Exception


def step_alone(step: LaneStep) -> Raised | None:
    """A step without a forward; None when it went well."""
    return attempt(lambda: step.loop.run_alone(step.part))


def step_together(steps: Sequence[LaneStep], forwarder: Forwarder, now_s: float) -> list[Raised | None]:
    """Prepare each, one forward for all that could, advance each. Entries are None where all went well.

    When the shared forward raises, each lane's forward runs alone, so that only the one to blame is lost.
    """
    outcomes: list[Forward | Tensor | Raised] = [
        attempt(partial(step.loop.prepare, step.part, now_s)) for step in steps
    ]
    rows = [row for row, prepared in enumerate(outcomes) if isinstance(prepared, Forward)]
    forwards = [prepared for prepared in outcomes if isinstance(prepared, Forward)]
    for row, velocity in zip(rows, _velocities(forwards, forwarder), strict=True):
        outcomes[row] = velocity
    return [_advanced(step, outcome) for step, outcome in zip(steps, outcomes, strict=True)]


def _velocities(forwards: Sequence[Forward], forwarder: Forwarder) -> Sequence[Tensor | Raised]:
    if not forwards:
        return []
    shared = attempt(lambda: forwarder.run(forwards))
    if not isinstance(shared, Raised):
        return shared
    if len(forwards) == 1:
        return [shared]
    alone = [attempt(partial(forwarder.run, [forward])) for forward in forwards]
    return [velocity if isinstance(velocity, Raised) else velocity[0] for velocity in alone]


def _advanced(step: LaneStep, outcome: Forward | Tensor | Raised) -> Raised | None:
    if isinstance(outcome, Tensor):
        return attempt(lambda: step.loop.advance(step.part, outcome))
    assert isinstance(outcome, Raised)
    return outcome


def attempt(work: Callable[[], Result]) -> Result | Raised:
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - here a stage of a job ends, whatever it raised
        return Raised(error)
