from __future__ import annotations

from rushes.backend.engine.stages.stage import Host, Outputs, PlainStage, StageCall


def _run(call: StageCall, host: Host) -> Outputs:
    """Residency remembers loaded checkpoints, so this is not cached again."""
    model = host.residency.model(call.text("checkpoint"), call.text("precision"), call.text("content_id"))
    return {"model": model}


STAGE = PlainStage("load_model", _run, is_cached=False)
