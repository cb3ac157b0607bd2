from __future__ import annotations

from rushes.backend.engine.stages.stage import Host, Outputs, PlainStage, StageCall
from rushes.backend.engine.values import AdapterStack


def _run(call: StageCall, host: Host) -> Outputs:
    """Names and strengths only: the files are read when a model uses them."""
    entries = tuple((str(name), float(model), float(text)) for name, model, text in call.row("entries"))
    return {"adapters": AdapterStack(entries)}


STAGE = PlainStage("stack_adapters", _run)
