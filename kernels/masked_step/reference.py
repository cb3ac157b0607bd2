"""masked_step in plain PyTorch. This file defines the right answer."""

from typing import NamedTuple

import torch
from torch import Tensor


class Branches(NamedTuple):
    """What the transformer predicted: the velocity, d latent / d sigma, with or without a negative branch.

    Shapes: positive and negative [B, C, T, H, W]; guidance [B], fp32: negative + guidance * (positive -
        negative).
    """

    positive: Tensor
    negative: Tensor | None = None
    guidance: Tensor | None = None


class Sigmas(NamedTuple):
    """Noise levels before and after the step.

    Shapes: both [B], [B, T] (per latent frame) or [B, T, H, W]. A lane or cell at 0 is finished and stays as
        it is.
    """

    now: Tensor
    after: Tensor


class Edit(NamedTuple):
    """What an edited lane keeps of a source.

    Shapes: source and almost_clean as the latent; cells and tokens [B, 1, T, H, W], 0 keeps, 1 makes anew.
    A kept token enters the transformer as almost_clean, the source with a trace of noise. tokens is what the
    transformer is told: the largest value of a token's cells, on each of them. cells restore after the
    prediction.
    """

    source: Tensor
    almost_clean: Tensor
    cells: Tensor
    tokens: Tensor


class Stepped(NamedTuple):
    """The latent after the step and, where asked for, the clean prediction and what enters the transformer
    next."""

    latent: Tensor
    clean: Tensor | None = None
    next_input: Tensor | None = None


def masked_step_reference(
    latent: Tensor,
    branches: Branches,
    sigmas: Sigmas,
    edit: Edit | None = None,
    *,
    with_clean: bool = False,
    with_next_input: bool = False,
) -> Stepped:
    """One Euler step, written through the clean prediction, in fp32, rounded once.

    Shapes: latent [B, C, T, H, W].
    Guarantees: cells of 0 hold the bits of the source once the sigma after is 0; a lane whose masks are all
        1 gets the bits of a lane without an edit.
    """
    x, velocity = latent.float(), combined(branches)
    now, after = per_cell(sigmas.now), per_cell(sigmas.after)
    ratio = torch.where(now > 0, after / now, 1.0)
    if edit is None:
        clean = x - velocity * now
        stepped = ratio * x + (1 - ratio) * clean
        return Stepped(stepped.to(latent.dtype), clean.to(latent.dtype) if with_clean else None)

    source, cells, tokens = edit.source.float(), edit.cells.float(), edit.tokens.float()
    predicted = model_input(x, edit) - now * tokens * velocity
    clean = torch.where(cells >= 1, predicted, source + cells * (predicted - source))
    clean = torch.where(cells <= 0, source, clean)
    stepped = ratio * x + (1 - ratio) * clean
    stepped = torch.where((cells <= 0) & (after <= 0), source, stepped)
    return Stepped(
        stepped.to(latent.dtype),
        clean.to(latent.dtype) if with_clean else None,
        model_input(stepped, edit).to(latent.dtype) if with_next_input else None,
    )


def model_input(x: Tensor, edit: Edit) -> Tensor:
    """What the transformer sees of a state, fp32: almost the source where kept, the state where made anew."""
    tokens, almost_clean = edit.tokens.float(), edit.almost_clean.float()
    return torch.where(tokens >= 1, x, almost_clean + tokens * (x - almost_clean))


def combined(branches: Branches) -> Tensor:
    """The velocity that guidance makes of the branches, fp32."""
    positive = branches.positive.float()
    if branches.negative is None or branches.guidance is None:
        return positive
    negative = branches.negative.float()
    return negative + branches.guidance.float()[:, None, None, None, None] * (positive - negative)


def per_cell(sigma: Tensor) -> Tensor:
    """[B], [B, T] or [B, T, H, W] -> a shape that broadcasts over [B, C, T, H, W], fp32."""
    lanes = sigma.shape[0]
    frames = sigma.shape[1] if sigma.ndim > 1 else 1
    size = sigma.shape[2:] if sigma.ndim > 2 else (1, 1)
    return sigma.float().reshape(lanes, 1, frames, *size)
