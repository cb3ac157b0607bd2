"""`rushes doctor`: is this machine fit, and if not, what is missing."""

from __future__ import annotations

import argparse
import json
import platform
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...models.family import FamilyError
from ...models.registry import find_adapters, find_checkpoints
from ...models.tensor_file import TensorFileError, read_tensor_file
from ...settings import Settings
from ..report import print_lines, table
from ..server_choice import read_settings

_TORCH_PROBE = """
import json, torch
cuda = torch.cuda.is_available()
name = torch.cuda.get_device_name(0) if cuda else "no GPU torch can use"
print(json.dumps({"torch": torch.__version__, "device": "cuda" if cuda else "cpu", "name": name}))
"""
_TORCH_S = 120


@dataclass(frozen=True, slots=True)
class Finding:
    """One check. A failed one that `is_needed` makes the machine unfit."""

    name: str
    is_good: bool
    text: str
    is_needed: bool = True


def execute(arguments: argparse.Namespace) -> int:
    """0 when everything that is needed is there, else 1."""
    settings = read_settings(arguments)
    checks: Sequence[Callable[[], Finding]] = (
        _check_python,
        _check_torch,
        lambda: _check_models(settings),
        lambda: _check_data_dir(settings.data_dir),
        lambda: _check_port(settings.host, arguments.port),
        lambda: _check_editor(settings.static_dir),
    )
    findings = [check() for check in checks]
    print_lines(table([(_mark(found), found.name, found.text) for found in findings]))
    return 0 if all(found.is_good or not found.is_needed for found in findings) else 1


def _mark(found: Finding) -> str:
    if found.is_good:
        return "ok"
    return "FAILED" if found.is_needed else "note"


def _check_python() -> Finding:
    is_good = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return Finding("python", is_good, f"{platform.python_version()}, needs 3.11 to 3.13")


def _check_torch() -> Finding:
    """In another process: this one must not import torch."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _TORCH_PROBE],
            capture_output=True,
            text=True,
            timeout=_TORCH_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Finding("torch", False, f"did not load within {_TORCH_S} s")
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return Finding("torch", False, f"cannot be imported: {reason}")
    found = json.loads(done.stdout)
    return Finding("torch", True, f"{found['torch']}, {found['device']} ({found['name']})")


def _check_models(settings: Settings) -> Finding:
    try:
        checkpoints = find_checkpoints(settings.checkpoint_roots)
        adapters = find_adapters(settings.checkpoint_roots)
        folders = [folder for _, folder, _ in checkpoints.values()]
        weights = {path for folder in folders for path in folder.rglob("*.safetensors")} | set(
            adapters.values()
        )
        for path in sorted(weights):
            read_tensor_file(path)
    except (FamilyError, TensorFileError, OSError) as error:
        return Finding("models", False, str(error))
    if not checkpoints:
        places = ", ".join(str(root) for root in settings.checkpoint_roots)
        return Finding("models", False, f"no checkpoint in {places}")
    names = ", ".join([*sorted(checkpoints), *sorted(adapters)])
    return Finding("models", True, f"{names}; {len(weights)} weight files whole")


def _check_data_dir(folder: Path) -> Finding:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Finding("data folder", False, f"{folder} cannot be written: {error.strerror}")
    return Finding("data folder", True, str(folder))


def _check_port(host: str, port: int) -> Finding:
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        return Finding("port", False, f"{host}:{port}: {error.strerror}; use --port", is_needed=False)
    return Finding("port", True, f"{host}:{port} is free")


def _check_editor(static_dir: Path) -> Finding:
    if (static_dir / "index.html").is_file():
        return Finding("editor", True, "built")
    return Finding("editor", False, "not built; in a checkout run `make run`", is_needed=False)
