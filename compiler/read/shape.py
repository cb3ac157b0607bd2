"""The parts of rushes.workflow/1 and their keys: one table for the reader and for the JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ID_LIMIT = 128
NODE_LIMIT = 10_000
EDGE_LIMIT = 50_000
SUBGRAPH_LIMIT = 1000
EXPOSED_LIMIT = 1000  # names a subgraph exposes on one side, and ends of one name
LEVELS = ("exact", "pinned", "fast")
MODES = ("active", "muted", "bypassed")
INSTANCE = "subgraph"  # the type of a node that stands for a subgraph

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """An object of the document: its keys with their JSON Schemas, and which of them must be there.

    Keys that are not listed are allowed: the reader reports them, and whoever saves keeps them.
    """

    doc: str
    keys: Mapping[str, Schema]
    required: tuple[str, ...] = ()

    def to_schema(self) -> Schema:
        return {
            "description": self.doc,
            "type": "object",
            "properties": dict(self.keys),
            "required": list(self.required),
        }


def _ref(part: str) -> Schema:
    return {"$ref": f"#/$defs/{part}"}


def _map(values: Schema, limit: int | None = None) -> Schema:
    bound = {} if limit is None else {"maxProperties": limit}
    ids = {"minLength": 1, "maxLength": ID_LIMIT}
    return {"type": "object", "propertyNames": ids, "additionalProperties": values, **bound}


_TEXT: Schema = {"type": "string"}
_PAIR: Schema = {"type": "array", "prefixItems": [_TEXT, _TEXT], "items": False, "minItems": 2}
_SOCKET_END: Schema = {**_PAIR, "description": "[node id, socket name]"}
_PARAM_END: Schema = {**_PAIR, "description": "[node id, param name]"}

DOCUMENT = Part(
    "A workflow: what runs is `graph`, all else is for people.",
    {
        "schema": {"const": "rushes.workflow/1"},
        "id": _TEXT,
        "title": _TEXT,
        "requires": _ref("requires"),
        "graph": _ref("graph"),
        "view": {"type": "object", "description": "Places, sizes, wire points, camera. Nothing that runs."},
        "ext": {"type": "object", "description": "For other programs; kept as it is."},
    },
    ("schema", "graph"),
)
REQUIRES = Part(
    "What the workflow needs from the machine.",
    {
        "level": {"enum": [*LEVELS, None], "description": "The least that will do."},
        "checkpoints": {"type": "array", "items": _TEXT},
    },
)
GRAPH = Part(
    "Nodes and edges by id. Ids mean nothing but themselves.",
    {
        "nodes": _map(_ref("node"), NODE_LIMIT),
        "edges": _map(_ref("edge"), EDGE_LIMIT),
        "frames": {"type": "object", "description": "Groups of nodes, drawn around them."},
        "notes": {"type": "object", "description": "Text beside nodes."},
        "subgraphs": _map(_ref("subgraph"), SUBGRAPH_LIMIT),
    },
    ("nodes",),
)
NODE = Part(
    "One node. Params by name; what is left out has its default.",
    {
        "type": _TEXT,
        "version": {"type": ["integer", "null"]},
        "title": {"type": ["string", "null"]},
        "mode": {"enum": list(MODES)},
        "params": {"type": "object"},
        "subgraph": {**_TEXT, "description": "Of a node of type subgraph: the id of its definition."},
    },
    ("type",),
)
EDGE = Part("An output joined to an input.", {"from": _SOCKET_END, "to": _SOCKET_END}, ("from", "to"))
SUBGRAPH = Part(
    "A graph that nodes of type subgraph stand for, any number of them.",
    {
        "title": {"type": ["string", "null"]},
        "nodes": _map(_ref("node"), NODE_LIMIT),
        "edges": _map(_ref("edge"), EDGE_LIMIT),
        "frames": {"type": "object"},
        "notes": {"type": "object"},
        "inputs": _map(
            {
                "type": "object",
                "properties": {"to": {"type": "array", "items": _SOCKET_END}},
                "required": ["to"],
            }
        ),
        "outputs": _map({"type": "object", "properties": {"from": _SOCKET_END}, "required": ["from"]}),
        "params": _map(
            {
                "type": "object",
                "properties": {"to": {"type": "array", "items": _PARAM_END}},
                "required": ["to"],
            }
        ),
    },
    ("nodes",),
)
PARTS: Mapping[str, Part] = {
    "requires": REQUIRES,
    "graph": GRAPH,
    "node": NODE,
    "edge": EDGE,
    "subgraph": SUBGRAPH,
}
