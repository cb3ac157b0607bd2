from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.facts import CheckpointFacts
from rushes.compiler.ir.values import ModelValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class LoadModel(NodeType):
    """Choose the checkpoint that makes the video.

    Equal loads of one workflow are one load.
    """

    type_id = "load_model"
    title = "Load model"
    outputs: ClassVar = {"model": Socket((SocketType.MODEL,), "The checkpoint, ready to run.")}

    checkpoint: str = param("shapes", choices_from="checkpoints", doc="Which checkpoint.")
    precision: str = param(
        "auto",
        choices=("auto", "fp32", "bf16"),
        doc="Number format of the weights. Auto: fp32 on a CPU, bf16 on a GPU, where the checkpoint has it.",
    )

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        facts = to.target.checkpoints[self.checkpoint]
        precision = self._precision(to, facts)
        attrs = {"checkpoint": facts.checkpoint, "precision": precision, "content_id": facts.content_id}
        return {"model": ModelValue(to.stage("load_model", {}, attrs)["model"], facts)}

    def _precision(self, to: Lowering, facts: CheckpointFacts) -> str:
        if self.precision == "auto":
            wanted = "fp32" if to.target.device_kind == "cpu" else "bf16"
            return wanted if wanted in facts.precisions else facts.precisions[0]
        if self.precision not in facts.precisions:
            raise to.error(
                "E_CAPABILITY",
                f"{facts.checkpoint} runs in {', '.join(facts.precisions)}, got {self.precision}",
                param="precision",
                expected=", ".join(facts.precisions),
                given=self.precision,
                suggestion=facts.precisions[0],
            )
        return self.precision
