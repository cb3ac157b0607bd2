"""Who runs next: a state machine without clocks, threads or sockets. Events in, commands out.

A job waits (in `_waiting`, in order of service) or runs (in `_running`); once ended it is forgotten.
A job whose worker died under it waits again, at the front, and then runs alone, so that one that kills the
worker takes no other with it; after `attempts_max` starts it fails. An endless job is not started again:
whoever steered it is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .record import JobFailure, JobState

# ---- events --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job is to run. `attempt` is how often it was started before."""

    job_id: str
    is_endless: bool = False
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class CancelRequested:
    job_id: str


@dataclass(frozen=True, slots=True)
class WorkerCame:
    """The worker takes jobs."""


@dataclass(frozen=True, slots=True)
class WorkerWent:
    """The worker died; what ran in it is lost."""


@dataclass(frozen=True, slots=True)
class StartRefused:
    """The worker was not ready after all. The start does not count."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The worker said the last word on a job, or it could not be handed over."""

    job_id: str
    state: JobState
    failure: JobFailure | None = None


@dataclass(frozen=True, slots=True)
class Drained:
    """Start nothing any more; what runs may end."""


QueueEvent = Submitted | CancelRequested | WorkerCame | WorkerWent | StartRefused | Ended | Drained

# ---- commands --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """Hand the job to the worker. `attempt` is 1 the first time."""

    job_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class StopInWorker:
    """Ask the worker to cancel; its terminal event follows."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Requeue:
    """The job waits again; what it made so far is void. `attempt` is how often it was started."""

    job_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The job is over. Given once per job."""

    job_id: str
    state: JobState
    failure: JobFailure | None


@dataclass(frozen=True, slots=True)
class Moved:
    """The job's place in the queue is new. 0 is next."""

    job_id: str
    position: int


QueueCommand = Start | StopInWorker | Requeue | Finish | Moved


@dataclass(frozen=True, slots=True)
class _Entry:
    job_id: str
    is_endless: bool
    attempt: int


class JobQueue:
    """First come, first served, at most `running_max` at once; see the module for what a death does."""

    def __init__(self, *, running_max: int = 4, attempts_max: int = 2) -> None:
        self._running_max = running_max
        self._attempts_max = attempts_max
        self._waiting: list[_Entry] = []
        self._running: dict[str, _Entry] = {}
        self._cancelling: set[str] = set()
        self._announced: dict[str, int] = {}
        self._has_worker = False
        self._is_drained = False

    @property
    def waiting(self) -> tuple[str, ...]:
        return tuple(entry.job_id for entry in self._waiting)

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(self._running)

    def position(self, job_id: str) -> int | None:
        """Place in the queue; None when it does not wait."""
        return next((index for index, entry in enumerate(self._waiting) if entry.job_id == job_id), None)

    def handle(self, event: QueueEvent) -> list[QueueCommand]:
        """What to do now, in order. An event about a job that is not here changes nothing."""
        commands: list[QueueCommand] = []
        match event:
            case Submitted():
                self._waiting.append(_Entry(event.job_id, event.is_endless, event.attempt))
            case CancelRequested():
                commands += self._cancel(event.job_id)
            case WorkerCame():
                self._has_worker = True
            case WorkerWent():
                self._has_worker = False
                commands += self._lose(list(self._running.values()))
            case StartRefused():
                self._has_worker = False
                commands += self._put_back(event.job_id)
            case Drained():
                self._is_drained = True
            case Ended():
                commands += self._end(event)
        return [*commands, *self._start_next(), *self._moves()]

    def _cancel(self, job_id: str) -> list[QueueCommand]:
        if self._remove_waiting(job_id):
            return [Finish(job_id, "cancelled", None)]
        if job_id in self._running and job_id not in self._cancelling:
            self._cancelling.add(job_id)
            return [StopInWorker(job_id)]
        return []

    def _end(self, event: Ended) -> list[QueueCommand]:
        known = self._running.pop(event.job_id, None) is not None or self._remove_waiting(event.job_id)
        self._cancelling.discard(event.job_id)
        return [Finish(event.job_id, event.state, event.failure)] if known else []

    def _lose(self, entries: Sequence[_Entry]) -> list[QueueCommand]:
        commands: list[QueueCommand] = []
        again: list[_Entry] = []
        for entry in entries:
            if entry.job_id in self._cancelling:
                commands.append(Finish(entry.job_id, "cancelled", None))
            elif entry.is_endless or entry.attempt >= self._attempts_max:
                commands.append(Finish(entry.job_id, "failed", self._death(entry)))
            else:
                again.append(entry)
                commands.append(Requeue(entry.job_id, entry.attempt))
        self._running.clear()
        self._cancelling.clear()
        self._waiting[:0] = again
        return commands

    def _death(self, entry: _Entry) -> JobFailure:
        reason = "a live job is not started again" if entry.is_endless else f"it was start {entry.attempt}"
        return JobFailure("E_WORKER_DIED", f"the worker process ended while the job ran; {reason}")

    def _put_back(self, job_id: str) -> list[QueueCommand]:
        entry = self._running.pop(job_id, None)
        if entry is None:
            return []
        if job_id in self._cancelling:
            self._cancelling.discard(job_id)
            return [Finish(job_id, "cancelled", None)]
        before = _Entry(job_id, entry.is_endless, entry.attempt - 1)
        self._waiting.insert(0, before)
        return [Requeue(job_id, before.attempt)]

    def _start_next(self) -> list[QueueCommand]:
        commands: list[QueueCommand] = []
        while self._waiting and self._can_start(self._waiting[0]):
            waiting = self._waiting.pop(0)
            entry = _Entry(waiting.job_id, waiting.is_endless, waiting.attempt + 1)
            self._running[entry.job_id] = entry
            commands.append(Start(entry.job_id, entry.attempt))
        return commands

    def _can_start(self, entry: _Entry) -> bool:
        if not self._has_worker or self._is_drained or len(self._running) >= self._running_max:
            return False
        runs_alone = entry.attempt > 0 or any(other.attempt > 1 for other in self._running.values())
        return not (runs_alone and self._running)

    def _moves(self) -> list[QueueCommand]:
        places = {entry.job_id: index for index, entry in enumerate(self._waiting)}
        moved: list[QueueCommand] = [
            Moved(job_id, place) for job_id, place in places.items() if self._announced.get(job_id) != place
        ]
        self._announced = places
        return moved

    def _remove_waiting(self, job_id: str) -> bool:
        kept = [entry for entry in self._waiting if entry.job_id != job_id]
        is_removed = len(kept) < len(self._waiting)
        self._waiting = kept
        return is_removed
