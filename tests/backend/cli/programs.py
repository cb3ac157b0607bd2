"""The `rushes` program as a person starts it: another process, the shipped model, the real worker."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rushes.backend.client import AsyncClient
from rushes.backend.wire.v1.events import ChunkFrames

COMMAND = (sys.executable, "-m", "rushes.backend.cli.main")
SECONDS_MAX = 180


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.out)
        return report


def rushes(*arguments: str, folder: Path) -> Ended:
    """Run a command to its end in `folder`."""
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def template_path(name: str) -> str:
    return str(files("rushes.workflows").joinpath(f"{name}.json"))


@contextlib.contextmanager
def started(*arguments: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A command that runs; it is killed at the end if it still does."""
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=SECONDS_MAX)


@contextlib.contextmanager
def server(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`rushes serve` on a free port: the process and its address, as it prints it."""
    with started("serve", "--port", "0", "--data-dir", str(folder / "data"), folder=folder) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().removeprefix("Rushes is at ").strip()
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=SECONDS_MAX)


def until_chunk(url: str, index: int) -> str:
    """The job of the first rollout that has made a chunk, once it has."""
    return asyncio.run(_until_chunk(url, index))


async def _until_chunk(url: str, index: int) -> str:
    async with asyncio.timeout(SECONDS_MAX), AsyncClient(url) as client, client.stream(since=0) as stream:
        await stream.subscribe("*")
        async for received in stream:
            message = received.message
            if isinstance(message, ChunkFrames) and message.chunk_index >= index:
                return message.job_id
    raise AssertionError("the events ended")


def finish(process: subprocess.Popen[str], number: int = signal.SIGINT) -> Ended:
    """Send a signal, as Ctrl-C does, and wait for the end."""
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=SECONDS_MAX)
    assert "Traceback" not in err, err
    return Ended(process.returncode, out, err)
