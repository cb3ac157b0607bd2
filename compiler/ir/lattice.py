"""Frame counts and sizes a causal video autoencoder can hold.

The first latent frame is one pixel frame, each later one `temporal` pixel frames: 1, 5, 9, ... for 4.
"""

from __future__ import annotations


def latent_frame_count(frame_count: int, temporal: int) -> int:
    """Latent frames that hold `frame_count` pixel frames; the last may be partly filled."""
    return 1 + (frame_count - 1 + temporal - 1) // temporal


def is_on_lattice(frame_count: int, temporal: int) -> bool:
    return frame_count >= 1 and (frame_count - 1) % temporal == 0


def nearest_frame_count(frame_count: int, temporal: int, maximum: int) -> int:
    """The valid count nearest to `frame_count`, the higher one at a tie, at most `maximum`."""
    highest = (maximum - 1) // temporal
    nearest = (2 * (frame_count - 1) + temporal) // (2 * temporal)
    return 1 + temporal * max(0, min(nearest, highest))


def latent_frame_span(index: int, temporal: int) -> tuple[int, int]:
    """First and one past the last pixel frame of a latent frame."""
    return (0, 1) if index == 0 else (1 + temporal * (index - 1), 1 + temporal * index)


def nearest_multiple(length_px: int, step_px: int) -> int:
    return max(step_px, (length_px + step_px // 2) // step_px * step_px)
