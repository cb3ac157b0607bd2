from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.names import check_file_name
from rushes.compiler.ir.spec import Attr
from rushes.compiler.ir.values import VideoValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class SaveVideo(NodeType):
    """Write a video to a file.

    An endless rollout is written while it runs and closed when it is stopped.
    """

    type_id = "save_video"
    title = "Save video"
    is_output = True
    inputs: ClassVar = {"video": Socket((SocketType.VIDEO,), "What to write.")}

    name: str = param("video", max_length=80, doc="File name without its ending.")
    format: str = param("mp4", choices=("mp4",), doc="MP4 holds H.264, playable everywhere.")
    quality: int = param(18, ge=0, le=51, doc="Rate factor: 0 is lossless and large, 51 small and poor.")
    embed: bool = param(True, doc="Put this workflow into the file, so that the file opens as a graph.")

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        check_file_name(to, self.name)
        video = inputs.need("video", VideoValue)
        attrs: dict[str, Attr] = {
            "name": self.name,
            "format": self.format,
            "quality": self.quality,
            "embed": self.embed,
        }
        to.stage("save_video", {"video": video.name}, attrs)
        to.output("save_video", video.name)
        return {}
