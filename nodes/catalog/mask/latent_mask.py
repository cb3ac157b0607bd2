from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.spec import Attr
from rushes.compiler.ir.values import Clip, ImageValue, MaskValue, VideoValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class LatentMask(NodeType):
    """Choose a region of the frame: what lies inside is made anew, the rest is kept.

    0 keeps, 1 regenerates, between blends. The same region in every frame; combine it with a temporal
    mask to choose frames too. Connect a source to see the region on it without loading a model.
    """

    type_id = "latent_mask"
    title = "Latent mask"
    inputs: ClassVar = {
        "source": Socket(
            (SocketType.VIDEO, SocketType.IMAGE), "The picture the region is drawn on.", optional=True
        )
    }
    outputs: ClassVar = {"mask": Socket((SocketType.MASK,), "The region.")}

    shape: str = param(
        "rectangle", choices=("rectangle", "ellipse", "polygon", "full"), doc="Full is the whole frame."
    )
    x: float = param(0.25, ge=-1.0, le=2.0, step=0.01, doc="Left edge of the box, as a share of the width.")
    y: float = param(0.25, ge=-1.0, le=2.0, step=0.01, doc="Top edge of the box, as a share of the height.")
    width: float = param(0.5, ge=0.01, le=2.0, step=0.01, doc="Width of the box, as a share of the frame's.")
    height: float = param(
        0.5, ge=0.01, le=2.0, step=0.01, doc="Height of the box, as a share of the frame's."
    )
    points: str = param(
        "0.5,0.2 0.8,0.8 0.2,0.8",
        max_length=4000,
        doc="Corners of the polygon: x,y pairs in shares of the frame, apart by spaces.",
    )
    feather_px: float = param(0.0, ge=0.0, le=512.0, step=1.0, unit="px", doc="Soft rim outside the edge.")
    value: float = param(1.0, ge=0.0, le=1.0, step=0.05, doc="Mask inside the region: 1 makes it wholly new.")
    invert: bool = param(False, doc="Make the outside anew and keep the inside.")

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        source = inputs.get("source")
        attrs: dict[str, Attr] = {
            "shape": self.shape,
            "x": self.x,
            "y": self.y,
            "width": self.width,
            "height": self.height,
            "points": self._corners(to) if self.shape == "polygon" else (),
            "feather_px": self.feather_px,
            "value": self.value,
            "invert": self.invert,
        }
        node_id = to.node_id

        def draw(at: Lowering, clip: Clip) -> str:
            return at.at(node_id).stage("latent_mask", {}, attrs)["mask"]

        def profile(clip: Clip) -> tuple[tuple[float, float], ...]:
            return (self._range(),) * clip.frame_count

        designed_on = source if isinstance(source, VideoValue | ImageValue) else None
        return {"mask": MaskValue(node_id, draw, profile, False, designed_on)}

    def _range(self) -> tuple[float, float]:
        """Lowest and highest value anywhere in the frame."""
        if self.shape != "full":
            return (0.0, self.value)
        everywhere = 0.0 if self.invert else self.value
        return (everywhere, everywhere)

    def _corners(self, to: Lowering) -> tuple[Point, ...]:
        words = self.points.split()
        corners = tuple(corner for word in words if (corner := _point(word)) is not None)
        if len(corners) != len(words) or not 3 <= len(corners) <= 256:
            wrong = next((word for word in words if _point(word) is None), f"{len(words)} corners")
            raise to.error(
                "E_PARAM_VALUE",
                f"points are 3 to 256 pairs such as 0.5,0.2 between -1 and 2, got {wrong!r}",
                param="points",
                expected="x,y pairs apart by spaces",
                given=repr(wrong),
                suggestion="0.5,0.2 0.8,0.8 0.2,0.8",
            )
        return corners


def _point(word: str) -> Point | None:
    left, comma, right = word.partition(",")
    try:
        x, y = float(left), float(right)
    except ValueError:
        return None
    return (x, y) if comma and -1.0 <= x <= 2.0 and -1.0 <= y <= 2.0 else None
