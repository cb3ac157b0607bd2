"""What waits to be sent on one connection. Previews give way, everything else stays."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from ..jobs.event_log import LoggedEvent

PREVIEWS_MAX = 2
"""Waiting previews of one node; an older one gives way."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One message: text or binary. `event` is None for answers."""

    data: str | bytes
    event: LoggedEvent | None = None


class OutboxFull(RuntimeError):
    """The connection is too slow."""


class Outbox:
    """First in, first out, bounded. Errors: OutboxFull from `put` when more than previews would be lost."""

    def __init__(self, *, letters_max: int = 20_000, bytes_max: int = 128 << 20) -> None:
        self._letters: deque[Letter] = deque()
        self._bytes = 0
        self._letters_max = letters_max
        self._bytes_max = bytes_max
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return len(self._letters)

    def put(self, letter: Letter) -> None:
        if letter.event is not None and letter.event.type == "preview.frame":
            self._make_room(letter.event)
        if len(self._letters) >= self._letters_max or self._bytes + len(letter.data) > self._bytes_max:
            raise OutboxFull(f"{len(self._letters)} messages of {self._bytes} bytes wait")
        self._letters.append(letter)
        self._bytes += len(letter.data)
        self._filled.set()

    async def get(self) -> Letter:
        """The oldest; waits for one."""
        while not self._letters:
            self._filled.clear()
            await self._filled.wait()
        letter = self._letters.popleft()
        self._bytes -= len(letter.data)
        return letter

    def _make_room(self, preview: LoggedEvent) -> None:
        waiting = [letter for letter in self._letters if _is_of_same_node(letter.event, preview)]
        for letter in waiting[: max(0, len(waiting) - PREVIEWS_MAX + 1)]:
            self._letters.remove(letter)
            self._bytes -= len(letter.data)


def _is_of_same_node(event: LoggedEvent | None, preview: LoggedEvent) -> bool:
    return (
        event is not None
        and event.type == "preview.frame"
        and event.job_id == preview.job_id
        and event.header["node_id"] == preview.header["node_id"]
    )
