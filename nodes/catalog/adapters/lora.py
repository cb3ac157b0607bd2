from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.values import AdapterEntry, AdaptersValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class Lora(NodeType):
    """Add a LoRA to the model. Chain several; their order is kept.

    Strength 0, or switched off, is exactly the model without it.
    """

    type_id = "lora"
    title = "LoRA"
    inputs: ClassVar = {
        "adapters": Socket((SocketType.ADAPTERS,), "LoRAs that come before this one.", optional=True)
    }
    outputs: ClassVar = {"adapters": Socket((SocketType.ADAPTERS,), "The chain up to here.")}

    file: str = param("neon", choices_from="adapters", doc="Which LoRA.")
    strength: float = param(1.0, ge=-4.0, le=4.0, step=0.05, doc="Strength in the transformer. 0 is off.")
    text_strength: float = param(
        1.0,
        ge=-4.0,
        le=4.0,
        step=0.05,
        doc="Strength in the text encoder. No effect yet: LoRAs reach the transformer only.",
    )
    enabled: bool = param(True, doc="Off leaves the LoRA out.")

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        chain = inputs.find("adapters", AdaptersValue)
        before = () if chain is None else chain.entries
        if not self.enabled or self.strength == 0.0:
            return {"adapters": AdaptersValue(to.node_id, before)}
        if self.text_strength != 1.0:
            to.note(
                "N_NO_EFFECT",
                "LoRAs reach the transformer only; the text strength changes nothing",
                param="text_strength",
            )
        facts = to.target.adapters[self.file]
        entry = AdapterEntry(facts.adapter, self.strength, self.text_strength, facts.content_id, to.node_id)
        return {"adapters": AdaptersValue(to.node_id, (*before, entry))}
