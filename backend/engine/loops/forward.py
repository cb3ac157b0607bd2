"""One forward of the transformer, said by a loop and computed by somebody else, alone or with others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rushes.backend.engine.capture import captured

if TYPE_CHECKING:
    from rushes.backend.models.adapters.adapter import Adapter
    from rushes.backend.models.family import Components
    from rushes.backend.models.layers.ring_kv import RingKVCache

Stack = tuple[tuple["Adapter", float], ...]
"""Adapters with strengths, in chain order."""


@dataclass(frozen=True, slots=True)
class Forward:
    """What a lane wants computed. Its rows are its guidance branches, positive first.

    Shapes: latent [1, C, T, h, w]; sigma [1, T] or [1, T, h, w]; texts: one per branch;
        keys [1, T, key count] or None; cache: one lane per branch.
    """

    latent: Tensor
    sigma: Tensor
    texts: tuple[Any, ...]
    stack: Stack = ()
    keys: Tensor | None = None
    cache: RingKVCache | None = None
    is_commit: bool = False

    @property
    def branches(self) -> int:
        return len(self.texts)


class Forwarder:
    """Runs forwards of one checkpoint, several as one batch.

    State: the joined texts and adapters of the last batch, since they stay the same from step to step; on a
        GPU the recorded forwards.
    """

    def __init__(self, components: Components) -> None:
        self._components = components
        self._captured = captured(components)
        self._joined: dict[str, tuple[Hashable, Any]] = {}
        self._held: Sequence[Forward] = ()

    @property
    def recording_count(self) -> int:
        """How many kinds of forward are replayed."""
        return self._captured.recording_count if self._captured is not None else 0

    def run(self, forwards: Sequence[Forward]) -> list[Tensor]:
        """Velocities [branches, C, T, h, w] of each, in order; all must agree on shape, cache and commit."""
        rows = [forward.branches for forward in forwards]
        predict = self._captured or self._components.predict
        velocity = predict(
            torch.cat([_repeat(f.latent, f.branches) for f in forwards]),
            _joined_sigma(forwards),
            self._text(forwards),
            keys=_joined_keys(forwards),
            cache=self._cache(forwards),
            commit=forwards[0].is_commit,
            adapters=self._adapters(forwards),
        )
        self._held = forwards  # keeps the ids below from being used again
        return list(velocity.split(rows))

    def _text(self, forwards: Sequence[Forward]) -> Any:
        texts = [text for forward in forwards for text in forward.texts]
        return self._once("text", tuple(map(id, texts)), lambda: self._components.join_text(texts))

    def _adapters(self, forwards: Sequence[Forward]) -> Any:
        stacks = [forward.stack for forward in forwards for _ in forward.texts]
        key = tuple(tuple((id(adapter), strength) for adapter, strength in stack) for stack in stacks)
        return self._once("adapters", key, lambda: self._components.lanes(stacks))

    def _cache(self, forwards: Sequence[Forward]) -> Any:
        caches = [forward.cache for forward in forwards if forward.cache is not None]
        return self._components.join_caches(caches) if caches else None

    def _once(self, what: str, key: Hashable, make: Any) -> Any:
        known = self._joined.get(what)
        if known is None or known[0] != key:
            known = self._joined[what] = (key, make())
        return known[1]


def _repeat(tensor: Tensor, rows: int) -> Tensor:
    return tensor if rows == 1 else tensor.expand(rows, *tensor.shape[1:])


def _joined_sigma(forwards: Sequence[Forward]) -> Tensor:
    """[rows, T], or [rows, T, h, w] as soon as one lane says sigma per cell."""
    sigmas = [_repeat(forward.sigma, forward.branches) for forward in forwards]
    if len({sigma.ndim for sigma in sigmas}) > 1:
        height, width = forwards[0].latent.shape[3:]
        sigmas = [
            sigma if sigma.ndim == 4 else sigma[:, :, None, None].expand(-1, -1, height, width)
            for sigma in sigmas
        ]
    return torch.cat(sigmas)


def _joined_keys(forwards: Sequence[Forward]) -> Tensor | None:
    """No keys is the same as none held, so lanes without get zeros beside lanes with."""
    given = next((forward.keys for forward in forwards if forward.keys is not None), None)
    if given is None:
        return None
    none_held = torch.zeros_like(given)
    keys = [forward.keys if forward.keys is not None else none_held for forward in forwards]
    return torch.cat([_repeat(k, f.branches) for k, f in zip(keys, forwards, strict=True)])
