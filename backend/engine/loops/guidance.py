"""How the branches of a step become one velocity."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Guidance:
    """Classifier-free guidance; a scale of 1 needs the positive branch only.

    Source: Ho & Salimans 2022, arXiv:2207.12598.
    """

    scale: float

    @property
    def branches(self) -> int:
        return 1 if self.scale == 1.0 else 2

    def combine(self, velocity: Tensor) -> Tensor:
        """[branches, C, T, h, w], positive first -> [1, C, T, h, w]"""
        if self.branches == 1:
            return velocity
        positive, negative = velocity.split(1)
        return negative + self.scale * (positive - negative)
