from __future__ import annotations

from rushes.backend.engine.masks import TimeMask
from rushes.backend.engine.stages.stage import Host, Outputs, PlainStage, StageCall


def _run(call: StageCall, host: Host) -> Outputs:
    ranges = tuple((int(first), int(end), float(value)) for first, end, value in call.row("ranges"))
    return {"mask": TimeMask(ranges, call.number("other_value"), call.integer("frame_count"))}


STAGE = PlainStage("temporal_mask", _run)
