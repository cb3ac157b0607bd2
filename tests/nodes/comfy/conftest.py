"""A stand-in ComfyUI, and a real Rushes server with the model that ships."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.comfy.standin import ComfyUI

READY_S = 90.0


@pytest.fixture
def comfyui(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ComfyUI:
    return ComfyUI(tmp_path / "comfyui", monkeypatch)


@dataclass
class RealServer:
    """A server process and where it is."""

    process: subprocess.Popen[str]
    url: str

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/api/v1{path}", timeout=10) as reply:
            return json.load(reply)

    def until_state(self, job_id: str, state: str) -> None:
        end = time.monotonic() + 20
        while self.get(f"/jobs/{job_id}")["job"]["state"] != state:
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.05)

    def kill(self) -> None:
        """No farewell."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def server(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    yield from _serving(root, tmp_path_factory)


@pytest.fixture
def mortal_server(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """One of its own for a test that kills it."""
    yield from _serving(root, tmp_path_factory)


def _serving(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    folder = tmp_path_factory.mktemp("rushes")
    command = [sys.executable, "-m", "rushes.backend.cli.main", "serve", "--port", "0", "--device", "cpu"]
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--data-dir", str(folder / "data"), *_checkpoints(root)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        found = RealServer(process, process.stdout.readline().strip().rpartition(" ")[2])
        _wait(lambda: found.get("/system")["worker"]["state"] == "ready", folder / "log.txt")
        yield found
    finally:
        process.terminate()
        process.wait(timeout=40)
        process.stdout.close()


def _checkpoints(root: Path) -> list[str]:
    """None where the model ships; else a local copy of it; without either the test is skipped."""
    if (root / "backend" / "checkpoints" / "shapes" / "model_index.json").exists():
        return []
    local = root / ".scratch" / "checkpoints"
    if (local / "shapes" / "model_index.json").exists():
        return ["--checkpoints", str(local)]
    if os.environ.get("CI"):
        pytest.fail("the shipped checkpoint is missing")
    pytest.skip("the shipped checkpoint is missing")


def _wait(is_so: Callable[[], bool], log: Path) -> None:
    end = time.monotonic() + READY_S
    while not is_so():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)
