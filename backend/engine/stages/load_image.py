from __future__ import annotations

from rushes.backend.engine.media.reading import read_image
from rushes.backend.engine.stages.stage import IO, Host, Outputs, PlainStage, StageCall


def _run(call: StageCall, host: Host) -> Outputs:
    return {"image": read_image(call.job.asset(call.text("asset")))}


STAGE = PlainStage("load_image", _run, slot=IO)
