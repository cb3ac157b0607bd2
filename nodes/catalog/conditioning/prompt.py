from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.values import PromptValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class Prompt(NodeType):
    """Say in plain words what the video shows."""

    type_id = "prompt"
    title = "Prompt"
    outputs: ClassVar = {
        "prompt": Socket((SocketType.PROMPT,), "The text, to be encoded by the model it meets.")
    }

    text: str = param(
        "a large red circle moves left over a blue ground",
        multiline=True,
        max_length=8000,
        live=True,
        doc="What to show. May be changed while a rollout runs.",
    )
    negative: str = param(
        "",
        multiline=True,
        max_length=8000,
        doc="What to stay away from. Used where the guidance scale is above 1.",
    )

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        return {"prompt": PromptValue(to.node_id, self.text, self.negative)}
