from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rushes.compiler.ir.declaration import Catalog, Socket
from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.graph import Edge, Graph
from rushes.compiler.ir.showing import closest, label, show


def check_edges(draft: Draft, request: Request) -> Draft:
    """Refuse edges that join what cannot be joined.

    After: every edge that is left joins an output to an input that takes its type, and no input has
    two; the others are `refused`. Edges at nodes of an unknown type are let be.
    Errors: E_UNKNOWN_NODE, E_UNKNOWN_SOCKET, E_SOCKET_TYPE, E_SOCKET_TAKEN.
    """
    kept: list[Edge] = []
    found: list[Diagnostic] = []
    refused: list[Edge] = []
    taken: dict[tuple[str, str], Edge] = {}
    for edge in draft.graph.edges:
        end = (edge.to_node, edge.to_socket)
        if not draft.graph.unread.isdisjoint((edge.from_node, edge.to_node)):
            refused.append(edge)  # the broken node has been reported
            continue
        fault = _fault(edge, draft.graph, request.catalog) or _taken(edge, taken.get(end))
        if fault is None:
            taken[end] = edge
            kept.append(edge)
        else:
            found.append(fault)
            refused.append(edge)
    graph = replace(draft.graph, edges=tuple(kept))
    return replace(draft, graph=graph, refused=(*draft.refused, *refused)).reporting(found)


def _fault(edge: Edge, graph: Graph, catalog: Catalog) -> Diagnostic | None:
    for node_id, other, socket in (
        (edge.from_node, edge.to_node, edge.to_socket),
        (edge.to_node, edge.from_node, edge.from_socket),
    ):
        if node_id not in graph.nodes:
            return _unknown_node(node_id, other, socket, graph)
    start = catalog.nodes.get(graph.nodes[edge.from_node].type_id)
    end = catalog.nodes.get(graph.nodes[edge.to_node].type_id)
    if start is not None and edge.from_socket not in start.outputs:
        return _unknown_socket(edge.from_node, "output", edge.from_socket, start.outputs)
    if end is not None and edge.to_socket not in end.inputs:
        return _unknown_socket(edge.to_node, "input", edge.to_socket, end.inputs)
    if start is None or end is None:
        return None
    return _type_fault(edge, start.outputs[edge.from_socket], end.inputs[edge.to_socket])


def _type_fault(edge: Edge, start: Socket, end: Socket) -> Diagnostic | None:
    given = start.types[0]
    if given in end.types:
        return None
    expected = " or ".join(end.types)
    origin = f"{label(edge.from_node)}.{edge.from_socket}"
    message = f"{edge.to_socket} takes {expected}, got {given.value} from {origin}"
    return Diagnostic("E_SOCKET_TYPE", "error", message, edge.to_node, edge.to_socket, expected, given.value)


def _taken(edge: Edge, first: Edge | None) -> Diagnostic | None:
    if first is None:
        return None
    message = (
        f"{label(edge.to_socket)} takes one edge, got another from {show(edge.from_node)} beside that from "
        f"{show(first.from_node)}"
    )
    return Diagnostic(
        "E_SOCKET_TAKEN", "error", message, edge.to_node, label(edge.to_socket), "one edge", "several edges"
    )


def _unknown_node(node_id: str, other: str, socket: str, graph: Graph) -> Diagnostic:
    alike = closest(node_id, graph.nodes)
    message = f"an edge names a node {show(node_id)} that is not in the graph"
    at = other if other in graph.nodes else None
    return Diagnostic(
        "E_UNKNOWN_NODE",
        "error",
        message,
        at,
        None if at is None else label(socket),
        "a node of the graph",
        show(node_id),
        alike,
    )


def _unknown_socket(node_id: str, side: str, given: str, known: Mapping[str, Socket]) -> Diagnostic:
    names = ", ".join(known) or "none"
    message = f"expected an {side} among {names}, got {show(given)}"
    return Diagnostic(
        "E_UNKNOWN_SOCKET", "error", message, node_id, label(given), names, show(given), closest(given, known)
    )
