"""All connections: who gets which event, and when a rollout may go on."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Iterable

from ..jobs.dispatcher import Dispatcher
from ..jobs.event_log import EventLog, LoggedEvent
from ..wire.v1.events import TERMINAL_EVENTS
from .chunk_ledger import Ack, ChunkLedger
from .connection import Connection
from .encode import encode_event
from .outbox import Letter, Outbox

LOG = logging.getLogger(__name__)


class Hub:
    """Listens to the event log. Lives as long as the server."""

    def __init__(self, log: EventLog, dispatcher: Dispatcher) -> None:
        self.log = log
        self._dispatcher = dispatcher
        self._connections: dict[int, Connection] = {}
        self._numbers = itertools.count(1)
        self._ledger = ChunkLedger()
        self._acks: asyncio.Queue[Ack] = asyncio.Queue()
        self._acker: asyncio.Task[None] | None = None
        self._stop_listening: Callable[[], None] | None = None

    def start(self) -> None:
        self._stop_listening = self.log.listen(self._take)
        self._acker = asyncio.create_task(self._send_acks(), name="chunk acks")

    async def stop(self) -> None:
        if self._stop_listening is not None:
            self._stop_listening()
        if self._acker is not None:
            self._acker.cancel()
            await asyncio.gather(self._acker, return_exceptions=True)

    def join(self) -> Connection:
        connection = Connection(next(self._numbers), Outbox())
        self._connections[connection.number] = connection
        return connection

    def leave(self, connection: Connection) -> None:
        self._connections.pop(connection.number, None)
        self._owe(self._ledger.left(connection.number))

    def subscribe(self, connection: Connection, job_id: str, *, acks: bool) -> None:
        """From now on its events, after those since the connection's cursor."""
        connection.subscribe(job_id, acks=acks)
        for event in self.log.since(connection.cursor, job_id):
            if connection.wants(event):
                self._tell([connection], event)

    def unsubscribe(self, connection: Connection, job_id: str) -> None:
        connection.unsubscribe(job_id)
        self._owe(self._ledger.left(connection.number, None if job_id == "*" else job_id))

    def was_sent(self, connection: Connection, letter: Letter) -> None:
        """The bytes are on their way. Without acks of its own the connection has read them."""
        event = letter.event
        if event is not None and _ends_chunk(event) and not connection.sends_acks(str(event.job_id)):
            self.was_read(connection, str(event.job_id), event.header["node_id"], event.header["chunk_index"])

    def was_read(self, connection: Connection, job_id: str, node_id: str, chunk_index: int) -> None:
        """The client has this chunk and all before it."""
        self._owe(self._ledger.read(connection.number, job_id, node_id, chunk_index))

    def _take(self, event: LoggedEvent) -> None:
        listeners = [each for each in self._connections.values() if each.wants(event)]
        if listeners:
            self._tell(listeners, event)
        if _ends_chunk(event):
            readers = [each.number for each in listeners if not each.fell_behind.is_set()]
            header = event.header
            self._owe(self._ledger.sent(str(event.job_id), header["node_id"], header["chunk_index"], readers))
        elif event.type in TERMINAL_EVENTS:
            self._ledger.ended(str(event.job_id))

    def _tell(self, listeners: Iterable[Connection], event: LoggedEvent) -> None:
        try:
            data = encode_event(event)
        except ValueError:  # a fault of ours, which must not stop the job that spoke
            LOG.exception("%s is not an event of the protocol and was not sent", event.type)
            return
        for connection in listeners:
            connection.tell(event, data)

    def _owe(self, acks: Iterable[Ack]) -> None:
        for ack in acks:
            self._acks.put_nowait(ack)

    async def _send_acks(self) -> None:
        while True:
            ack = await self._acks.get()
            try:
                await self._dispatcher.ack(ack.job_id, ack.node_id, ack.chunk_index)
            except RuntimeError as error:  # the worker went; its job is queued again or over
                LOG.debug("ack of %s not delivered: %s", ack.job_id, error)


def _ends_chunk(event: LoggedEvent) -> bool:
    header = event.header
    return event.type == "chunk.frames" and header["part_index"] == header["part_count"] - 1
