"""Which chunks nobody waits for any more, so that the rollout may go on. No I/O: facts in, acks out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

Reader = int
"""One connection."""


@dataclass(frozen=True, slots=True)
class Ack:
    """Every reader has this chunk and all before it."""

    job_id: str
    node_id: str
    chunk_index: int


class ChunkLedger:
    """Per rollout, the chunks that were sent and the readers that still owe a sign of having them."""

    def __init__(self) -> None:
        self._owed: dict[tuple[str, str], dict[int, set[Reader]]] = {}

    def sent(self, job_id: str, node_id: str, chunk_index: int, readers: Collection[Reader]) -> list[Ack]:
        """A chunk is out to these readers; with none it counts as read."""
        self._owed.setdefault((job_id, node_id), {})[chunk_index] = set(readers)
        return self._settle((job_id, node_id))

    def read(self, reader: Reader, job_id: str, node_id: str, chunk_index: int) -> list[Ack]:
        """A reader has this chunk and all before it."""
        for index, readers in self._owed.get((job_id, node_id), {}).items():
            if index <= chunk_index:
                readers.discard(reader)
        return self._settle((job_id, node_id))

    def left(self, reader: Reader, job_id: str | None = None) -> list[Ack]:
        """A reader is gone, or no longer reads a job."""
        rollouts = [rollout for rollout in self._owed if job_id is None or rollout[0] == job_id]
        for rollout in rollouts:
            for readers in self._owed[rollout].values():
                readers.discard(reader)
        return [ack for rollout in rollouts for ack in self._settle(rollout)]

    def ended(self, job_id: str) -> None:
        """The job is over; nothing of it is owed."""
        self._owed = {rollout: chunks for rollout, chunks in self._owed.items() if rollout[0] != job_id}

    def _settle(self, rollout: tuple[str, str]) -> list[Ack]:
        chunks = self._owed.get(rollout, {})
        newest: int | None = None
        for index in sorted(chunks):
            if chunks[index]:
                break
            newest = index
            del chunks[index]
        return [] if newest is None else [Ack(*rollout, newest)]
