"""Which latent cells a training clip leaves to the model: everything, a range of frames, or a region."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.shapes.configs import LATENT_SIDE
from benchmarks.shapes.pool import CELL_PX, Pool

WHOLE, FRAMES, REGION = 0, 1, 2


def draw_masks(pool: Pool, rows: Tensor, frames: int) -> tuple[Tensor, Tensor]:
    """bool [B, T, 12, 12], True where the model paints, and bool [B], whether that is everything: 45 % whole
    clips, 30 % frame ranges, 25 % regions."""
    count, device = len(rows), rows.device
    in_time = _frame_ranges(count, frames, device)[:, :, None, None]
    in_space = _regions(pool, rows, frames)
    kind = torch.rand(count, device=device)
    kind = torch.where(kind < 0.45, WHOLE, torch.where(kind < 0.75, FRAMES, REGION))[:, None, None, None]
    also_time = (torch.rand(count, device=device) < 0.2)[:, None, None, None]
    region = in_space & (in_time | ~also_time)
    mask = (kind == WHOLE) | ((kind == FRAMES) & in_time) | ((kind == REGION) & region)
    empty = ~mask.flatten(1).any(1)
    mask = mask | empty[:, None, None, None]
    return mask, mask.flatten(1).all(1)


def _frame_ranges(count: int, frames: int, device: torch.device) -> Tensor:
    """[B, T]: after a first frame, after or before a part, between both ends, or several pieces."""
    place = torch.arange(frames, device=device)[None]
    low = torch.randint(1, frames, (count, 1), device=device)
    high = torch.randint(1, frames, (count, 1), device=device)
    low, high = torch.minimum(low, high), torch.maximum(low, high)
    pieces = (torch.rand(count, (frames + 2) // 3, device=device) < 0.5).repeat_interleave(3, 1)[:, :frames]
    kind = torch.randint(0, 8, (count, 1), device=device)
    out = place >= torch.where(kind < 3, 1, low)
    out = torch.where(kind == 5, place < high, out)
    out = torch.where(kind == 6, (place >= low) & (place <= high), out)
    return torch.where(kind == 7, pieces, out)


def _regions(pool: Pool, rows: Tensor, frames: int) -> Tensor:
    count, device = len(rows), rows.device
    centre = pool.centre[rows, :frames] / CELL_PX
    kind = torch.rand(count, device=device)
    anywhere = torch.rand(count, 1, 2, device=device) * LATENT_SIDE
    start = centre[:, :1] + torch.randn(count, 1, 2, device=device)
    place = torch.where(
        (kind < 0.5)[:, None, None], centre + torch.randn(count, 1, 2, device=device) * 0.7, start
    )
    place = torch.where((kind > 0.85)[:, None, None], anywhere, place)
    reach = (pool.radius[rows] / CELL_PX)[:, None] + torch.rand(count, 2, device=device) * 3 + 0.5
    band = torch.randint(0, 2, (count,), device=device)
    is_band = (kind >= 0.5) & (kind < 0.7)
    wide = torch.stack((band == 0, band == 1), 1) & is_band[:, None]
    reach = torch.where(wide, float(LATENT_SIDE), reach)
    axis = torch.arange(LATENT_SIDE, device=device) + 0.5
    half = LATENT_SIDE / 2
    dx = (torch.remainder(axis - place[..., 0:1] + half, LATENT_SIDE) - half).abs() / reach[:, None, 0:1]
    dy = (torch.remainder(axis - place[..., 1:2] + half, LATENT_SIDE) - half).abs() / reach[:, None, 1:2]
    dx, dy = dx[..., None, :], dy[..., :, None]
    is_round = (torch.rand(count, device=device) < 0.4)[:, None, None, None] & ~is_band[:, None, None, None]
    inside = torch.where(is_round, dx**2 + dy**2 < 1.2, torch.maximum(dx, dy) < 1)
    inverse = (torch.rand(count, device=device) < 0.15)[:, None, None, None]
    return inside ^ inverse
