from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.values import VideoValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class LoadVideo(NodeType):
    """Bring in a clip, uploaded or shipped."""

    type_id = "load_video"
    title = "Load video"
    outputs: ClassVar = {"video": Socket((SocketType.VIDEO,), "The clip, at its own size and rate.")}

    file: str = param("shapes-source.mp4", choices_from="videos", doc="Which clip.")

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        facts = to.target.assets[self.file]
        video = to.stage("load_video", {}, {"asset": facts.asset, "content_id": facts.content_id})["video"]
        return {
            "video": VideoValue(video, facts.width_px, facts.height_px, facts.frame_count, float(facts.fps))
        }
