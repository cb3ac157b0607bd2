"""The server's one stream of events: numbered, kept for a while, told to whoever listens."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

SEQS_PER_START = 10**11
"""Numbers of one start of the server; 90 000 starts stay exact in a JavaScript number."""
EVERY_JOB = "*"

_TERMINAL = frozenset({"job.completed", "job.failed", "job.cancelled"})


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One event. `header` has its `type`; `payload` is empty but for previews and chunks."""

    seq: int
    header: Mapping[str, Any]
    payload: bytes = b""

    @property
    def type(self) -> str:
        return str(self.header["type"])

    @property
    def job_id(self) -> str | None:
        """None for events about the worker, which concern everybody."""
        return self.header.get("job_id")

    @property
    def size_bytes(self) -> int:
        return len(self.payload) + 512

    def concerns(self, job_id: str) -> bool:
        return job_id == EVERY_JOB or self.job_id is None or self.job_id == job_id


class EventLog:
    """Keeps the newest events within two bounds, and of previews only the last per node of a job not over.

    `start` counts the starts of the server, so that no number is used twice.
    """

    def __init__(self, start: int = 0, *, events_max: int = 20_000, bytes_max: int = 64 << 20) -> None:
        self._seq = start * SEQS_PER_START
        self._kept_after = self._seq  # every event with a higher seq is still here
        self._events: deque[LoggedEvent] = deque()
        self._bytes = 0
        self._events_max = events_max
        self._bytes_max = bytes_max
        self._previews: dict[tuple[str, str], LoggedEvent] = {}
        self._listeners: list[Callable[[LoggedEvent], None]] = []

    @property
    def seq(self) -> int:
        """Number of the newest event."""
        return self._seq

    def append(self, header: Mapping[str, Any], payload: bytes = b"") -> LoggedEvent:
        """Number an event, keep it, tell the listeners in the order they came."""
        self._seq += 1
        event = LoggedEvent(self._seq, header, payload)
        if event.type == "preview.frame":
            self._previews[header["job_id"], header["node_id"]] = event
        else:
            self._keep(event)
        if event.type in _TERMINAL:
            self._previews = {key: kept for key, kept in self._previews.items() if key[0] != event.job_id}
        for listener in tuple(self._listeners):
            listener(event)
        return event

    def since(self, seq: int, job_id: str) -> list[LoggedEvent]:
        """Kept events after `seq` that concern a job or `EVERY_JOB`, and the last previews; in order."""
        events = [event for event in self._events if event.seq > seq and event.concerns(job_id)]
        previews = [event for event in self._previews.values() if event.concerns(job_id)]
        return sorted([*events, *previews], key=lambda event: event.seq)

    def has_gap(self, seq: int) -> bool:
        """True when not every event after `seq` is here: too long ago, or a number of another start."""
        return not self._kept_after <= seq <= self._seq

    def listen(self, listener: Callable[[LoggedEvent], None]) -> Callable[[], None]:
        """Call `listener` with each event from now on; the answer ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _keep(self, event: LoggedEvent) -> None:
        self._events.append(event)
        self._bytes += event.size_bytes
        while len(self._events) > self._events_max or self._bytes > self._bytes_max:
            dropped = self._events.popleft()
            self._bytes -= dropped.size_bytes
            self._kept_after = dropped.seq
