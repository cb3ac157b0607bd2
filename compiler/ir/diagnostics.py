"""What the compiler has to say about a workflow: one closed list of codes, one shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

Severity = Literal["error", "warning", "note"]
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

CODES: Mapping[str, str] = {
    "E_MALFORMED": "The text or the document has another shape than rushes.workflow/1.",
    "E_SCHEMA": "The document names a schema this version does not read.",
    "E_TOO_LARGE": "The document passes a bound on nodes, edges, depth or text.",
    "E_UNKNOWN_NODE_TYPE": "No node type of that name is in the catalog.",
    "E_NODE_VERSION": "The node was saved by a newer version of its type.",
    "E_UNKNOWN_PARAM": "The node type has no param of that name.",
    "E_PARAM_TYPE": "A param holds another kind of value than declared.",
    "E_PARAM_RANGE": "A number or text is outside its declared range.",
    "E_PARAM_VALUE": "A param's text cannot be read, or its value does not fit the others.",
    "E_UNKNOWN_CHOICE": "A choice that is not on the list.",
    "E_UNKNOWN_NODE": "An edge or a target names a node that is not in the graph.",
    "E_UNKNOWN_SOCKET": "An edge names a socket its node does not have.",
    "E_SOCKET_TYPE": "An edge joins two sockets of types that do not fit.",
    "E_SOCKET_TAKEN": "Several edges end in one input.",
    "E_MISSING_INPUT": "A required input has no edge.",
    "E_SUBGRAPH": "A subgraph is not defined, holds itself, or nests too deep.",
    "E_CYCLE": "Nodes feed each other in a circle.",
    "E_NO_OUTPUT": "Nothing in the graph asks for a result.",
    "E_UNKNOWN_CHECKPOINT": "The checkpoint is not on this machine.",
    "E_UNKNOWN_ADAPTER": "The adapter is not on this machine.",
    "E_UNKNOWN_ASSET": "The image or clip is not on this machine.",
    "E_ADAPTER": "The LoRA was made for another family, or its rank is over what the checkpoint takes.",
    "E_CAPABILITY": "The checkpoint cannot do what the node asks.",
    "E_SIZE": "The checkpoint does not make frames of that size.",
    "E_OFF_LATTICE": "The frame count does not fit the checkpoint's latent frames.",
    "E_FRAME_COUNT": "More frames than the checkpoint makes in one pass, or fewer than needed.",
    "E_SCHEDULE_EMPTY": "The denoise strength leaves no step to run.",
    "E_UNKNOWN_KEY": "A control key the checkpoint does not know.",
    "E_ENDLESS": "A node that needs a clip with an end is fed by an endless rollout.",
    "E_LEVEL": "The workflow demands a level its nodes cannot give.",
    "W_CHANGED": "A node of another program does something else here, or does it otherwise.",
    "W_NO_EQUAL": "A node of another program has no equal here and is left out.",
    "N_UNKNOWN_KEY": "A key of the document that this version does not know; it is kept.",
    "N_MIGRATED": "The document was made by an older version and has been brought up to date.",
    "N_MUTED": "A node is not run because it, or a node it needs, is muted.",
    "N_NO_EFFECT": "A setting that changes nothing here.",
    "N_RESIZED": "The source is brought to the size the checkpoint makes.",
    "N_SNAPPED": "Kept frames were cut to whole latent frames.",
    "N_OLDER_VERSION": "The node was saved by an older version of its type.",
}


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `param` names a param or a socket; `suggestion` is a value that would work."""

    code: str
    severity: Severity
    message: str
    node_id: str | None = None
    param: str | None = None
    expected: str | None = None
    given: str | None = None
    suggestion: Json = None

    def to_json(self) -> dict[str, Json]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __str__(self) -> str:
        """`error E_CYCLE at mask.source: ...`, one line."""
        place = ".".join(part for part in (self.node_id, self.param) if part is not None)
        at = f" at {place}" if place else ""
        hint = "" if self.suggestion is None else f" (try {self.suggestion!r})"
        return f"{self.severity} {self.code}{at}: {self.message}{hint}"


def has_errors(diagnostics: Sequence[Diagnostic]) -> bool:
    return any(found.severity == "error" for found in diagnostics)
