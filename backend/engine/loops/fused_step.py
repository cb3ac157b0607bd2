"""An Euler step with guidance before it and restoring after it, as one launch on a GPU."""

from __future__ import annotations

from importlib.util import find_spec

import torch
from torch import Tensor

from rushes.backend.engine.loops.editing import Edit
from rushes.backend.engine.loops.guidance import Guidance
from rushes.backend.engine.loops.samplers import Euler, Sampler
from rushes.kernels.masked_step import reference as step


def has_step_kernel(sampler: Sampler, device: torch.device) -> bool:
    """Whether `fused_step` can take the place of this sampler's step there."""
    return device.type == "cuda" and isinstance(sampler, Euler) and find_spec("triton") is not None


def fused_step(
    latent: Tensor,
    velocity: Tensor,
    sigmas: tuple[float, float],
    guidance: Guidance,
    edit: Edit | None = None,
) -> tuple[Tensor, Tensor]:
    """The latent after a step from the first sigma to the second, and the clean prediction it went towards.

    Shapes: latent [1, C, T, h, w], velocity [branches, C, T, h, w]. Kept cells are the source, to the bit,
    after a step to sigma 0.
    """
    from rushes.kernels.masked_step.kernel import masked_step  # needs Triton, which not every machine has

    def of_lane(value: float) -> Tensor:
        return torch.full((1,), value, device=latent.device)

    branches = step.Branches(velocity)
    if guidance.branches == 2:
        branches = step.Branches(velocity[:1], velocity[1:], of_lane(guidance.scale))
    kept = None if edit is None else step.Edit(edit.source, edit.almost_clean, edit.cells, edit.tokens)
    now, after = sigmas
    stepped = masked_step(latent, branches, step.Sigmas(of_lane(now), of_lane(after)), kept, with_clean=True)
    assert stepped.clean is not None
    return stepped.latent, stepped.clean
