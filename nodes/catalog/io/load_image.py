from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.values import ImageValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class LoadImage(NodeType):
    """Bring in a picture: PNG, JPEG or WebP, uploaded or shipped."""

    type_id = "load_image"
    title = "Load image"
    outputs: ClassVar = {"image": Socket((SocketType.IMAGE,), "The picture.")}

    file: str = param("", choices_from="images", doc="Which picture.")

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        facts = to.target.assets[self.file]
        image = to.stage("load_image", {}, {"asset": facts.asset, "content_id": facts.content_id})["image"]
        return {"image": ImageValue(image, facts.width_px, facts.height_px)}
