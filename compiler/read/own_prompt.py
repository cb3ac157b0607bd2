"""Workflows of ours in ComfyUI's API format, as nodes of our pack for ComfyUI: read back, unchanged.

What the format has no place for (versions, names of outputs, ids of edges, which params were written out)
rides in `_meta.rushes`, which ComfyUI hands on unread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rushes.compiler.ir.declaration import Catalog, NodeDeclaration, SocketType
from rushes.compiler.read.comfyui_mapping import (
    End,
    Frames,
    Handler,
    Known,
    Mask,
    Model,
    Nothing,
    Own,
    Reading,
    SourceFps,
    is_edge,
)
from rushes.compiler.read.comfyui_widgets import Facts
from rushes.compiler.read.coverage import Coverage, Covered, State
from rushes.compiler.read.migrations import WORKFLOW

PREFIX = "Rushes"
META = "rushes"
_WIDGETS = {"INT": "INT", "FLOAT": "FLOAT", "TEXT": "STRING", "BOOL": "BOOLEAN", "CHOICE": "COMBO"}
_WORD = re.compile(r"[A-Z][a-z0-9]*")

Prompt = Mapping[Any, Mapping[str, Any]]


def class_of(type_id: str) -> str:
    """load_model is RushesLoadModel."""
    return PREFIX + "".join(word.capitalize() for word in type_id.split("_"))


def type_of(class_type: str) -> str:
    """RushesLoadModel is load_model."""
    return "_".join(word.lower() for word in _WORD.findall(class_type.removeprefix(PREFIX)))


def pack_classes(catalog: Catalog) -> Mapping[str, Facts]:
    """What a ComfyUI server with our pack says of its classes, as far as files need it."""
    return {class_of(type_id): _facts(declared) for type_id, declared in catalog.nodes.items()}


def _facts(declared: NodeDeclaration) -> Facts:
    widgets: dict[str, Any] = {}
    for name, rule in declared.params.items():
        control = {"control_after_generate": True} if rule.widget == "seed" else {}
        widgets[name] = [_WIDGETS[rule.kind], {"default": rule.default, **control}]
    title = f"{PREFIX} {declared.title}"
    return {"name": class_of(declared.type_id), "display_name": title, "input": {"optional": widgets}}


def own_handlers(catalog: Catalog) -> Mapping[str, Handler]:
    """Readers of our pack's nodes for prompts in which they stand among others."""
    handlers = {class_of(type_id): _handler(declared) for type_id, declared in catalog.nodes.items()}
    return {**handlers, f"{PREFIX}RenderVideo": _rendered, f"{PREFIX}RenderImage": _rendered}


def _rendered(node: Reading) -> tuple[Known, ...]:
    """The pack's way out to other nodes; here the edge goes on."""
    return node.need("video", Frames), SourceFps(), Nothing("the count of frames is known when it runs")


def _handler(declared: NodeDeclaration) -> Handler:
    def read(node: Reading) -> tuple[Known, ...]:
        wired = {name: value for name, value in node.inputs.items() if is_edge(value)}
        params = {name: value for name, value in node.inputs.items() if name not in wired}
        if node.title == f"{PREFIX} {declared.title}":
            node.title = None
        node_id = node.write(declared.type_id, params, {name: node.end(name) for name in wired})
        return tuple(_wire((node_id, name), socket.types[0]) for name, socket in declared.outputs.items())

    return read


def _wire(end: End, kind: SocketType) -> Known:
    if kind in (SocketType.VIDEO, SocketType.IMAGE):
        return Frames(end, is_video=kind is SocketType.VIDEO)
    if kind is SocketType.MASK:
        return Mask(end)
    return Model(end) if kind is SocketType.MODEL else Own(end)


def is_own_prompt(prompt: Prompt, catalog: Catalog | None = None) -> bool:
    """True if every node is one of our pack: of the catalog, or as this room writes them."""
    return bool(prompt) and all(_is_own(node, catalog) for node in prompt.values())


def _is_own(node: Mapping[str, Any], catalog: Catalog | None) -> bool:
    class_type = node.get("class_type")
    if not isinstance(class_type, str) or not class_type.startswith(PREFIX):
        return False
    return bool(_meta(node)) or (catalog is not None and type_of(class_type) in catalog.nodes)


def read_own_prompt(prompt: Prompt, catalog: Catalog | None = None) -> tuple[dict[str, Any], Coverage]:
    """The workflow of a prompt of our pack's nodes.

    The names of outputs come from what this room wrote beside a node, else from the catalog.
    """
    nodes: dict[str, Any] = {}
    edges: dict[str, Any] = {}
    entries: list[Covered] = []
    outputs = {str(node_id): _outputs(node, catalog) for node_id, node in prompt.items()}
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
        declared = None if catalog is None else catalog.nodes.get(type_of(class_type))
        nodes[node_id] = _node(type_of(class_type), params, node, declared)
        state: State = "changed" if reasons else "mapped"
        entries.append(Covered(node_id, class_type, state, (node_id,), tuple(reasons)))
    document = {"schema": WORKFLOW.schema, "graph": {"nodes": nodes, "edges": edges}}
    return document, Coverage("comfyui-prompt", tuple(entries))


def _outputs(node: Mapping[str, Any], catalog: Catalog | None) -> list[str]:
    written = _meta(node).get("outputs")
    if isinstance(written, list):
        return [str(name) for name in written]
    declared = None if catalog is None else catalog.nodes.get(type_of(str(node["class_type"])))
    return [] if declared is None else list(declared.outputs)


def _plain_node(
    type_id: str, params: dict[str, Any], node: Mapping[str, Any], declared: NodeDeclaration
) -> dict[str, Any]:
    """A node that ComfyUI's page wrote: every param is there, a title may be the class's own."""
    meta = node.get("_meta")
    title = meta.get("title") if isinstance(meta, Mapping) else None
    own = (declared.title, f"{PREFIX} {declared.title}", class_of(type_id))
    titled = {"title": title} if isinstance(title, str) and title not in own else {}
    return {"type": type_id, "version": declared.version, **titled, "params": params}


def _node(
    type_id: str, params: dict[str, Any], node: Mapping[str, Any], declared: NodeDeclaration | None
) -> dict[str, Any]:
    meta = _meta(node)
    if not meta and declared is not None:
        return _plain_node(type_id, params, node, declared)
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
