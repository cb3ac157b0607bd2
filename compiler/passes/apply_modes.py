from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from rushes.compiler.ir.declaration import Catalog, SocketType
from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.graph import Edge, Graph
from rushes.compiler.ir.showing import label, show

Inputs = dict[str, dict[str, Edge]]


def apply_modes(draft: Draft, request: Request) -> Draft:
    """Take muted and bypassed nodes out of the graph.

    Before
        load -> edit (bypassed) -> preview;  lora (muted) -> generate.adapters?
    After
        load -> preview;  generate

    A bypassed node passes on, for each output, its first connected input of that type. A muted node is
    silent, and so is every node that needs it; an optional input from it stays unconnected.

    Errors: E_MISSING_INPUT where a bypassed node has nothing to pass on to a required input.
    Notes: N_MUTED for nodes silenced by another.
    """
    if all(node.mode == "active" for node in draft.graph.nodes.values()):
        return draft
    passed = _bypass(draft, request.catalog)
    return _mute(passed, request.catalog)


def _bypass(draft: Draft, catalog: Catalog) -> Draft:
    graph = draft.graph
    bypassed = {node_id for node_id, node in graph.nodes.items() if node.mode == "bypassed"}
    inputs = _inputs(graph)
    edges: list[Edge] = []
    found: list[Diagnostic] = []
    refused: list[Edge] = []
    for edge in graph.edges:
        if edge.to_node in bypassed:
            continue
        origin = _origin(edge, graph, inputs, catalog)
        if origin is not None:
            edges.append(replace(edge, from_node=origin.from_node, from_socket=origin.from_socket))
        elif _is_required(edge, graph, catalog):
            found.append(_nothing_passed(edge))
            refused.append(edge)
    nodes = {node_id: node for node_id, node in graph.nodes.items() if node_id not in bypassed}
    rewired = replace(graph, nodes=nodes, edges=tuple(edges))
    return replace(draft, graph=rewired, refused=(*draft.refused, *refused)).reporting(found)


def _origin(edge: Edge, graph: Graph, inputs: Inputs, catalog: Catalog) -> Edge | None:
    """The edge that really feeds the end of `edge`, or None if bypassed nodes pass nothing on."""
    seen: set[str] = set()
    while graph.nodes[edge.from_node].mode == "bypassed":
        if edge.from_node in seen:
            return None
        seen.add(edge.from_node)
        wanted = _type_of(edge, graph, catalog)
        declared = catalog.nodes.get(graph.nodes[edge.from_node].type_id)
        sockets = () if declared is None else declared.inputs
        feeding = [inputs[edge.from_node][name] for name in sockets if name in inputs[edge.from_node]]
        matching = [feed for feed in feeding if _type_of(feed, graph, catalog) == wanted]
        if not matching:
            return None
        edge = matching[0]
    return edge


def _mute(draft: Draft, catalog: Catalog) -> Draft:
    graph = draft.graph
    silent = {node_id: node_id for node_id, node in graph.nodes.items() if node.mode == "muted"}
    waiting = list(silent)
    outgoing: dict[str, list[Edge]] = defaultdict(list)
    for edge in graph.edges:
        outgoing[edge.from_node].append(edge)
    found: list[Diagnostic] = []
    while waiting:
        node_id = waiting.pop()
        for edge in outgoing[node_id]:
            if edge.to_node not in silent and _is_required(edge, graph, catalog):
                silent[edge.to_node] = silent[node_id]
                waiting.append(edge.to_node)
                socket = label(edge.to_socket)
                message = f"not run: its {socket} comes from {show(silent[node_id])}, which is muted"
                found.append(Diagnostic("N_MUTED", "note", message, edge.to_node, socket))
    nodes = {node_id: node for node_id, node in graph.nodes.items() if node_id not in silent}
    edges = tuple(edge for edge in graph.edges if edge.from_node in nodes and edge.to_node in nodes)
    return replace(draft, graph=replace(graph, nodes=nodes, edges=edges)).reporting(found)


def _inputs(graph: Graph) -> Inputs:
    found: Inputs = {node_id: {} for node_id in graph.nodes}
    for edge in graph.edges:
        found[edge.to_node][edge.to_socket] = edge
    return found


def _type_of(edge: Edge, graph: Graph, catalog: Catalog) -> SocketType | None:
    declared = catalog.nodes.get(graph.nodes[edge.from_node].type_id)
    return None if declared is None else declared.outputs[edge.from_socket].types[0]


def _is_required(edge: Edge, graph: Graph, catalog: Catalog) -> bool:
    declared = catalog.nodes.get(graph.nodes[edge.to_node].type_id)
    return declared is None or not declared.inputs[edge.to_socket].optional


def _nothing_passed(edge: Edge) -> Diagnostic:
    socket = label(edge.to_socket)
    message = (
        f"{socket} needs an edge; {show(edge.from_node)} is bypassed and has no input of the type "
        f"of its {label(edge.from_socket)} to pass on"
    )
    return Diagnostic("E_MISSING_INPUT", "error", message, edge.to_node, socket, "an edge", "none")
