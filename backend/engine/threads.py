"""How many CPU threads each kind of work gets."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class ThreadPlan:
    """Whole work has the machine to itself; a rollout predicts and decodes at once and splits it.

    The counts never change while the worker runs: the order of a sum, and with it the last bit of a result,
    may depend on them.
    """

    whole: int
    predict: int
    decode: int

    @classmethod
    def of(cls, total: int) -> ThreadPlan:
        decode = max(1, total // 2)
        return cls(total, max(1, total - decode), decode)


class ThreadSwitch:
    """Sets the count for the calling thread, when it differs from the last."""

    def __init__(self) -> None:
        self._current = 0

    def use(self, count: int) -> None:
        if count != self._current:
            torch.set_num_threads(count)
            self._current = count
