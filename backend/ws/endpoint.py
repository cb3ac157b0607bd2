"""`GET /api/v1/events` becomes a WebSocket: one reader, one sender, no compression."""

from __future__ import annotations

import asyncio
import logging

from aiohttp import WSCloseCode, WSMsgType, web

from ..jobs.dispatcher import Dispatcher
from ..present import API
from ..wire.v1.events import ErrorMessage
from .commands import CommandReader, Snapshots
from .connection import Connection, ConnectionState
from .hub import Hub

LOG = logging.getLogger(__name__)

MESSAGE_BYTES_MAX = 64 << 10
HEARTBEAT_S = 30.0
_HELLO_S = 20.0
_CLOSE_S = 2.0


def mount_events(app: web.Application, hub: Hub, dispatcher: Dispatcher, snapshots: Snapshots) -> None:
    """Add the WebSocket; when the server ends, every client is told so."""
    open_ones: set[web.WebSocketResponse] = set()

    async def events(request: web.Request) -> web.StreamResponse:
        ws = web.WebSocketResponse(
            timeout=_CLOSE_S, compress=False, heartbeat=HEARTBEAT_S, max_msg_size=MESSAGE_BYTES_MAX
        )
        await ws.prepare(request)
        connection = hub.join()
        open_ones.add(ws)
        try:
            await _talk(ws, connection, hub, CommandReader(connection, hub, dispatcher, snapshots))
        finally:
            hub.leave(connection)
            open_ones.discard(ws)
        return ws

    async def close_all(_app: web.Application) -> None:
        closing = [ws.close(code=WSCloseCode.GOING_AWAY, message=b"the server ends") for ws in open_ones]
        await asyncio.gather(*closing)

    app.router.add_get(f"{API}/events", events, allow_head=False)
    app.on_shutdown.append(close_all)


async def _talk(ws: web.WebSocketResponse, connection: Connection, hub: Hub, reader: CommandReader) -> None:
    tasks = [
        asyncio.create_task(_send(ws, connection, hub)),
        asyncio.create_task(_read(ws, connection, reader)),
        asyncio.create_task(connection.fell_behind.wait()),
        asyncio.create_task(_lack_hello(connection)),
    ]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await _say_goodbye(ws, connection)


async def _send(ws: web.WebSocketResponse, connection: Connection, hub: Hub) -> None:
    """Until the connection breaks."""
    while True:
        letter = await connection.outbox.get()
        try:
            if isinstance(letter.data, str):
                await ws.send_str(letter.data)
            else:
                await ws.send_bytes(letter.data)
        except ConnectionError:
            return
        hub.was_sent(connection, letter)


async def _read(ws: web.WebSocketResponse, connection: Connection, reader: CommandReader) -> None:
    """Until the client closes."""
    async for message in ws:
        if message.type is WSMsgType.TEXT:
            await reader.take(message.data)
        elif message.type is WSMsgType.BINARY:
            refused = ErrorMessage(code="E_INVALID", message="expected a JSON text message, got a binary one")
            connection.answer(refused)
        else:
            return


async def _lack_hello(connection: Connection) -> None:
    """Ends when the hello is overdue; never once it came."""
    await asyncio.sleep(_HELLO_S)
    if connection.state is not ConnectionState.GREETING:
        await asyncio.Event().wait()


async def _say_goodbye(ws: web.WebSocketResponse, connection: Connection) -> None:
    state, connection.state = connection.state, ConnectionState.CLOSED
    if connection.fell_behind.is_set():
        LOG.warning("connection %d fell too far behind and is closed", connection.number)
        await ws.close(code=WSCloseCode.TRY_AGAIN_LATER, message=b"E_TOO_SLOW", drain=False)
    elif state is ConnectionState.GREETING:
        await ws.close(code=WSCloseCode.POLICY_VIOLATION, message=b"E_HELLO_FIRST")
    else:
        await ws.close()
