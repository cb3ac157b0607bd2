"""The worker's two pipes: commands come in on a thread, events go out on another."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import BinaryIO, Final

from rushes.backend.engine.protocol import (
    DROPPABLE_TYPES,
    Command,
    Event,
    ProtocolError,
    pack_message,
    parse_command,
    read_message,
    to_header,
)

PREVIEWS_MAX: Final = 8


class EventWriter:
    """Writes events in the order they were put, on a thread of its own.

    A reader that falls behind loses the oldest previews beyond 8 and nothing else. When the pipe breaks, what
    is put is thrown away and ``on_broken`` is called once.
    """

    def __init__(self, stream: BinaryIO, on_broken: Callable[[], None]) -> None:
        self._stream = stream
        self._on_broken = on_broken
        self._waiting: deque[tuple[Event, bytes]] = deque()
        self._has_news = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._work, name="events", daemon=True)
        self._thread.start()

    def put(self, event: Event, payload: bytes = b"") -> None:
        """May be called from any thread."""
        with self._has_news:
            self._waiting.append((event, payload))
            if event.type in DROPPABLE_TYPES:
                self._drop_oldest_preview()
            self._has_news.notify()

    def close(self) -> None:
        """Write what waits, then end."""
        with self._has_news:
            self._is_closed = True
            self._has_news.notify()
        self._thread.join()

    def _drop_oldest_preview(self) -> None:
        previews = [item for item in self._waiting if item[0].type in DROPPABLE_TYPES]
        if len(previews) > PREVIEWS_MAX:
            self._waiting.remove(previews[0])

    def _work(self) -> None:
        try:
            while (item := self._next()) is not None:
                event, payload = item
                self._stream.write(pack_message(to_header(event), payload))
                self._stream.flush()
        except OSError:
            self._on_broken()

    def _next(self) -> tuple[Event, bytes] | None:
        with self._has_news:
            while not self._waiting and not self._is_closed:
                self._has_news.wait()
            return self._waiting.popleft() if self._waiting else None


def read_commands(
    stream: BinaryIO, take: Callable[[Command], None], on_end: Callable[[str], None]
) -> threading.Thread:
    """Start a thread that hands over each command; ``on_end`` gets the reason when there are no more."""

    def work() -> None:
        try:
            while (message := read_message(stream)) is not None:
                take(parse_command(message[0]))
        except (ProtocolError, OSError) as error:
            on_end(str(error))
        else:
            on_end("the owner closed the channel")

    thread = threading.Thread(target=work, name="commands", daemon=True)
    thread.start()
    return thread
