"""Frames at another size and length."""

from __future__ import annotations

import numpy as np
from PIL import Image

from rushes.backend.engine.values import Frames


def resized(frames: Frames, width_px: int, height_px: int) -> Frames:
    """Frames [F, H, W, 3] at another size (Lanczos); the same array when nothing changes."""
    if frames.shape[1:3] == (height_px, width_px):
        return frames
    size = (width_px, height_px)
    return np.stack([np.asarray(Image.fromarray(f).resize(size, Image.Resampling.LANCZOS)) for f in frames])


def held_to(frames: Frames, frame_count: int) -> Frames:
    """Cut to ``frame_count`` frames, or hold the last one until there are so many."""
    if frames.shape[0] >= frame_count:
        return frames[:frame_count]
    missing = frame_count - frames.shape[0]
    return np.concatenate([frames, np.repeat(frames[-1:], missing, axis=0)])
