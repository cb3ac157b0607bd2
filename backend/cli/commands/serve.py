"""`rushes serve`: the server and the editor, until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import webbrowser
from urllib.parse import quote

from ...app import RunningServer, run_server
from ...database import DatabaseError
from ...settings import Settings
from ..refusal import refuse
from ..report import print_lines, warn_lines
from ..server_choice import read_settings


def execute(arguments: argparse.Namespace) -> int:
    """Errors: CommandRefused for settings that cannot be served, an address or data folder in use."""
    settings = read_settings(
        arguments,
        host=arguments.host,
        port=arguments.port,
        token=arguments.token,
        origins=tuple(arguments.allow_origin),
    )
    level = logging.DEBUG if arguments.verbose else logging.INFO
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        asyncio.run(_serve(settings, opens_browser=arguments.open))
    except DatabaseError as error:
        raise refuse("E_FILE", str(error), exit_code=1) from error
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        raise refuse(
            "E_CONNECTION", f"cannot serve at {where}: {error.strerror or error}", exit_code=1
        ) from error
    return 0


async def _serve(settings: Settings, *, opens_browser: bool) -> None:
    stopping = asyncio.Event()
    async with run_server(settings) as server:
        address = server.url if settings.token is None else f"{server.url}/?token={quote(settings.token)}"
        _watch_signals(server, stopping)
        print_lines([f"Rushes is at {address}"])
        if opens_browser:
            await asyncio.to_thread(webbrowser.open, address)
        await stopping.wait()
        warn_lines([f"stopping: running jobs get {settings.drain_s:.0f} s, Ctrl-C again stops at once"])


def _watch_signals(server: RunningServer, stopping: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if stopping.is_set():
            server.dispatcher.hurry()
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
