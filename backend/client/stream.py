"""The events of a server, over one WebSocket that is opened again when it breaks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import aiohttp
from pydantic import TypeAdapter

from ..wire.v1.binary import split_frames, unpack_binary
from ..wire.v1.commands import ChunkAck, ClientHello, JobCancel, JobControl, Subscribe
from ..wire.v1.events import ChunkFrames, ErrorMessage, Hello, PreviewFrame, ServerEvent, ServerMessage
from ..wire.v1.model import WireModel
from .refusal import ClientError

_MESSAGE: TypeAdapter[ServerMessage] = TypeAdapter(ServerMessage)
_RETRY_S = (0.1, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Received:
    """One message of the server. A `Hello` in the middle says that the connection was opened again."""

    message: Hello | ErrorMessage | ServerEvent
    payload: bytes = b""

    @property
    def frames(self) -> tuple[bytes, ...]:
        """Pictures of a preview or chunk, encoded as its header says."""
        if isinstance(self.message, PreviewFrame | ChunkFrames):
            return split_frames(self.payload, self.message.frame_bytes)
        return ()


class EventStream:
    """Iterate it for `Received`. After a break it continues where it stopped, with the same subscriptions.

    Errors: ClientError when the server cannot be reached, also while iterating.
    """

    def __init__(self, session: aiohttp.ClientSession, url: str, since: int | None = None) -> None:
        self._session = session
        self._url = url
        self._since = since
        self._subscriptions: dict[str, bool] = {}
        self._ws: aiohttp.ClientWebSocketResponse | None = None
        self._hello: Hello | None = None

    async def __aenter__(self) -> EventStream:
        self._hello = await self._connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def hello(self) -> Hello:
        """What the server said first: its position and the jobs that are not over."""
        if self._hello is None:
            raise RuntimeError("expected an open stream: use it as `async with`")
        return self._hello

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Received:
        message = await self._connection().receive()
        if message.type is aiohttp.WSMsgType.TEXT:
            return self._note(Received(_MESSAGE.validate_json(message.data)))
        if message.type is aiohttp.WSMsgType.BINARY:
            return self._note(Received(*unpack_binary(message.data)))
        self._hello = await self._reconnect()
        return Received(self._hello)

    async def subscribe(self, job_id: str, *, acks: bool = False) -> None:
        """Events of a job, or of all with `*`. With `acks` the rollout waits for `ack`."""
        self._subscriptions[job_id] = acks
        await self._send(Subscribe(job_id=job_id, acks=acks))

    async def control(  # noqa: PLR0913 - the fields of the message
        self,
        job_id: str,
        node_id: str,
        *,
        seq: int,
        wanted_chunk: int | None = None,
        keys: Sequence[str] | None = None,
        prompt: str | None = None,
        stop: bool = False,
    ) -> None:
        """Steer a rollout. What the server refuses comes back as an ErrorMessage."""
        await self._send(
            JobControl(
                job_id=job_id,
                node_id=node_id,
                seq=seq,
                wanted_chunk=wanted_chunk,
                keys=None if keys is None else tuple(keys),
                prompt=prompt,
                stop=stop,
            )
        )

    async def ack(self, chunk: ChunkFrames) -> None:
        """This chunk, and all before it, was used."""
        await self._send(ChunkAck(job_id=chunk.job_id, node_id=chunk.node_id, chunk_index=chunk.chunk_index))

    async def cancel(self, job_id: str) -> None:
        await self._send(JobCancel(job_id=job_id))

    async def close(self) -> None:
        if self._ws is not None:
            await self._ws.close()

    def _note(self, received: Received) -> Received:
        message = received.message
        if not isinstance(message, Hello | ErrorMessage):
            self._since = message.seq
        return received

    def _connection(self) -> aiohttp.ClientWebSocketResponse:
        if self._ws is None:
            raise RuntimeError("expected an open stream: use it as `async with`")
        return self._ws

    async def _send(self, message: WireModel) -> None:
        try:
            await self._connection().send_str(message.model_dump_json())
        except ConnectionError as error:
            raise ClientError("E_CONNECTION", f"the events of {self._url} broke off") from error

    async def _connect(self) -> Hello:
        try:
            ws = await self._session.ws_connect(self._url, max_msg_size=0, heartbeat=30.0)
        except aiohttp.WSServerHandshakeError as error:
            raise ClientError("E_CONNECTION", f"{self._url}: {error.message}", status=error.status) from error
        except (aiohttp.ClientError, OSError) as error:
            raise ClientError("E_CONNECTION", f"{self._url} cannot be reached: {error}") from error
        self._ws = ws
        await self._send(ClientHello(since=self._since))
        hello = await self._receive_hello(ws)
        if self._since is None:
            self._since = hello.seq
        for job_id, acks in self._subscriptions.items():
            await self._send(Subscribe(job_id=job_id, acks=acks))
        return hello

    async def _receive_hello(self, ws: aiohttp.ClientWebSocketResponse) -> Hello:
        message = await ws.receive()
        if message.type is aiohttp.WSMsgType.TEXT:
            hello = _MESSAGE.validate_json(message.data)
            if isinstance(hello, Hello):
                return hello
        raise ClientError("E_CONNECTION", f"expected hello of {self._url}, got {message.type.name}")

    async def _reconnect(self) -> Hello:
        failure: ClientError | None = None
        for wait_s in _RETRY_S:
            await asyncio.sleep(wait_s)
            try:
                return await self._connect()
            except ClientError as error:
                failure = error
        raise failure or ClientError("E_CONNECTION", f"{self._url} cannot be reached")
