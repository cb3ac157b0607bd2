"""The outline of a mask as polygons: what the catalog's latent mask can draw.

Coordinates: x to the right, y down, in pixels; corners lie between pixels. Outlines run clockwise around the
region, counter-clockwise around its holes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[int, int]
Loop = tuple[Point, ...]

CORNERS_MAX = 250
"""Fewer than the 256 a latent mask takes."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A connected region: its outer edge and the edges of its holes."""

    outer: Loop
    holes: tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class Edges:
    """Where inside and outside meet, each as (row, column), row 0 being above or left of the first pixel.

    `horizontal` and `vertical` name the first pixel of a pair of neighbours that differ, in a picture with a
    rim of one outside pixel; the flag says whether that first pixel is the inside one.
    """

    horizontal: Sequence[tuple[int, int, bool]]
    vertical: Sequence[tuple[int, int, bool]]


def pieces(edges: Edges) -> tuple[Piece, ...]:
    """The regions, each with its holes; exact to the pixel."""
    loops = [_without_straights(loop) for loop in _loops(_steps(edges))]
    outers = sorted((loop for loop in loops if _area(loop) > 0), key=_area)
    holes: dict[Loop, list[Loop]] = {outer: [] for outer in outers}
    for hole in (loop for loop in loops if _area(loop) < 0):
        owner = next(outer for outer in outers if _area(outer) > -_area(hole) and _around(outer, hole))
        holes[owner].append(hole)
    return tuple(Piece(outer, tuple(inside)) for outer, inside in holes.items())


def simplified(loop: Loop, corners_max: int = CORNERS_MAX) -> Loop:
    """With at most so many corners: as few as keep within the smallest distance in pixels that suffices."""
    tolerance = 0.75
    short = loop
    while len(short) > corners_max:
        short = _within(loop, tolerance)
        tolerance *= 1.5
    return short


def _steps(edges: Edges) -> dict[Point, list[Point]]:
    """Each unit step along the outline, inside to its right."""
    steps: dict[Point, list[Point]] = {}
    for row, column, is_first_inside in edges.horizontal:
        left, right = (column - 1, row), (column, row)
        start, end = (right, left) if is_first_inside else (left, right)
        steps.setdefault(start, []).append(end)
    for row, column, is_first_inside in edges.vertical:
        top, bottom = (column, row - 1), (column, row)
        start, end = (top, bottom) if is_first_inside else (bottom, top)
        steps.setdefault(start, []).append(end)
    return steps


def _loops(steps: dict[Point, list[Point]]) -> list[Loop]:
    loops = []
    while steps:
        start = next(iter(steps))
        loop, before, at = [start], start, steps[start][0]
        _take(steps, start, at)
        while at != start:
            loop.append(at)
            after = _rightmost(before, at, steps[at])
            _take(steps, at, after)
            before, at = at, after
        loops.append(tuple(loop))
    return loops


def _take(steps: dict[Point, list[Point]], start: Point, end: Point) -> None:
    steps[start].remove(end)
    if not steps[start]:
        del steps[start]


def _rightmost(before: Point, at: Point, ends: Sequence[Point]) -> Point:
    """Where two pixels touch at a corner only, turning right keeps them apart."""
    dx, dy = at[0] - before[0], at[1] - before[1]
    right = (at[0] - dy, at[1] + dx)
    return right if right in ends else ends[0]


def _without_straights(loop: Loop) -> Loop:
    kept = []
    for index, point in enumerate(loop):
        before, after = loop[index - 1], loop[(index + 1) % len(loop)]
        if (point[0] - before[0], point[1] - before[1]) != (after[0] - point[0], after[1] - point[1]):
            kept.append(point)
    return tuple(kept)


def _area(loop: Loop) -> float:
    """Positive when clockwise on a screen."""
    pairs = zip(loop, (*loop[1:], loop[0]), strict=True)
    return sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairs) / 2


def _around(outer: Loop, hole: Loop) -> bool:
    """Whether the pixel that a hole's first edge borders on, outside the hole, is inside `outer`."""
    (x0, y0), (x1, y1) = hole[0], hole[1]
    dx, dy = (x1 > x0) - (x1 < x0), (y1 > y0) - (y1 < y0)
    return _inside(outer, x0 + (dx - dy) / 2, y0 + (dy + dx) / 2)


def _inside(loop: Loop, x: float, y: float) -> bool:
    is_inside = False
    for (x0, y0), (x1, y1) in zip(loop, (*loop[1:], loop[0]), strict=True):
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) * (x1 - x0) / (y1 - y0):
            is_inside = not is_inside
    return is_inside


def _within(loop: Loop, tolerance: float) -> Loop:
    """Ramer-Douglas-Peucker on both halves of the loop."""
    far = max(range(len(loop)), key=lambda index: _squared(loop[0], loop[index]))
    kept = {0, far}
    ends = [(0, far), (far, len(loop))]
    closed = (*loop, loop[0])
    while ends:
        first, last = ends.pop()
        between = range(first + 1, last)
        if not between:
            continue
        worst = max(between, key=lambda index: _distance(closed[index], closed[first], closed[last]))
        if _distance(closed[worst], closed[first], closed[last]) > tolerance:
            kept.add(worst)
            ends += [(first, worst), (worst, last)]
    return tuple(loop[index] for index in sorted(kept))


def _squared(a: Point, b: Point) -> int:
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2


def _distance(point: Point, start: Point, end: Point) -> float:
    """To the line through both, or to the point where they are one."""
    length = _squared(start, end) ** 0.5
    if length == 0:
        return float(_squared(point, start) ** 0.5)
    (x0, y0), (x1, y1) = start, end
    cross = (x1 - x0) * (point[1] - y0) - (y1 - y0) * (point[0] - x0)
    return float(abs(cross) / length)
