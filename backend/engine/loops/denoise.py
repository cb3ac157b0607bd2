"""The denoise loop, inverted: init, prepare and advance once per step, finalize."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from rushes.backend.engine.failures import JobFault
from rushes.backend.engine.loops.editing import Edit
from rushes.backend.engine.loops.forward import Forward, Stack
from rushes.backend.engine.loops.fused_step import fused_step, has_step_kernel
from rushes.backend.engine.loops.guidance import Guidance
from rushes.backend.engine.loops.samplers import Sampler, SamplerHistory, clean_of


@dataclass(frozen=True, slots=True)
class DenoiseTask:
    """What does not change while a latent is denoised.

    Shapes: noise, source [1, C, T, h, w]; texts: one per branch, positive first.
    ``source`` without ``edit`` is where a shortened schedule starts from.
    """

    sigmas: tuple[float, ...]
    sampler: Sampler
    guidance: Guidance
    noise: Tensor
    texts: tuple[Any, ...]
    stack: Stack = ()
    source: Tensor | None = None
    edit: Edit | None = None

    @property
    def step_count(self) -> int:
        return len(self.sigmas) - 1


@dataclass(slots=True)
class DenoiseState:
    """All that changes. ``clean`` is the newest clean prediction, for previews; no step reads it."""

    latent: Tensor
    step_index: int = 0
    history: SamplerHistory = field(default_factory=SamplerHistory)
    clean: Tensor | None = None

    def state_dict(self) -> dict[str, Any]:
        return {
            "latent": self.latent.clone(),
            "step_index": self.step_index,
            "cleans": [clean.clone() for clean in self.history.cleans],
            "last_sample": None if self.history.last_sample is None else self.history.last_sample.clone(),
            "last_order": self.history.last_order,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> DenoiseState:
        history = SamplerHistory(list(state["cleans"]), state["last_sample"], state["last_order"])
        return cls(state["latent"], state["step_index"], history)


class DenoiseLoop:
    """One latent from noise, or from a noised source, down to sigma 0.

    State: none of its own; a `DenoiseState` goes through it. ``prepare`` says the next forward, ``advance``
        takes its velocity; between the two the forward may run in any batch.
    Errors: JobFault E_NAN from ``finalize``.
    """

    def __init__(self, task: DenoiseTask) -> None:
        self.task = task
        self._is_fused = has_step_kernel(task.sampler, task.noise.device)

    def init(self) -> DenoiseState:
        task, sigma = self.task, self.task.sigmas[0]
        if task.source is None:
            return DenoiseState(task.noise * sigma if sigma != 1.0 else task.noise)
        return DenoiseState((1.0 - sigma) * task.source + sigma * task.noise)

    def is_done(self, state: DenoiseState) -> bool:
        return state.step_index >= self.task.step_count

    def prepare(self, state: DenoiseState) -> Forward:
        task, sigma = self.task, self.task.sigmas[state.step_index]
        if task.edit is not None:
            token_sigma = task.edit.token_sigma(sigma)
            return Forward(task.edit.model_input(state.latent), token_sigma, task.texts, task.stack)
        return Forward(state.latent, frame_sigma(state.latent, sigma), task.texts, task.stack)

    def advance(self, state: DenoiseState, velocity: Tensor) -> None:
        """velocity [branches, C, T, h, w]"""
        task, index = self.task, state.step_index
        if self._is_fused:
            between = task.sigmas[index], task.sigmas[index + 1]
            state.latent, state.clean = fused_step(state.latent, velocity, between, task.guidance, task.edit)
            state.step_index = index + 1
            return
        sigma, combined = task.sigmas[index], task.guidance.combine(velocity)
        if task.edit is not None:
            clean = task.edit.clean(task.edit.model_input(state.latent), combined, sigma)
        else:
            clean = clean_of(state.latent, combined, sigma)
        latent = task.sampler.step(state.latent, clean, task.sigmas, index, state.history)
        is_last = index + 1 == task.step_count
        state.latent = task.edit.restored(latent) if is_last and task.edit is not None else latent
        state.clean = clean
        state.step_index = index + 1

    def finalize(self, state: DenoiseState) -> Tensor:
        return finite(state.latent)


def frame_sigma(latent: Tensor, sigma: float) -> Tensor:
    """One sigma for every latent frame, [1, T]."""
    return torch.full((1, latent.shape[2]), sigma, dtype=torch.float32, device=latent.device)


def finite(latent: Tensor) -> Tensor:
    """The latent, if all of it is numbers. Errors: JobFault E_NAN."""
    if not bool(torch.isfinite(latent).all()):
        raise JobFault(
            "E_NAN", "the model gave numbers that are not finite; another seed or precision may do"
        )
    return latent
