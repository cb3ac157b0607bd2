"""Sigma schedules, computed while compiling so that the spec holds the numbers themselves."""

from __future__ import annotations

from dataclasses import dataclass

from rushes.compiler.ir.facts import CheckpointFacts
from rushes.compiler.ir.lowering import Lowering
from rushes.compiler.ir.values import SamplerValue

TRAINED_LEVELS = 1000
BELOW_ONE = 1e-6


@dataclass(frozen=True, slots=True)
class Schedule:
    """`sigmas` is decreasing, one longer than the steps that run, and ends at 0."""

    sigmas: tuple[float, ...]
    sampler: str
    guidance_scale: float

    @property
    def step_count(self) -> int:
        return len(self.sigmas) - 1

    @property
    def has_guidance(self) -> bool:
        return self.guidance_scale > 1.0


def flow_sigmas(step_count: int, shift: float) -> tuple[float, ...]:
    """Flow-matching sigmas as UniPC has them: evenly spaced from 1 to 1/1000, shifted, then 0.

        sigma <- shift * sigma / (1 + (shift - 1) * sigma)

    4 steps at shift 3: 1, 0.900, 0.750, 0.501, 0. The first stands 1e-6 below 1, since solvers that
    work in log signal-to-noise divide by 1 - sigma.

    Precision: the same double arithmetic as diffusers, so that rounding to fp32 gives its sigmas exactly.
    """
    spacing = (1 / TRAINED_LEVELS - 1) / step_count
    even = [index * spacing + 1 for index in range(step_count)]
    shifted = [shift * sigma / (1 + (shift - 1) * sigma) for sigma in even]
    if abs(shifted[0] - 1) < BELOW_ONE:
        shifted[0] -= BELOW_ONE
    return (*shifted, 0.0)


def cut_sigmas(sigmas: tuple[float, ...], denoise_strength: float) -> tuple[float, ...]:
    """The last `denoise_strength` share of the steps, rounded half up. May leave none: `(0.0,)`."""
    step_count = len(sigmas) - 1
    kept = int(step_count * denoise_strength + 0.5)
    return sigmas[step_count - kept :]


def schedule_for(to: Lowering, sampler: SamplerValue | None, facts: CheckpointFacts) -> Schedule:
    """The connected sampler settings, or the checkpoint's own where none are connected.

    Errors: E_CAPABILITY at the settings node if the checkpoint does not know the sampler.
    """
    if sampler is None:
        return Schedule(
            flow_sigmas(facts.step_count, facts.flow_shift), facts.samplers[0], facts.guidance_scale
        )
    if sampler.sampler not in facts.samplers:
        raise to.at(sampler.node_id).error(
            "E_CAPABILITY",
            f"{facts.checkpoint} runs with {', '.join(facts.samplers)}, got {sampler.sampler}",
            param="sampler",
            expected=", ".join(facts.samplers),
            given=sampler.sampler,
            suggestion=facts.samplers[0],
        )
    return Schedule(flow_sigmas(sampler.step_count, sampler.shift), sampler.sampler, sampler.guidance_scale)
