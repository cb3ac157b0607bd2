"""One run of the worker process, from spawn to exit."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rushes.backend.engine.protocol import (
    HEADER_LENGTH,
    Command,
    ProtocolError,
    header_size,
    pack_message,
    to_header,
    unpack_header,
)

ENGINE_MODULE = "rushes.backend.engine"


@dataclass(frozen=True, slots=True)
class EngineCommandLine:
    python: str
    checkpoints: Sequence[Path]
    device: str

    def arguments(self, commands_fd: int, events_fd: int) -> list[str]:
        # -P: a folder called rushes in the working directory is not the package.
        return [
            *(self.python, "-P", "-m", ENGINE_MODULE),
            *("--checkpoints", ":".join(str(folder) for folder in self.checkpoints)),
            *("--device", self.device),
            *("--commands-fd", str(commands_fd)),
            *("--events-fd", str(events_fd)),
        ]


class EngineProcess:
    """A running engine and the channel to it."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer

    @classmethod
    async def spawn(cls, command_line: EngineCommandLine) -> EngineProcess:
        """In a session of its own: signals of the owner's terminal do not reach it. Errors: OSError."""
        ours, theirs = socket.socketpair()
        with theirs:
            events_fd = os.dup(theirs.fileno())
            try:
                process = await asyncio.create_subprocess_exec(
                    *command_line.arguments(theirs.fileno(), events_fd),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(), events_fd),
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                raise
            finally:
                os.close(events_fd)
        reader, writer = await asyncio.open_connection(sock=ours)
        return cls(process, reader, writer)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def send(self, command: Command) -> None:
        """Errors: ConnectionError when the process is gone."""
        self._writer.write(pack_message(to_header(command)))
        await self._writer.drain()

    async def receive(self) -> tuple[dict[str, Any], bytes] | None:
        """The next event; None when there will be no more. Errors: ProtocolError on a broken channel."""
        try:
            prefix = await self._reader.readexactly(HEADER_LENGTH.size)
            header, payload_bytes = unpack_header(await self._reader.readexactly(header_size(prefix)))
            return header, await self._reader.readexactly(payload_bytes)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def kill(self) -> None:
        # Not Process.kill: it may reap a child that has just ended, and the event loop then misses its code.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def end(self, patience_s: float) -> int:
        """Close the channel and wait for the exit code, killing the process when it takes longer.

        A negative code is the signal that ended it.
        """
        self._writer.close()
        try:
            async with asyncio.timeout(patience_s):
                return await self._process.wait()
        except TimeoutError:
            self.kill()
            return await self._process.wait()


__all__ = ["EngineCommandLine", "EngineProcess", "ProtocolError"]
