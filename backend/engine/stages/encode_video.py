from __future__ import annotations

import torch

from rushes.backend.engine.media.resizing import held_to, resized
from rushes.backend.engine.stages.stage import Host, Outputs, PlainStage, StageCall
from rushes.backend.engine.values import Clip, Latent, Model


def _run(call: StageCall, host: Host) -> Outputs:
    """The source at the size and length asked for; a shorter one holds its last frame."""
    model, clip = call.need("model", Model), call.need("video", Clip)
    frames = held_to(clip.frames, call.integer("frame_count"))
    frames = resized(frames, call.integer("width_px"), call.integer("height_px"))
    return {"latent": Latent(model.components.encode_video(torch.tensor(frames)))}


STAGE = PlainStage("encode_video", _run)
