"""Rotary positions over time, height and width, for any frame position."""

from typing import NamedTuple

import torch
from torch import Tensor


class Rotary(NamedTuple):
    """Cosine and sine per token and pair of channels, each [N, head_dim / 2], fp32."""

    cos: Tensor
    sin: Tensor


def rotary_3d(
    frame_positions: Tensor, height: int, width: int, head_dim: int, theta: float = 10000.0
) -> Rotary:
    """Tables for the tokens of `frame_positions` x height x width, in that order.

    Shapes: frame_positions [T], any numbers, any order; the result has T * height * width rows.
    Height and width take 2 * (head_dim // 6) channels each, time takes the rest.
    """
    device = frame_positions.device
    side_dim = 2 * (head_dim // 6)
    frames = frame_positions.shape[0]
    in_time = _angles(frame_positions.double(), head_dim - 2 * side_dim, theta)
    in_height = _angles(torch.arange(height, device=device, dtype=torch.float64), side_dim, theta)
    in_width = _angles(torch.arange(width, device=device, dtype=torch.float64), side_dim, theta)
    angles = torch.cat(
        (
            in_time[:, None, None].expand(frames, height, width, -1),
            in_height[None, :, None].expand(frames, height, width, -1),
            in_width[None, None].expand(frames, height, width, -1),
        ),
        dim=-1,
    ).flatten(0, 2)
    return Rotary(angles.cos().float(), angles.sin().float())


def rotate(x: Tensor, rotary: Rotary) -> Tensor:
    """Turn each pair of neighbouring channels of x [B, N, heads, head_dim] by its token's angle, in fp32."""
    pairs = x.float().unflatten(-1, (-1, 2))
    cos, sin = rotary.cos[:, None], rotary.sin[:, None]
    if x.requires_grad or torch.compiler.is_compiling():
        even, odd = pairs.unbind(-1)
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2).type_as(x)
    # One pass over memory; what compiles to a graph fuses the real form just as well.
    return torch.view_as_real(torch.view_as_complex(pairs) * torch.complex(cos, sin)).flatten(-2).type_as(x)


def _angles(positions: Tensor, dim: int, theta: float) -> Tensor:
    exponent = torch.arange(0, dim, 2, device=positions.device, dtype=torch.float64) / dim
    return torch.outer(positions, 1.0 / theta**exponent)
