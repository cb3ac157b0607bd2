"""Workflows of ours in ComfyUI's API format, as nodes of our pack for ComfyUI: read back, unchanged.

What the format has no place for (versions, names of outputs, ids of edges, which params were written out)
rides in `_meta.rushes`, which ComfyUI hands on unread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rushes.compiler.read.comfyui_mapping import is_edge
from rushes.compiler.read.coverage import Coverage, Covered, State
from rushes.compiler.read.migrations import WORKFLOW

PREFIX = "Rushes"
META = "rushes"
_WORD = re.compile(r"[A-Z][a-z0-9]*")

Prompt = Mapping[Any, Mapping[str, Any]]


def class_of(type_id: str) -> str:
    """load_model is RushesLoadModel."""
    return PREFIX + "".join(word.capitalize() for word in type_id.split("_"))


def type_of(class_type: str) -> str:
    """RushesLoadModel is load_model."""
    return "_".join(word.lower() for word in _WORD.findall(class_type.removeprefix(PREFIX)))


def is_own_prompt(prompt: Prompt) -> bool:
    """True if every node is one of our pack, as this room writes them."""
    classes = [node.get("class_type") for node in prompt.values()]
    own = [one for one in classes if isinstance(one, str) and one.startswith(PREFIX)]
    return len(own) == len(classes) > 0 and all(_meta(node) for node in prompt.values())


def read_own_prompt(prompt: Prompt) -> tuple[dict[str, Any], Coverage]:
    """The workflow such a prompt was written from."""
    nodes: dict[str, Any] = {}
    edges: dict[str, Any] = {}
    entries: list[Covered] = []
    outputs = {str(node_id): _meta(node).get("outputs", []) for node_id, node in prompt.items()}
    for key, node in prompt.items():
        node_id, class_type = str(key), str(node["class_type"])
        inputs = node.get("inputs")
        given = inputs if isinstance(inputs, Mapping) else {}
        meta, reasons = _meta(node), []
        params: dict[str, Any] = {}
        for name, value in given.items():
            if not is_edge(value):
                params[name] = value["__value__"] if _is_wrapped(value) else value
                continue
            names = outputs.get(value[0])
            if not isinstance(names, list) or value[1] >= len(names):
                reasons.append(f"its {str(name)[:40]} comes from an output that is not there")
                continue
            edge_ids = meta.get("edges")
            edge_id = edge_ids.get(name) if isinstance(edge_ids, Mapping) else None
            edge_id = edge_id if isinstance(edge_id, str) and edge_id not in edges else f"{node_id}-{name}"
            edges[edge_id] = {"from": [value[0], names[value[1]]], "to": [node_id, name]}
        nodes[node_id] = _node(type_of(class_type), params, node, meta)
        state: State = "changed" if reasons else "mapped"
        entries.append(Covered(node_id, class_type, state, (node_id,), tuple(reasons)))
    document = {"schema": WORKFLOW.schema, "graph": {"nodes": nodes, "edges": edges}}
    return document, Coverage("comfyui-prompt", tuple(entries))


def _node(
    type_id: str, params: dict[str, Any], node: Mapping[str, Any], meta: Mapping[str, Any]
) -> dict[str, Any]:
    given = meta.get("given")
    written = {name: params[name] for name in given if name in params} if isinstance(given, list) else params
    result: dict[str, Any] = {"type": type_id}
    if "version" in meta:
        result["version"] = meta["version"]
    if meta.get("is_titled") is True:
        result["title"] = node["_meta"].get("title")
    if isinstance(given, list):
        result["params"] = written
    return result


def _meta(node: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = node.get("_meta")
    own = meta.get(META) if isinstance(meta, Mapping) else None
    return own if isinstance(own, Mapping) else {}


def _is_wrapped(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {"__value__"}
