"""Rules of one step: from a sigma to the next, given the clean latent the model believes in.

All are written in terms of the clean prediction x0 = x - sigma * velocity, so that restoring kept cells in x0
works the same for each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor


@dataclass(slots=True)
class SamplerHistory:
    """What a multistep sampler remembers: the newest clean predictions, and the sample of the last step."""

    cleans: list[Tensor] = field(default_factory=list)
    last_sample: Tensor | None = None
    last_order: int = 0


class Sampler(Protocol):
    """One step. Frozen: what it remembers of a job lies in the job's `SamplerHistory`."""

    def step(
        self, latent: Tensor, clean: Tensor, sigmas: Sequence[float], index: int, history: SamplerHistory
    ) -> Tensor:
        """From ``sigmas[index]`` to ``sigmas[index + 1]``; latent and clean [1, C, T, H, W], fp32."""


@dataclass(frozen=True, slots=True)
class Euler:
    """x <- (next / sigma) x + (1 - next / sigma) x0, which is x + (next - sigma) velocity."""

    def step(
        self, latent: Tensor, clean: Tensor, sigmas: Sequence[float], index: int, history: SamplerHistory
    ) -> Tensor:
        ratio = sigmas[index + 1] / sigmas[index]
        return ratio * latent + (1.0 - ratio) * clean


@dataclass(frozen=True, slots=True)
class UniPC:
    """Unified predictor and corrector, form B2 of h, data prediction, on flow sigmas (alpha = 1 - sigma).

    Source: Zhao et al. 2023, arXiv:2302.04867. Order 1 without the corrector is Euler's method.
    """

    order: int = 2
    has_corrector: bool = True

    def step(
        self, latent: Tensor, clean: Tensor, sigmas: Sequence[float], index: int, history: SamplerHistory
    ) -> Tensor:
        if self.has_corrector and index > 0 and history.last_sample is not None:
            latent = _corrected(clean, sigmas, index, history)
        history.cleans = [*history.cleans, clean][-self.order :]
        steps_left = len(sigmas) - 1 - index
        order = min(self.order, steps_left, len(history.cleans))
        history.last_sample, history.last_order = latent, order
        return _predicted(latent, sigmas, index, history.cleans, order)


def _predicted(
    latent: Tensor, sigmas: Sequence[float], index: int, cleans: Sequence[Tensor], order: int
) -> Tensor:
    newest = cleans[-1]
    step = _Step.between(sigmas, index, index + 1)
    result = step.ratio * latent - step.alpha * step.phi_1 * newest
    if order == 1:
        return result
    slope = (cleans[-2] - newest) / _distance(sigmas, index - 1, step)
    return result - step.alpha * step.phi_1 * 0.5 * slope


def _corrected(clean: Tensor, sigmas: Sequence[float], index: int, history: SamplerHistory) -> Tensor:
    """The sample at ``index`` again, now that the model has spoken there."""
    assert history.last_sample is not None
    before = history.cleans[-1]
    step = _Step.between(sigmas, index - 1, index)
    result = step.ratio * history.last_sample - step.alpha * step.phi_1 * before
    change = clean - before
    if history.last_order == 1:
        return result - step.alpha * step.phi_1 * 0.5 * change
    distance = _distance(sigmas, index - 2, step)
    older, newer = _corrector_weights(step, distance)
    slope = (history.cleans[-2] - before) / distance
    return result - step.alpha * step.phi_1 * (older * slope + newer * change)


@dataclass(frozen=True, slots=True)
class _Step:
    """Coefficients between two sigmas; h is the difference of their log signal-to-noise halves."""

    ratio: float
    alpha: float
    lambda_from: float
    h: float
    phi_1: float
    """e^-h - 1"""

    @classmethod
    def between(cls, sigmas: Sequence[float], start: int, end: int) -> _Step:
        lambda_from = _lambda(sigmas[start])
        h = _lambda(sigmas[end]) - lambda_from
        return cls(sigmas[end] / sigmas[start], 1.0 - sigmas[end], lambda_from, h, math.expm1(-h))


def _lambda(sigma: float) -> float:
    if sigma >= 1.0:
        return -math.inf
    return math.inf if sigma <= 0.0 else math.log1p(-sigma) - math.log(sigma)


def _distance(sigmas: Sequence[float], older: int, step: _Step) -> float:
    """Position of an older point, in units of h before the start of the step; minus infinity from sigma 1."""
    return (_lambda(sigmas[older]) - step.lambda_from) / step.h


def _corrector_weights(step: _Step, distance: float) -> tuple[float, float]:
    """Weights of the older slope and of the newest change, from the two order conditions of UniC."""
    first = (step.phi_1 / -step.h - 1.0) / step.phi_1
    second = 2.0 * (((step.phi_1 / -step.h - 1.0) / -step.h) - 0.5) / step.phi_1
    if math.isinf(distance):
        return 0.0, first
    older = (second - first) / (distance - 1.0)
    return older, first - older


SAMPLERS: Mapping[str, Sampler] = {"euler": Euler(), "unipc": UniPC()}


def clean_of(latent: Tensor, velocity: Tensor, sigma: float | Tensor) -> Tensor:
    """The clean latent a velocity (noise - clean) points to."""
    return torch.sub(latent, velocity * sigma)
