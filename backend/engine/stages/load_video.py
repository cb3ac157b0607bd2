from __future__ import annotations

from rushes.backend.engine.media.reading import read_video
from rushes.backend.engine.stages.stage import IO, Host, Outputs, PlainStage, StageCall


def _run(call: StageCall, host: Host) -> Outputs:
    return {"video": read_video(call.job.asset(call.text("asset")))}


STAGE = PlainStage("load_video", _run, slot=IO)
