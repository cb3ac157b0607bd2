from __future__ import annotations

from rushes.backend.engine.stages.stage import Host, Outputs, PlainStage, StageCall
from rushes.backend.engine.values import LiveActions


def _run(call: StageCall, host: Host) -> Outputs:
    """Updates arrive as control keys; the keymap is for whoever presses them."""
    return {"actions": LiveActions()}


STAGE = PlainStage("live_actions", _run)
