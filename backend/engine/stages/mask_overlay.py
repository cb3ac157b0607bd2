from __future__ import annotations

import numpy as np
from PIL import ImageColor

from rushes.backend.engine.media.resizing import held_to
from rushes.backend.engine.stages.stage import IO, Host, Outputs, PlainStage, StageCall
from rushes.backend.engine.values import Canvas, Clip, Frames, Mask, MaskValues


def _run(call: StageCall, host: Host) -> Outputs:
    """A mask that speaks of more frames than the video has holds the last one: no frame is foretold."""
    clip, mask = call.need("video", Clip), call.need("mask", Mask)
    frames = held_to(clip.frames, max(clip.frame_count, mask.frames_spoken_of))
    canvas = Canvas(clip.width_px, clip.height_px, frames.shape[0])
    painted = _painted(frames, mask.draw(canvas), call.text("colour"), call.number("opacity"))
    return {"video": Clip(painted, clip.fps, clip.latent_sha256)}


def _painted(frames: Frames, mask: MaskValues, colour: str, opacity: float) -> Frames:
    paint = np.array(ImageColor.getrgb(colour)[:3], dtype=np.float32)
    share = (mask * np.float32(opacity))[..., None]
    return np.round(frames * (1.0 - share) + paint * share).astype(np.uint8)


STAGE = PlainStage("mask_overlay", _run, slot=IO)
