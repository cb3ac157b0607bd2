from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.spec import Attr
from rushes.compiler.ir.values import Clip, ImageValue, MaskValue, VideoValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param

_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True, kw_only=True)
class MaskOverlay(NodeType):
    """Show a mask as a tint over a video or picture. Needs no model and no GPU."""

    type_id = "mask_overlay"
    title = "Mask overlay"
    inputs: ClassVar = {
        "video": Socket((SocketType.VIDEO, SocketType.IMAGE), "What lies below."),
        "mask": Socket((SocketType.MASK,), "What is shown on it."),
    }
    outputs: ClassVar = {"video": Socket((SocketType.VIDEO,), "Both together.")}

    colour: str = param("#ff3b30", max_length=7, doc="Tint where the mask is 1, as #rrggbb.")
    opacity: float = param(0.5, ge=0.0, le=1.0, step=0.05, doc="Strength of the tint where the mask is 1.")

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        if not _COLOUR.fullmatch(self.colour):
            raise to.error(
                "E_PARAM_VALUE",
                f"a colour is # and six hex digits, got {self.colour!r}",
                param="colour",
                expected="#rrggbb",
                given=repr(self.colour),
                suggestion="#ff3b30",
            )
        below, mask = inputs.get("video"), inputs.need("mask", MaskValue)
        clip = self._clip(to, below)
        if not isinstance(below, VideoValue | ImageValue):
            return {}
        if isinstance(below, VideoValue):
            mask.check_length(to, clip)
        reads: dict[str, str | None] = {"video": below.name, "mask": mask.draw(to, clip)}
        attrs: dict[str, Attr] = {"colour": self.colour.lower(), "opacity": self.opacity}
        video = to.stage("mask_overlay", reads, attrs)["video"]
        return {"video": VideoValue(video, below.width_px, below.height_px, clip.frame_count, clip.fps)}

    def _clip(self, to: Lowering, below: Value | None) -> Clip:
        if not isinstance(below, VideoValue):
            return Clip(frame_count=1, fps=1.0, source_frame_count=1)
        if below.frame_count == 0:
            raise to.error(
                "E_ENDLESS", "a mask lies on a video with an end, got an endless rollout", param="video"
            )
        return Clip(below.frame_count, below.fps, below.frame_count)
