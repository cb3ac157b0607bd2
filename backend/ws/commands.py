"""What a client says, carried out; what is wrong with it, said back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pydantic import TypeAdapter, ValidationError

from ..jobs.dispatcher import Dispatcher
from ..jobs.record import JobNotFound, JobStateError
from ..jobs.requests import Control
from ..jobs.rollouts import ControlRefused
from ..wire.v1 import commands as wire
from ..wire.v1.events import ErrorMessage, Hello
from ..wire.v1.records import JobSnapshot
from .connection import Connection, ConnectionState
from .hub import Hub

_MESSAGE: TypeAdapter[wire.ClientMessage] = TypeAdapter(wire.ClientMessage)
Snapshots = Callable[[], Awaitable[tuple[JobSnapshot, ...]]]


class CommandReader:
    """Carries out the messages of one connection, one after another."""

    def __init__(
        self, connection: Connection, hub: Hub, dispatcher: Dispatcher, snapshots: Snapshots
    ) -> None:
        self._connection = connection
        self._hub = hub
        self._dispatcher = dispatcher
        self._snapshots = snapshots

    async def take(self, text: str) -> None:
        """One text message. What is refused is answered with an error; nothing is raised."""
        try:
            message = _MESSAGE.validate_json(text)
        except ValidationError as error:
            self._connection.answer(_invalid(error))
            return
        is_greeting = self._connection.state is ConnectionState.GREETING
        if isinstance(message, wire.ClientHello) != is_greeting:
            self._refuse(message, "E_HELLO_FIRST", "hello must be the first message, and only the first")
            return
        try:
            await self._carry_out(message)
        except JobNotFound as error:
            self._refuse(message, "E_NOT_FOUND", str(error), field="job_id")
        except JobStateError as error:
            self._refuse(message, "E_JOB_STATE", str(error), field="job_id")
        except ControlRefused as error:
            self._refuse(message, "E_CONTROL", str(error), field=error.field)
        except RuntimeError as error:  # the worker went in between
            self._refuse(message, "E_JOB_STATE", str(error))

    async def _carry_out(self, message: wire.ClientMessage) -> None:
        match message:
            case wire.ClientHello():
                await self._greet(message)
            case wire.Subscribe():
                self._hub.subscribe(self._connection, message.job_id, acks=message.acks)
            case wire.Unsubscribe():
                self._hub.unsubscribe(self._connection, message.job_id)
            case wire.ChunkAck():
                self._hub.was_read(self._connection, message.job_id, message.node_id, message.chunk_index)
            case wire.JobCancel():
                await self._dispatcher.cancel(message.job_id)
            case wire.JobControl():
                await self._dispatcher.control(Control(**message.model_dump(exclude={"type"})))

    async def _greet(self, message: wire.ClientHello) -> None:
        seq = self._hub.log.seq  # before the snapshots: what happens meanwhile is told again
        snapshots = await self._snapshots()
        since = seq if message.since is None else message.since
        self._connection.answer(Hello(seq=seq, has_gap=self._hub.log.has_gap(since), jobs=snapshots))
        self._connection.open(since)

    def _refuse(self, message: wire.ClientMessage, code: str, text: str, field: str | None = None) -> None:
        job_id = None if isinstance(message, wire.ClientHello) else message.job_id
        self._connection.answer(
            ErrorMessage(code=code, message=text, field=field, request=message.type, job_id=job_id)
        )


def _invalid(error: ValidationError) -> ErrorMessage:
    first = error.errors(include_url=False, include_input=False)[0]
    tag, *path = [str(part) for part in first["loc"]] or [""]
    field = ".".join(path) or None
    where = f"{field}: " if field else ""
    return ErrorMessage(code="E_INVALID", message=f"{where}{first['msg']}", field=field, request=tag or None)
