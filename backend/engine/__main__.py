"""The worker process: `python -m rushes.backend.engine`, started by `rushes.backend.workers`."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import queue
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

from rushes.backend.engine.channel import EventWriter, read_commands
from rushes.backend.engine.executor import EndOfCommands, Executor, Inbox
from rushes.backend.engine.previews.linear import Previewer
from rushes.backend.engine.protocol import TERMINAL_TYPES, Event, WorkerDied, WorkerReady
from rushes.backend.engine.residency import Residency
from rushes.backend.engine.stages.stage import Host
from rushes.backend.engine.warmup import JOB_ID, warm_up_job

log = logging.getLogger("rushes.engine")


class Announcer:
    """Hides the warm-up job from the owner; its end is what makes the worker ready."""

    def __init__(self, writer: EventWriter, ready: WorkerReady) -> None:
        self._writer = writer
        self._ready = ready

    def emit(self, event: Event, payload: bytes) -> None:
        if isinstance(event, WorkerReady | WorkerDied) or event.job_id != JOB_ID:
            self._writer.put(event, payload)
        elif event.type in TERMINAL_TYPES:
            if event.type != "job.completed":
                log.error("the warm-up ended with %s", event)
            self.announce_ready()

    def announce_ready(self) -> None:
        gc.collect()
        gc.freeze()
        self._writer.put(self._ready)


def main(argv: Sequence[str]) -> int:
    given = _parse(argv)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the owner's terminal is the owner's business
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="worker %(levelname)s %(message)s")
    device = _device(given.device)
    inbox: Inbox = queue.Queue()
    writer = EventWriter(
        os.fdopen(given.events_fd, "wb"), lambda: inbox.put(EndOfCommands("nobody reads events"))
    )
    ready = WorkerReady(device, _device_name(device), torch.__version__)
    announcer = Announcer(writer, ready)
    roots = [Path(folder) for folder in given.checkpoints.split(":") if folder]
    previews = Previewer(announcer.emit)
    executor = Executor(Host(Residency(roots, device), previews), announcer.emit, inbox)
    with tempfile.TemporaryDirectory(prefix="rushes-warm-up-") as folder:
        _warm_up(roots, device, Path(folder), inbox, announcer)
        commands = os.fdopen(given.commands_fd, "rb")
        read_commands(commands, inbox.put, lambda reason: inbox.put(EndOfCommands(reason)))
        executor.run()
    previews.stop()
    writer.close()
    return 0


def _warm_up(roots: Sequence[Path], device: str, folder: Path, inbox: Inbox, announcer: Announcer) -> None:
    """Put the warm-up before all commands; without a checkpoint the worker is ready as it is."""
    try:
        facts = Residency(roots, device).default_checkpoint()
    except ValueError:
        log.exception("no checkpoint could be warmed up")
        facts = None
    if facts is None:
        announcer.announce_ready()
        return
    wanted = "fp32" if device == "cpu" else "bf16"
    precision = wanted if wanted in facts.precisions else facts.precisions[0]
    inbox.put(warm_up_job(facts, precision, folder, is_recorded=device == "cuda"))


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m rushes.backend.engine", description=__doc__)
    parser.add_argument("--checkpoints", required=True, help="folders of checkpoints, separated by colons")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--commands-fd", type=int, required=True, help="file descriptor commands come from")
    parser.add_argument("--events-fd", type=int, required=True, help="file descriptor events go to")
    return parser.parse_args(argv)


def _device(asked: str) -> str:
    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return asked


def _device_name(device: str) -> str:
    if device == "cuda":
        return torch.cuda.get_device_name()
    return f"CPU, {torch.get_num_threads()} threads"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
