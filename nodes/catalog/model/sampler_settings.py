from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.values import SamplerValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class SamplerSettings(NodeType):
    """How noise becomes video: steps, guidance, shift and the rule of one step.

    Leave it unconnected to use what the checkpoint was made for.
    """

    type_id = "sampler_settings"
    title = "Sampler settings"
    outputs: ClassVar = {"sampler": Socket((SocketType.SAMPLER,), "The settings.")}

    step_count: int = param(4, ge=1, le=200, doc="Sampler steps over the whole schedule.")
    guidance_scale: float = param(
        1.0, ge=1.0, le=30.0, step=0.1, doc="Pull towards the prompt. 1 turns it off, above doubles the work."
    )
    shift: float = param(
        3.0, ge=0.1, le=20.0, step=0.1, doc="Above 1 spends more of the schedule at high noise."
    )
    sampler: str = param("euler", choices=("euler", "unipc"), doc="Rule of one step.")

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        return {
            "sampler": SamplerValue(
                to.node_id, self.step_count, self.guidance_scale, self.shift, self.sampler
            )
        }
