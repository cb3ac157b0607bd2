"""One connection: what it has been told, what it wants, what waits to be sent."""

from __future__ import annotations

import asyncio
from enum import Enum, auto

from ..jobs.event_log import EVERY_JOB, LoggedEvent
from ..wire.v1.model import WireModel
from .outbox import Letter, Outbox, OutboxFull


class ConnectionState(Enum):
    """A connection greets, then talks, until it is closed."""

    GREETING = auto()  # its hello has not come
    OPEN = auto()
    CLOSED = auto()  # takes nothing any more


class Connection:
    """Guarantees: an event is sent once, and the events of a job in their order."""

    def __init__(self, number: int, outbox: Outbox) -> None:
        self.number = number
        self.outbox = outbox
        self.state = ConnectionState.GREETING
        self.fell_behind = asyncio.Event()
        self.cursor = 0
        self._acks: dict[str, bool] = {}  # subscribed job or EVERY_JOB -> sends chunk.ack
        self._told: dict[str | None, int] = {}  # job -> seq of its last event sent; None is the worker

    def open(self, cursor: int) -> None:
        """The hello came; `cursor` is the last event the client has."""
        self.cursor = cursor
        self.state = ConnectionState.OPEN

    def subscribe(self, job_id: str, *, acks: bool) -> None:
        self._acks[job_id] = acks

    def unsubscribe(self, job_id: str) -> None:
        self._acks.pop(job_id, None)

    def wants(self, event: LoggedEvent) -> bool:
        if self.state is not ConnectionState.OPEN or event.seq <= self._told.get(event.job_id, 0):
            return False
        return any(event.concerns(job_id) for job_id in self._acks) or (
            event.job_id is None and bool(self._acks)
        )

    def sends_acks(self, job_id: str) -> bool:
        return self._acks.get(job_id, False) or self._acks.get(EVERY_JOB, False)

    def tell(self, event: LoggedEvent, data: str | bytes) -> None:
        """Queue an event it wants. A connection too far behind is closed instead."""
        self._told[event.job_id] = event.seq
        self._put(Letter(data, event))

    def answer(self, message: WireModel) -> None:
        self._put(Letter(message.model_dump_json()))

    def _put(self, letter: Letter) -> None:
        try:
            self.outbox.put(letter)
        except OutboxFull:
            self.fell_behind.set()
            self.state = ConnectionState.CLOSED
