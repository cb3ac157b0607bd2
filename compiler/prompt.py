"""A workflow to ComfyUI's API format, as nodes of our pack for ComfyUI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rushes.compiler.ir.declaration import Catalog, NodeDeclaration
from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.facts import Target
from rushes.compiler.ir.graph import Edge, Graph, Node
from rushes.compiler.passes.expand_subgraphs import expand_subgraphs
from rushes.compiler.read.coverage import Coverage, Covered
from rushes.compiler.read.own_prompt import META, class_of
from rushes.compiler.read.workflow import read_workflow


@dataclass(frozen=True, slots=True)
class WrittenPrompt:
    """`prompt` is None where the document cannot be read. `coverage` names what the format cannot hold."""

    prompt: dict[str, dict[str, Any]] | None
    diagnostics: tuple[Diagnostic, ...]
    coverage: Coverage


def write_prompt(document: Mapping[str, Any], catalog: Catalog) -> WrittenPrompt:
    """Write the graph of a workflow. `read.read_any` of the result gives the same nodes and edges again.

    Subgraphs are expanded, as ComfyUI does when it sends a prompt. Muted and bypassed nodes and types that
    the catalog does not know are left out and named in the coverage, and so are edges at them; places,
    frames and notes have no room in the format.
    """
    read = read_workflow(document)
    if read.graph is None:
        return WrittenPrompt(None, read.diagnostics, Coverage("rushes"))
    draft = expand_subgraphs(Draft(read.graph, read.diagnostics), Request(catalog, Target({}, {}, {})))
    titles = document["graph"]["nodes"]
    reasons = {node_id: _reason(node, catalog) for node_id, node in draft.graph.nodes.items()}
    feeds = _feeds(draft.graph, reasons)
    prompt = {
        node_id: _written(node, catalog.nodes[node.type_id], feeds[node_id], titles)
        for node_id, node in draft.graph.nodes.items()
        if reasons[node_id] is None
    }
    _connect(prompt, draft.graph, catalog)
    entries = tuple(
        Covered(node_id, node.type_id, "mapped", (node_id,))
        if (reason := reasons[node_id]) is None
        else Covered(node_id, node.type_id, "unmapped", (), (reason,))
        for node_id, node in draft.graph.nodes.items()
    )
    return WrittenPrompt(prompt, draft.diagnostics, Coverage("rushes", entries))


def _reason(node: Node, catalog: Catalog) -> str | None:
    if node.mode != "active":
        return f"it is {node.mode}, and a prompt holds only what runs"
    return None if node.type_id in catalog.nodes else "its type is not in the catalog"


def _feeds(graph: Graph, reasons: Mapping[str, str | None]) -> dict[str, list[Edge]]:
    """For each node the edges into it from nodes that are written."""
    feeds: dict[str, list[Edge]] = {node_id: [] for node_id in graph.nodes}
    for edge in graph.edges:
        if edge.to_node in feeds and edge.from_node in reasons and reasons[edge.from_node] is None:
            feeds[edge.to_node].append(edge)
    return feeds


def _written(
    node: Node, declared: NodeDeclaration, feeds: list[Edge], titles: Mapping[str, Any]
) -> dict[str, Any]:
    params = {name: node.params.get(name, rule.default) for name, rule in declared.params.items()}
    inputs = {name: _sent(value) for name, value in {**params, **node.params}.items()}
    inputs |= {edge.to_socket: [edge.from_node, 0] for edge in feeds}
    source = titles.get(node.node_id)
    title = source.get("title") if isinstance(source, Mapping) else None
    own: dict[str, Any] = {
        "outputs": list(declared.outputs),
        "edges": {e.to_socket: e.edge_id for e in feeds},
    }
    if node.version is not None:
        own["version"] = node.version
    if title is not None:
        own["is_titled"] = True
    if node.params or (isinstance(source, Mapping) and "params" in source):
        own["given"] = [str(name) for name in node.params]
    meta = {"title": declared.title if title is None else title, META: own}
    return {"class_type": class_of(node.type_id), "inputs": inputs, "_meta": meta}


def _connect(prompt: dict[str, dict[str, Any]], graph: Graph, catalog: Catalog) -> None:
    """Fill in the slots: the place of an output among those of its type."""
    for edge in graph.edges:
        if edge.to_node in prompt and edge.from_node in prompt:
            outputs = list(catalog.nodes[graph.nodes[edge.from_node].type_id].outputs)
            slot = outputs.index(edge.from_socket) if edge.from_socket in outputs else len(outputs)
            prompt[edge.to_node]["inputs"][edge.to_socket] = [edge.from_node, slot]


def _sent(value: object) -> object:
    return {"__value__": value} if isinstance(value, list) else value
