from __future__ import annotations

import torch

from rushes.backend.engine.masks import to_latent_cells
from rushes.backend.engine.stages.stage import Host, Outputs, PlainStage, StageCall
from rushes.backend.engine.values import Canvas, LatentMask, Mask


def _run(call: StageCall, host: Host) -> Outputs:
    canvas = Canvas(call.integer("width_px"), call.integer("height_px"), call.integer("frame_count"))
    drawn = call.need("mask", Mask).draw(canvas)
    cells = to_latent_cells(drawn, call.integer("spatial"), call.integer("temporal"))
    return {"mask_latent": LatentMask(torch.from_numpy(cells)[None, None])}


STAGE = PlainStage("mask_to_latent", _run)
