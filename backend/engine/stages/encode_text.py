from __future__ import annotations

from rushes.backend.engine.stages.stage import Host, Outputs, PlainStage, StageCall
from rushes.backend.engine.values import AdapterStack, Conditioning, Model


def _run(call: StageCall, host: Host) -> Outputs:
    model, adapters = call.need("model", Model), call.find("adapters", AdapterStack)
    stack = host.residency.text_stack(model, adapters)
    lanes = model.components.text_lanes([stack]) if stack else None
    prompt = call.text("text")
    return {"conditioning": Conditioning(model.components.encode_text([prompt], lanes), prompt)}


STAGE = PlainStage("encode_text", _run)
