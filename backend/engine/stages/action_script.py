from __future__ import annotations

from rushes.backend.engine.stages.stage import Host, Outputs, PlainStage, StageCall
from rushes.backend.engine.values import ScriptedActions


def _run(call: StageCall, host: Host) -> Outputs:
    script = tuple(tuple(str(key) for key in keys) for keys in call.row("script"))
    return {"actions": ScriptedActions(script, is_loop=call.text("repeat") == "loop")}


STAGE = PlainStage("action_script", _run)
