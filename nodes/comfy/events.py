"""The events of one job over the server's WebSocket, opened again when it breaks."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from . import labels
from .failure import RushesError
from .server import Server

RETRY_S: Sequence[float] = (0.2, 0.5, 1.0, 2.0, 3.0)
"""Waits before a connection that broke is tried again; after the last the server counts as gone."""
HEARTBEAT_S = 20.0
HELLO_S = 20.0
_LENGTH = struct.Struct(">I")

RESUMED = "resumed"
"""Type of the event that says the connection was opened again: something may have been missed."""


@dataclass(frozen=True, slots=True)
class Event:
    header: Mapping[str, Any]
    payload: bytes = b""

    @property
    def type(self) -> str:
        return str(self.header["type"])

    @property
    def pictures(self) -> tuple[bytes, ...]:
        """The encoded pictures of a preview or chunk."""
        pictures, start = [], 0
        for size in self.header["frame_bytes"]:
            pictures.append(self.payload[start : start + size])
            start += size
        return tuple(pictures)


class EventStream:
    """Made before the job is submitted, so that none of its events is missed; then `follow`."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._seq: int | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None

    async def open(self) -> None:
        """Errors: RushesError."""
        url = self._server.base + "/events"
        try:
            socket = await self._server.session.ws_connect(url, max_msg_size=0, heartbeat=HEARTBEAT_S)
            await socket.send_str(json.dumps({"type": "hello", "since": self._seq}))
            hello = json.loads(await socket.receive_str(timeout=HELLO_S))
        except aiohttp.WSServerHandshakeError as error:
            raise self._server.refusal(error.status, b"") from error
        except (TimeoutError, aiohttp.ClientError, OSError, TypeError, ValueError) as error:
            raise self._server.unreachable() from error
        if self._seq is None or hello["has_gap"]:
            self._seq = hello["seq"]
        self._socket = socket

    async def follow(self, job_id: str) -> AsyncIterator[Event]:
        """Errors: RushesError when the server is gone and does not come back."""
        await self._subscribe(job_id)
        while True:
            event = await self._next()
            if event is not None:
                yield event
                continue
            await self._reopen()
            await self._subscribe(job_id)
            yield Event({"type": RESUMED})

    async def close(self) -> None:
        if self._socket is not None:
            await self._socket.close()

    async def _next(self) -> Event | None:
        """None when the connection broke."""
        assert self._socket is not None
        message = await self._socket.receive()
        if message.type is aiohttp.WSMsgType.TEXT:
            event = Event(json.loads(message.data))
        elif message.type is aiohttp.WSMsgType.BINARY:
            event = _unpacked(message.data)
        else:
            return None
        self._seq = event.header.get("seq", self._seq)
        return event

    async def _subscribe(self, job_id: str) -> None:
        assert self._socket is not None
        try:
            await self._socket.send_str(json.dumps({"type": "subscribe", "job_id": job_id}))
        except ConnectionError:
            return  # the next receive tells

    async def _reopen(self) -> None:
        for wait_s in RETRY_S:
            await asyncio.sleep(wait_s)
            try:
                return await self.open()
            except RushesError:
                continue
        raise RushesError(labels.lost(self._server.settings.url))


def _unpacked(message: bytes) -> Event:
    """u32 big-endian header length, header as JSON, payload."""
    (length,) = _LENGTH.unpack_from(message)
    end = _LENGTH.size + length
    return Event(json.loads(message[_LENGTH.size : end]), message[end:])
