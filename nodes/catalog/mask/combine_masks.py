from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.values import Clip, MaskValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class CombineMasks(NodeType):
    """Join two masks into one.

    - intersect: new where both say so (the smaller value).
    - union: new where one of them says so (the larger value).
    - subtract: new where a says so and b does not: a * (1 - b).
    - multiply: a * b.
    """

    type_id = "combine_masks"
    title = "Combine masks"
    inputs: ClassVar = {
        "a": Socket((SocketType.MASK,), "The first mask."),
        "b": Socket((SocketType.MASK,), "The second mask."),
    }
    outputs: ClassVar = {"mask": Socket((SocketType.MASK,), "Both in one.")}

    mode: str = param(
        "intersect", choices=("intersect", "union", "subtract", "multiply"), doc="How they are joined."
    )

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        a, b = inputs.need("a", MaskValue), inputs.need("b", MaskValue)
        node_id = to.node_id

        def draw(at: Lowering, clip: Clip) -> str:
            reads = {"a": a.draw(at, clip), "b": b.draw(at, clip)}
            return at.at(node_id).stage("combine_masks", reads, {"mode": self.mode})["mask"]

        def profile(clip: Clip) -> tuple[tuple[float, float], ...]:
            pairs = zip(a.profile(clip), b.profile(clip), strict=True)
            return tuple(self._join(in_a, in_b) for in_a, in_b in pairs)

        source = b.source if a.source is None else a.source
        frame_count = max(a.frame_count, b.frame_count)
        return {"mask": MaskValue(node_id, draw, profile, a.extends or b.extends, source, frame_count)}

    def _join(self, a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
        """Bounds of the joined value from the bounds of both."""
        if self.mode == "intersect":
            return (min(a[0], b[0]), min(a[1], b[1]))
        if self.mode == "union":
            return (max(a[0], b[0]), max(a[1], b[1]))
        if self.mode == "subtract":
            return (a[0] * (1.0 - b[1]), a[1] * (1.0 - b[0]))
        return (a[0] * b[0], a[1] * b[1])
