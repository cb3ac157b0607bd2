from __future__ import annotations

from rushes.backend.engine.masks import CombinedMask
from rushes.backend.engine.stages.stage import Host, Outputs, PlainStage, StageCall
from rushes.backend.engine.values import Mask


def _run(call: StageCall, host: Host) -> Outputs:
    return {"mask": CombinedMask(call.need("a", Mask), call.need("b", Mask), call.text("mode"))}


STAGE = PlainStage("combine_masks", _run)
