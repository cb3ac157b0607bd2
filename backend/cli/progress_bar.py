"""One line on a terminal that shows how far a job is."""

from __future__ import annotations

from typing import TextIO

from ..wire.v1.events import JobProgress, JobQueued, NodeStarted, ServerEvent

_WIDTH = 24


class ProgressBar:
    """Draws on a terminal, and nothing where there is none."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_on = stream.isatty()
        self._length = 0

    def show(self, event: ServerEvent) -> None:
        match event:
            case JobQueued():
                waits = f"queued, {event.position} before it" if event.position else "waiting for the worker"
                self._draw(waits)
            case NodeStarted():
                self._draw(event.node_id)
            case JobProgress():
                self._draw(_progress_text(event))

    def clear(self) -> None:
        self._draw("")

    def _draw(self, text: str) -> None:
        if not self._is_on:
            return
        self._stream.write("\r" + text.ljust(self._length) + ("\r" if not text else ""))
        self._stream.flush()
        self._length = len(text)


def _progress_text(event: JobProgress) -> str:
    steps = f"step {event.step}/{event.step_count}"
    if event.chunk_count is None:
        return f"{event.node_id}  chunk {event.chunk_index + 1}  {steps}"
    total = event.chunk_count * event.step_count
    done = event.chunk_index * event.step_count + event.step
    filled = _WIDTH * done // total if total else 0
    bar = "#" * filled + "-" * (_WIDTH - filled)
    chunks = f"  chunk {event.chunk_index + 1}/{event.chunk_count}" if event.chunk_count > 1 else ""
    return f"{event.node_id}  [{bar}]{chunks}  {steps}"
