from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.values import ImageValue, VideoValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value


@dataclass(frozen=True, kw_only=True)
class Preview(NodeType):
    """Look at a video or picture here, without giving it a name."""

    type_id = "preview"
    title = "Preview"
    is_output = True
    inputs: ClassVar = {"video": Socket((SocketType.VIDEO, SocketType.IMAGE), "What to look at.")}

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        shown = inputs.get("video")
        if isinstance(shown, VideoValue | ImageValue):
            to.stage("preview", {"video": shown.name}, {})
            to.output("preview", shown.name)
        return {}
