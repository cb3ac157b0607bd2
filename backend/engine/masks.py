"""Masks as formulas: drawn only when size and length are known. 0 keeps, 1 makes anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rushes.backend.engine.values import Canvas, Mask, MaskValues

Plane = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ShapeMask(Mask):
    """A shape that stands still: value inside, falling to 0 over ``feather_px`` pixels outside its edge.

    Units: box and points in fractions of the frame, from the top left; pixels are sampled at their centres.
    """

    shape: str
    box: tuple[float, float, float, float]
    """x, y, width, height"""
    points: tuple[tuple[float, float], ...]
    feather_px: float
    value: float
    is_inverted: bool

    @property
    def frames_spoken_of(self) -> int:
        return 0

    def draw(self, canvas: Canvas) -> MaskValues:
        coverage = _coverage(self, canvas)
        plane = (1.0 - coverage if self.is_inverted else coverage) * np.float32(self.value)
        return np.repeat(plane[None], canvas.frame_count, axis=0)


@dataclass(frozen=True, slots=True)
class TimeMask(Mask):
    """Values of ranges of frames, and one for all other frames."""

    ranges: tuple[tuple[int, int, float], ...]
    """first frame, one past the last, value"""
    other_value: float
    frame_count: int

    @property
    def frames_spoken_of(self) -> int:
        return self.frame_count

    def draw(self, canvas: Canvas) -> MaskValues:
        values = np.full(canvas.frame_count, self.other_value, dtype=np.float32)
        for first, end, value in self.ranges:
            values[first:end] = value
        shape = (canvas.frame_count, canvas.height_px, canvas.width_px)
        return np.broadcast_to(values[:, None, None], shape)


@dataclass(frozen=True, slots=True)
class CombinedMask(Mask):
    """Two masks, joined pixel by pixel."""

    first: Mask
    second: Mask
    mode: str

    @property
    def frames_spoken_of(self) -> int:
        return max(self.first.frames_spoken_of, self.second.frames_spoken_of)

    def draw(self, canvas: Canvas) -> MaskValues:
        return COMBINATIONS[self.mode](self.first.draw(canvas), self.second.draw(canvas))


COMBINATIONS: Final[Mapping[str, Callable[[MaskValues, MaskValues], MaskValues]]] = {
    "union": np.maximum,
    "intersect": np.minimum,
    "subtract": lambda a, b: a * (1.0 - b),
    "multiply": lambda a, b: a * b,
}


def to_latent_cells(mask: MaskValues, spatial: int, temporal: int) -> MaskValues:
    """Pixels to cells: mean over a cell's pixels, then the largest over the frames of a latent frame.

    Shapes: [1 + temporal * k, H, W] -> [1 + k, H / spatial, W / spatial].
    Errors: ValueError off that lattice.
    """
    frames, height, width = mask.shape
    if (frames - 1) % temporal or height % spatial or width % spatial:
        raise ValueError(
            f"a mask of 1 + {temporal}k frames and sides that are multiples of {spatial} was expected, "
            f"got {frames} frames of {width}x{height}"
        )
    split = mask.reshape(frames, height // spatial, spatial, width // spatial, spatial)
    cells = split.mean(axis=(2, 4), dtype=np.float64).astype(np.float32)
    later = cells[1:].reshape(-1, temporal, *cells.shape[1:]).max(axis=1)
    return np.concatenate([cells[:1], later])


def _coverage(mask: ShapeMask, canvas: Canvas) -> Plane:
    x, y = np.meshgrid(
        np.arange(canvas.width_px, dtype=np.float64) + 0.5,
        np.arange(canvas.height_px, dtype=np.float64) + 0.5,
    )
    distance = _DISTANCES[mask.shape](mask, canvas, x, y)
    if mask.feather_px <= 0.0:
        return (distance <= 0.0).astype(np.float32)
    return np.clip(1.0 - np.maximum(distance, 0.0) / mask.feather_px, 0.0, 1.0).astype(np.float32)


Points = NDArray[np.float64]


def _full(mask: ShapeMask, canvas: Canvas, x: Points, y: Points) -> Points:
    return np.full_like(x, -1.0)


def _rectangle(mask: ShapeMask, canvas: Canvas, x: Points, y: Points) -> Points:
    """Pixels outside the box's edge, negative inside."""
    left, top, width, height = _box_px(mask, canvas)
    dx = np.maximum(left - x, x - (left + width))
    dy = np.maximum(top - y, y - (top + height))
    outside = np.hypot(np.maximum(dx, 0.0), np.maximum(dy, 0.0))
    return outside + np.minimum(np.maximum(dx, dy), 0.0)


def _ellipse(mask: ShapeMask, canvas: Canvas, x: Points, y: Points) -> Points:
    """Pixels outside the ellipse, to first order: the implicit function over the length of its gradient."""
    left, top, width, height = _box_px(mask, canvas)
    if width <= 0.0 or height <= 0.0:
        return np.full_like(x, np.inf)
    half_width, half_height = width / 2.0, height / 2.0
    u, v = (x - left - half_width) / half_width, (y - top - half_height) / half_height
    radius = np.hypot(u, v)
    slope = np.hypot(u / half_width, v / half_height)
    far = radius * (radius - 1.0) / np.maximum(slope, 1e-12)
    return np.where(radius > 0.0, far, -min(half_width, half_height))


def _polygon(mask: ShapeMask, canvas: Canvas, x: Points, y: Points) -> Points:
    """Pixels to the nearest side, negative inside by the even-odd rule."""
    if len(mask.points) < 3:
        return np.full_like(x, np.inf)
    corners = [(px * canvas.width_px, py * canvas.height_px) for px, py in mask.points]
    nearest = np.full_like(x, np.inf)
    inside = np.zeros(x.shape, dtype=bool)
    for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True):
        nearest = np.minimum(nearest, _to_segment(x, y, (ax, ay), (bx, by)))
        if ay != by:
            crosses = (ay > y) != (by > y)
            inside ^= crosses & (x < ax + (y - ay) * (bx - ax) / (by - ay))
    return np.where(inside, -nearest, nearest)


def _to_segment(x: Points, y: Points, a: tuple[float, float], b: tuple[float, float]) -> Points:
    (ax, ay), (bx, by) = a, b
    length = (bx - ax) ** 2 + (by - ay) ** 2
    share = (
        0.0 if length == 0.0 else np.clip(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length, 0.0, 1.0)
    )
    return np.hypot(x - ax - share * (bx - ax), y - ay - share * (by - ay))


def _box_px(mask: ShapeMask, canvas: Canvas) -> tuple[float, float, float, float]:
    x, y, width, height = mask.box
    return x * canvas.width_px, y * canvas.height_px, width * canvas.width_px, height * canvas.height_px


_DISTANCES: Final[Mapping[str, Callable[[ShapeMask, Canvas, Points, Points], Points]]] = {
    "full": _full,
    "rectangle": _rectangle,
    "ellipse": _ellipse,
    "polygon": _polygon,
}
