"""Renders scenes: anti-aliased shapes over a patterned ground on a torus; the same pixels anywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

import torch
from torch import Tensor

from benchmarks.shapes.scene import (
    CAMERA_PX,
    COLOURS,
    GROUNDS,
    KEYS,
    LATENT_STRIDE,
    LIGHTS,
    MOTION_PX,
    MOTIONS,
    SHAPES,
    SIDE_PX,
    SIZES,
    Scene,
    frame_count,
)

RADIUS_PX = (10.0, 14.5, 20.0)
SECOND_RADIUS_PX = 10.0
EDGE_PX = 2.0
COLOUR_RGB = (
    (0.90, 0.13, 0.13),
    (1.00, 0.52, 0.05),
    (0.98, 0.92, 0.15),
    (0.20, 0.82, 0.25),
    (0.18, 0.42, 1.00),
    (0.58, 0.18, 0.88),
    (1.00, 0.55, 0.80),
    (0.97, 0.97, 0.97),
)
NIGHT_TINT = (0.42, 0.46, 0.66)
MOTION_STEP = ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))


@dataclass(frozen=True, slots=True)
class SceneBatch:
    """Scenes as tensors: indices [B], positions [B] in pixels, keys [B, T, 4]; second_shape -1 is none."""

    shape: Tensor
    colour: Tensor
    ground: Tensor
    size: Tensor
    motion: Tensor
    light: Tensor
    second_shape: Tensor
    second_colour: Tensor
    position: Tensor
    second_position: Tensor
    ground_offset: Tensor
    keys: Tensor

    def to(self, device: str | torch.device) -> SceneBatch:
        return SceneBatch(*(getattr(self, f.name).to(device) for f in fields(self)))

    def __getitem__(self, index: Tensor | slice) -> SceneBatch:
        return SceneBatch(*(getattr(self, f.name)[index] for f in fields(self)))

    def __len__(self) -> int:
        return len(self.shape)


def stack_scenes(scenes: Sequence[Scene], latent_frames: int) -> SceneBatch:
    """Tensors of these scenes; missing key sets are empty."""
    keys = torch.zeros(len(scenes), latent_frames, len(KEYS))
    for row, scene in enumerate(scenes):
        for t, names in enumerate(scene.keys[:latent_frames]):
            for name in names:
                keys[row, t, KEYS.index(name)] = 1
    return SceneBatch(
        shape=torch.tensor([SHAPES.index(s.shape) for s in scenes]),
        colour=torch.tensor([COLOURS.index(s.colour) for s in scenes]),
        ground=torch.tensor([GROUNDS.index(s.ground) for s in scenes]),
        size=torch.tensor([SIZES.index(s.size) for s in scenes]),
        motion=torch.tensor([MOTIONS.index(s.motion) for s in scenes]),
        light=torch.tensor([LIGHTS.index(s.light) for s in scenes]),
        second_shape=torch.tensor([SHAPES.index(s.second[1]) if s.second else -1 for s in scenes]),
        second_colour=torch.tensor([COLOURS.index(s.second[0]) if s.second else 0 for s in scenes]),
        position=torch.tensor([[s.x, s.y] for s in scenes]),
        second_position=torch.tensor([[s.second_x, s.second_y] for s in scenes]),
        ground_offset=torch.tensor([[s.ground_x, s.ground_y] for s in scenes]),
        keys=keys,
    )


def render(scenes: Sequence[Scene], latent_frames: int, style: str = "plain") -> Tensor:
    """uint8 [B, F, 96, 96, 3] of whole clips; style is plain or neon."""
    video = render_batch(stack_scenes(scenes, latent_frames), style)
    return (video.permute(0, 2, 3, 4, 1) * 255).round().to(torch.uint8)


def render_batch(batch: SceneBatch, style: str = "plain") -> Tensor:
    """[B, 3, F, 96, 96] in 0..1."""
    steps = _per_frame_motion(batch.motion, frame_count(batch.keys.shape[1]))
    return _render(batch, steps, style)


def render_change(before: SceneBatch, after: SceneBatch, switch: Tensor) -> Tensor:
    """[B, 3, F, 96, 96]: `before` until latent frame `switch` [B], `after` from there on, on one path."""
    frames = frame_count(before.keys.shape[1])
    index = torch.arange(frames, device=switch.device)
    is_after = index >= (LATENT_STRIDE * (switch - 1) + 1)[:, None]
    steps = torch.where(
        is_after[..., None],
        _per_frame_motion(after.motion, frames),
        _per_frame_motion(before.motion, frames),
    )
    mask = is_after[:, None, :, None, None]
    return torch.where(mask, _render(after, steps, "plain"), _render(before, steps, "plain"))


def camera_path(keys: Tensor) -> Tensor:
    """Camera offset [B, F, 2] in pixels; the first latent frame's keys move nothing."""
    direction = torch.stack((keys[..., 3] - keys[..., 1], keys[..., 2] - keys[..., 0]), -1)
    step = direction[:, 1:].repeat_interleave(LATENT_STRIDE, 1) * CAMERA_PX
    return torch.cat((step.new_zeros(len(step), 1, 2), step.cumsum(1)), 1)


def _per_frame_motion(motion: Tensor, frames: int) -> Tensor:
    table = torch.tensor(MOTION_STEP, device=motion.device, dtype=torch.float32) * MOTION_PX
    step = table[motion][:, None].repeat(1, frames, 1)
    step[:, 0] = 0
    return step


def _render(batch: SceneBatch, steps: Tensor, style: str) -> Tensor:
    device = batch.position.device
    camera = camera_path(batch.keys)
    ground = _ground(batch, camera)
    first = _displacement(batch.position[:, None] + steps.cumsum(1) - camera)
    second = _displacement(batch.second_position[:, None] - camera)
    radius = torch.tensor(RADIUS_PX, device=device)[batch.size]
    colours = torch.tensor(COLOUR_RGB, device=device)
    far = torch.where(batch.second_shape < 0, 1e3, 0.0)[:, None, None, None]
    layers = (
        (
            signed_distance(
                second, batch.second_shape.clamp(min=0), torch.full_like(radius, SECOND_RADIUS_PX)
            )
            + far,
            colours[batch.second_colour],
        ),
        (signed_distance(first, batch.shape, radius), colours[batch.colour]),
    )
    image = ground if style == "plain" else 0.2 * ground
    for distance, colour in layers:
        paint = colour[:, :, None, None, None]
        if style == "plain":
            cover = (0.5 - distance / EDGE_PX).clamp(0, 1)[:, None]
            image = image + cover * (paint - image)
        else:
            image = _glow(image, distance[:, None], paint)
    night = torch.tensor(NIGHT_TINT, device=device).view(1, 3, 1, 1, 1)
    if style == "plain":
        image = torch.where(batch.light.view(-1, 1, 1, 1, 1) == 1, image * night, image)
    return image.clamp(0, 1)


def _glow(image: Tensor, distance: Tensor, paint: Tensor) -> Tensor:
    inside = (0.5 - distance / EDGE_PX).clamp(0, 1)
    image = image * (1 - 0.8 * inside)
    halo = 0.45 * torch.exp(-distance.abs() / 4.0)
    line = torch.exp(-((distance / 1.9) ** 2))
    image = image + paint * halo
    return image + line * ((0.25 + 0.75 * paint) - image)


def _displacement(centre: Tensor) -> Tensor:
    """[B, F, 96, 96, 2]: from the centre [B, F, 2] to every pixel, the short way round the torus."""
    axis = torch.arange(SIDE_PX, device=centre.device) + 0.5
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="ij")[::-1], -1)
    half = SIDE_PX / 2
    return torch.remainder(grid - centre[:, :, None, None] + half, SIDE_PX) - half


def signed_distance(d: Tensor, shape: Tensor, radius: Tensor) -> Tensor:
    """[B, F, H, W] distance in pixels to the outline (negative inside) of each sample's shape."""
    out = torch.empty(d.shape[:-1], device=d.device)
    for index, name in enumerate(SHAPES):
        rows = (shape == index).nonzero()[:, 0]
        if len(rows):
            out[rows] = _DISTANCE[name](d[rows], radius[rows].view(-1, 1, 1, 1))
    return out


def _circle(d: Tensor, r: Tensor) -> Tensor:
    return d.norm(dim=-1) - r


def _box(d: Tensor, half_x: Tensor, half_y: Tensor) -> Tensor:
    qx, qy = d[..., 0].abs() - half_x, d[..., 1].abs() - half_y
    outside = torch.hypot(qx.clamp(min=0), qy.clamp(min=0))
    return outside + torch.maximum(qx, qy).clamp(max=0)


def _square(d: Tensor, r: Tensor) -> Tensor:
    return _box(d, 0.86 * r, 0.86 * r)


def _cross(d: Tensor, r: Tensor) -> Tensor:
    return torch.minimum(_box(d, r, 0.35 * r), _box(d, 0.35 * r, r))


def _ring(d: Tensor, r: Tensor) -> Tensor:
    return (d.norm(dim=-1) - 0.78 * r).abs() - 0.24 * r


def _polygon(d: Tensor, corners: Sequence[tuple[float, float]], r: Tensor) -> Tensor:
    x, y = d[..., 0], d[..., 1]
    distance = torch.full_like(x, 1e6)
    sign = torch.ones_like(x)
    for (ax, ay), (bx, by) in zip(corners, (*corners[1:], corners[0]), strict=True):
        ex, ey = (bx - ax) * r, (by - ay) * r
        wx, wy = x - ax * r, y - ay * r
        along = ((wx * ex + wy * ey) / (ex * ex + ey * ey)).clamp(0, 1)
        distance = torch.minimum(distance, (wx - ex * along) ** 2 + (wy - ey * along) ** 2)
        above, below = y >= ay * r, y < by * r
        left = ex * wy > ey * wx
        flip = (above & below & left) | (~above & ~below & ~left)
        sign = torch.where(flip, -sign, sign)
    return sign * distance.sqrt()


def _triangle(d: Tensor, r: Tensor) -> Tensor:
    corners = [(math.sin(a) * 1.12, 0.12 - math.cos(a) * 1.12) for a in (0, 2 * math.pi / 3, 4 * math.pi / 3)]
    return _polygon(d, corners, r)


def _star(d: Tensor, r: Tensor) -> Tensor:
    corners = []
    for point in range(10):
        reach = 1.16 if point % 2 == 0 else 0.5
        angle = point * math.pi / 5
        corners.append((math.sin(angle) * reach, -math.cos(angle) * reach))
    return _polygon(d, corners, r)


_DISTANCE = {
    "circle": _circle,
    "square": _square,
    "triangle": _triangle,
    "star": _star,
    "ring": _ring,
    "cross": _cross,
}


def _ground(batch: SceneBatch, camera: Tensor) -> Tensor:
    device = camera.device
    textures = ground_textures().to(device)
    offset = batch.ground_offset[:, None] + camera.long()
    axis = torch.arange(SIDE_PX, device=device)
    columns = (axis + offset[..., 0:1]) % SIDE_PX
    rows = (axis + offset[..., 1:2]) % SIDE_PX
    flat = textures.flatten(2)[batch.ground]
    index = (rows[..., :, None] * SIDE_PX + columns[..., None, :]).flatten(1)
    picked = flat.gather(2, index[:, None].expand(-1, 3, -1))
    return picked.view(len(batch), 3, camera.shape[1], SIDE_PX, SIDE_PX)


@lru_cache(maxsize=1)
def ground_textures() -> Tensor:
    """[grounds, 3, 96, 96] in 0..1; each tiles the torus and differs over all of it."""
    axis = torch.arange(SIDE_PX, dtype=torch.float32)
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    turn = 2 * math.pi / SIDE_PX
    slow = 0.5 + 0.25 * torch.sin(turn * x + 0.6) + 0.25 * torch.cos(turn * y)
    patterns = (
        ((0.07, 0.13, 0.36), (0.16, 0.30, 0.58), 0.7 * _waves(x, y, turn) + 0.3 * slow),
        ((0.06, 0.26, 0.11), (0.20, 0.44, 0.16), 0.7 * _blotches(x, y, turn) + 0.3 * slow),
        ((0.62, 0.50, 0.32), (0.82, 0.71, 0.50), 0.7 * _ripples(x, y, turn) + 0.3 * slow),
        ((0.16, 0.16, 0.19), (0.46, 0.46, 0.48), 0.75 * _checks(x, y, turn) + 0.25 * slow),
        ((0.30, 0.12, 0.08), (0.55, 0.42, 0.36), 0.75 * _bricks(x, y) + 0.25 * slow),
        ((0.20, 0.08, 0.24), (0.42, 0.34, 0.52), 0.75 * _dots(x, y) + 0.25 * slow),
    )
    out = []
    for dark, bright, level in patterns:
        low, high = torch.tensor(dark).view(3, 1, 1), torch.tensor(bright).view(3, 1, 1)
        out.append(low + (high - low) * level.clamp(0, 1))
    return torch.stack(out)


def _waves(x: Tensor, y: Tensor, turn: float) -> Tensor:
    return 0.5 + 0.5 * torch.sin(
        turn * 4 * y + 1.6 * torch.sin(turn * 2 * x) + 0.8 * torch.sin(turn * 3 * x + 1)
    )


def _blotches(x: Tensor, y: Tensor, turn: float) -> Tensor:
    mix = (
        torch.sin(turn * (3 * x + y))
        + torch.sin(turn * (3 * y - 2 * x) + 1)
        + torch.sin(turn * (2 * x + 4 * y) + 2)
    )
    return torch.sigmoid(2.5 * mix)


def _ripples(x: Tensor, y: Tensor, turn: float) -> Tensor:
    return 0.5 + 0.5 * torch.sin(turn * (4 * x + 3 * y) + 1.2 * torch.sin(turn * (2 * y - x)))


def _checks(x: Tensor, y: Tensor, turn: float) -> Tensor:
    return torch.sigmoid(9 * torch.sin(turn * 2 * (x + 0.5)) * torch.sin(turn * 2 * (y + 0.5)))


def _bricks(x: Tensor, y: Tensor) -> Tensor:
    row = torch.div(y, 16, rounding_mode="floor")
    shifted = torch.remainder(x + 16 * torch.remainder(row, 2), 32)
    edge = torch.minimum(
        torch.minimum(shifted, 32 - shifted),
        torch.minimum(torch.remainder(y, 16), 16 - torch.remainder(y, 16)),
    )
    column = torch.div(torch.remainder(x + 16 * torch.remainder(row, 2), SIDE_PX), 32, rounding_mode="floor")
    tone = torch.remainder(row * 5 + column * 3, 4) / 3
    return 0.35 * tone + (0.95 - 0.35 * tone) * torch.sigmoid(1.6 * (1.8 - edge))


def _dots(x: Tensor, y: Tensor) -> Tensor:
    cell_x, cell_y = torch.div(x, 24, rounding_mode="floor"), torch.div(y, 24, rounding_mode="floor")
    reach = 4 + 1.7 * torch.remainder(cell_x * 2 + cell_y * 3, 4)
    distance = torch.hypot(torch.remainder(x, 24) - 11.5, torch.remainder(y, 24) - 11.5)
    return torch.sigmoid(1.6 * (reach - distance))
