"""What became of every node of a document from another program. Nothing is dropped without a line here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.showing import label, show

Source = Literal["rushes", "comfyui-file", "comfyui-prompt"]
State = Literal["mapped", "changed", "unmapped"]


@dataclass(frozen=True, slots=True)
class Covered:
    """One node of the document.

    `mapped`: `nodes` of ours do the same. `changed`: they do it otherwise, `reasons` say how. `unmapped`:
    it is left out, `reasons` say why, and `nearest` is the node type here that comes closest, if any does.
    """

    node_id: str
    class_type: str
    state: State
    nodes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    nearest: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "node_id": self.node_id,
            "class_type": self.class_type,
            "state": self.state,
            "nodes": list(self.nodes),
            "reasons": list(self.reasons),
            "nearest": self.nearest,
        }

    def diagnostic(self) -> Diagnostic | None:
        """A warning where something is lost or different."""
        if self.state == "mapped":
            return None
        code = "W_NO_EQUAL" if self.state == "unmapped" else "W_CHANGED"
        reasons = "; ".join(reason[:200] for reason in self.reasons[:4])
        message = f"{show(self.class_type)}: {reasons}"
        return Diagnostic(code, "warning", message, label(self.node_id), None, suggestion=self.nearest)


@dataclass(frozen=True, slots=True)
class Coverage:
    source: Source
    entries: tuple[Covered, ...] = ()

    @property
    def is_complete(self) -> bool:
        return all(entry.state != "unmapped" for entry in self.entries)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        found = (entry.diagnostic() for entry in self.entries)
        return tuple(one for one in found if one is not None)

    def to_json(self) -> dict[str, Any]:
        counts = Counter(entry.state for entry in self.entries)
        return {
            "source": self.source,
            "counts": {state: counts[state] for state in ("mapped", "changed", "unmapped")},
            "entries": [entry.to_json() for entry in self.entries],
        }

    def to_text(self) -> str:
        """A line a node that is not mapped as it is, and a line of counts."""
        lines = [
            f"{entry.state:8} {label(entry.node_id)} {label(entry.class_type)}: {'; '.join(entry.reasons)}"
            + (f" (nearest here: {entry.nearest})" if entry.nearest else "")
            for entry in self.entries
            if entry.state != "mapped"
        ]
        counts = self.to_json()["counts"]
        lines.append(", ".join(f"{count} {state}" for state, count in counts.items()))
        return "\n".join(lines) + "\n"
