"""adaln_modulate in plain PyTorch. This file defines the right answer."""

from typing import NamedTuple

import torch
from torch import Tensor


class Modulation(NamedTuple):
    """What a normalised row is multiplied with and what is added to it.

    Shapes: scale and shift [B, D], one row a sample, or [B, G, D], one row for each N / G consecutive
        tokens: G is the number of latent frames, or N for a row a token. The tables [D] are learned and
    added to every row. The factor is 1 + scale; with `is_gain` it is scale itself, as the weight of an
    affine norm.
    """

    scale: Tensor
    shift: Tensor
    scale_table: Tensor | None = None
    shift_table: Tensor | None = None
    is_gain: bool = False


class Residual(NamedTuple):
    """What is added to x before the norm: gate * branch, or the branch itself.

    Shapes: branch as x; gate as a scale of Modulation, gate_table [D] added to every row of it.
    """

    branch: Tensor
    gate: Tensor | None = None
    gate_table: Tensor | None = None


def adaln_modulate_reference(x: Tensor, modulation: Modulation, eps: float = 1e-6) -> Tensor:
    """x [B, N, D] -> the same shape and dtype; all arithmetic in fp32, one rounding at the end."""
    scale = per_token(modulation.scale, modulation.scale_table, x)
    shift = per_token(modulation.shift, modulation.shift_table, x)
    normed = torch.nn.functional.layer_norm(x.float(), x.shape[-1:], eps=eps)
    factor = scale if modulation.is_gain else 1 + scale
    return (normed * factor + shift).to(x.dtype)


def add_adaln_modulate_reference(
    x: Tensor, residual: Residual, modulation: Modulation, eps: float = 1e-6
) -> tuple[Tensor, Tensor]:
    """The sum, rounded to the dtype of x, and what adaln_modulate makes of that rounded sum."""
    branch = residual.branch.float()
    if residual.gate is not None:
        branch = branch * per_token(residual.gate, residual.gate_table, x)
    total = (x.float() + branch).to(x.dtype)
    return total, adaln_modulate_reference(total, modulation, eps)


def per_token(rows: Tensor, table: Tensor | None, x: Tensor) -> Tensor:
    """Rows [B, D] or [B, G, D] with the table added, fp32, that broadcast or are repeated over the tokens of
    x."""
    grouped = (rows[:, None] if rows.ndim == 2 else rows).float()
    if table is not None:
        grouped = grouped + table.float()
    tokens, groups = x.shape[1], grouped.shape[1]
    if groups in (1, tokens):
        return grouped
    return grouped.repeat_interleave(tokens // groups, dim=1)
