from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.names import check_file_name
from rushes.compiler.ir.spec import Attr
from rushes.compiler.ir.values import ImageValue, VideoValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class SaveImage(NodeType):
    """Write a picture, or one frame of a video, to a file."""

    type_id = "save_image"
    title = "Save image"
    is_output = True
    inputs: ClassVar = {
        "image": Socket((SocketType.IMAGE, SocketType.VIDEO), "A picture, or a video to take one from.")
    }

    name: str = param("image", max_length=80, doc="File name without its ending.")
    format: str = param("png", choices=("png", "webp"), doc="Both lossless.")
    frame_index: int = param(
        0, ge=-100_000, le=100_000, doc="Which frame of a video, from 0; -1 is the last. Pictures have one."
    )

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        check_file_name(to, self.name)
        shown = inputs.get("image")
        if isinstance(shown, VideoValue):
            self._check_frame(to, shown)
        if isinstance(shown, VideoValue | ImageValue):
            attrs: dict[str, Attr] = {
                "name": self.name,
                "format": self.format,
                "frame_index": self.frame_index,
            }
            to.stage("save_image", {"image": shown.name}, attrs)
            to.output("save_image", shown.name)
        return {}

    def _check_frame(self, to: Lowering, video: VideoValue) -> None:
        if video.frame_count == 0 and self.frame_index < 0:
            raise to.error(
                "E_ENDLESS",
                f"an endless rollout has no last frame; expected frame_index from 0, got {self.frame_index}",
                param="frame_index",
                expected="0 or more",
                given=str(self.frame_index),
                suggestion=0,
            )
        if video.frame_count and not -video.frame_count <= self.frame_index < video.frame_count:
            last = video.frame_count - 1
            raise to.error(
                "E_PARAM_RANGE",
                f"the video has frames 0 to {last}, got {self.frame_index}",
                param="frame_index",
                expected=f"-{video.frame_count} to {last}",
                given=str(self.frame_index),
                suggestion=last if self.frame_index > 0 else 0,
            )
