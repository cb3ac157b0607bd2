"""Live control of a rollout: what arrived, and what of it a chunk is made under. No clock, no device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

PENDING_MAX = 1024


@dataclass(frozen=True, slots=True)
class Update:
    """One live update. ``wanted_chunk`` None is the next chunk; keys None and prompt None change nothing."""

    seq: int
    wanted_chunk: int | None = None
    keys: tuple[str, ...] | None = None
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """An update took effect with this chunk; ``is_late``: it had wanted an earlier one."""

    seq: int
    is_late: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one chunk is made under. ``prompt`` None: as the job said. ``seq``: newest update in effect."""

    keys: tuple[str, ...]
    prompt: str | None
    seq: int | None
    applied: tuple[Applied, ...]


@dataclass(slots=True)
class ControlState:
    """Keys and prompt in effect, the sequence numbers that set them, and updates that wait for their chunk.

    Sequence numbers decide, not the order of arrival. An update waits for the chunk it wants; if that has
    begun it takes the next (late). Of those that are due the highest number wins, for keys and for the prompt
    by themselves; a number at or below the one in effect is a duplicate or overtaken, and changes nothing.
    Nothing arriving, the last value holds.
    """

    keys: tuple[str, ...] = ()
    keys_seq: int = -1
    prompt: str | None = None
    prompt_seq: int = -1
    pending: list[Update] = field(default_factory=list)

    def offer(self, update: Update) -> bool:
        """Take an update in; False when it is a duplicate, overtaken, or one too many to wait."""
        waiting = any(update.seq == other.seq for other in self.pending)
        if waiting or not self._says_anything(update) or len(self.pending) >= PENDING_MAX:
            return False
        self.pending.append(update)
        return True

    def take(self, chunk_index: int) -> Snapshot:
        """Apply what is due for this chunk. Call once when the chunk begins."""
        due = [u for u in self.pending if u.wanted_chunk is None or u.wanted_chunk <= chunk_index]
        self.pending = [update for update in self.pending if update not in due]
        applied = [
            Applied(update.seq, update.wanted_chunk is not None and update.wanted_chunk < chunk_index)
            for update in sorted(due, key=lambda update: update.seq)
            if self._apply(update)
        ]
        newest = max(self.keys_seq, self.prompt_seq)
        return Snapshot(self.keys, self.prompt, newest if newest >= 0 else None, tuple(applied))

    def state_dict(self) -> dict[str, Any]:
        return {
            "keys": list(self.keys),
            "keys_seq": self.keys_seq,
            "prompt": self.prompt,
            "prompt_seq": self.prompt_seq,
            "pending": [[u.seq, u.wanted_chunk, u.keys, u.prompt] for u in self.pending],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ControlState:
        pending = [
            Update(seq, wanted, None if keys is None else tuple(keys), prompt)
            for seq, wanted, keys, prompt in state["pending"]
        ]
        return cls(tuple(state["keys"]), state["keys_seq"], state["prompt"], state["prompt_seq"], pending)

    def _says_anything(self, update: Update) -> bool:
        return self._is_new(update.keys, update.seq, self.keys_seq) or self._is_new(
            update.prompt, update.seq, self.prompt_seq
        )

    def _apply(self, update: Update) -> bool:
        has_effect = self._says_anything(update)
        if self._is_new(update.keys, update.seq, self.keys_seq):
            assert update.keys is not None
            self.keys, self.keys_seq = update.keys, update.seq
        if self._is_new(update.prompt, update.seq, self.prompt_seq):
            self.prompt, self.prompt_seq = update.prompt, update.seq
        return has_effect

    def _is_new(self, value: Sequence[str] | None, seq: int, seq_in_effect: int) -> bool:
        return value is not None and seq > seq_in_effect


def known_keys(update: Update, control_keys: Sequence[str]) -> tuple[Update, tuple[str, ...]]:
    """The update with the keys the checkpoint knows, in its order, and those it does not know."""
    if update.keys is None:
        return update, ()
    unknown = tuple(key for key in update.keys if key not in control_keys)
    return replace(update, keys=tuple(key for key in control_keys if key in update.keys)), unknown
