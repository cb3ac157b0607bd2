"""Threads beside the device: what runs there, and how it comes back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rushes.backend.engine.threads import ThreadSwitch


@dataclass(frozen=True, slots=True)
class Returned:
    """The work of a slot is back; ``settle`` does what follows, on the thread that owns the jobs."""

    slot: str
    settle: Callable[[], None]


class SideSlot:
    """One thread that runs one thing at a time. What it runs must not raise."""

    def __init__(self, name: str, threads: int, report: Callable[[Returned], None]) -> None:
        self._name = name
        self._threads = threads
        self._report = report
        self._pool = ThreadPoolExecutor(1, name, initializer=self._set_up)

    def start(self, work: Callable[[], Callable[[], None]]) -> None:
        """``work`` runs on the slot's thread and gives what is to follow."""
        self._pool.submit(lambda: self._report(Returned(self._name, work())))

    def stop(self) -> None:
        self._pool.shutdown(wait=True)

    def _set_up(self) -> None:
        ThreadSwitch().use(self._threads)
