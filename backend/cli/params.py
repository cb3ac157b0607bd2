"""Which rule a param of a node follows, through subgraphs to the node it is exposed from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..wire.v1.catalog import CatalogReply, NodeParam

INSTANCE = "subgraph"
_DEPTH_MAX = 8

Node = Mapping[str, Any]


def graph_part(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """`nodes` or `subgraphs` of the graph; empty when the document has another shape."""
    graph = document.get("graph")
    part = graph.get(name) if isinstance(graph, dict) else None
    return part if isinstance(part, dict) else {}


def all_nodes(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Id and node, of the graph and of its subgraphs."""
    subgraphs = graph_part(document, "subgraphs").values()
    insides = [subgraph.get("nodes") for subgraph in subgraphs if isinstance(subgraph, dict)]
    for nodes in (graph_part(document, "nodes"), *insides):
        for node_id, node in nodes.items() if isinstance(nodes, dict) else ():
            if isinstance(node, dict):
                yield node_id, node


def find_rule(document: Mapping[str, Any], node: Node, name: str, catalog: CatalogReply) -> NodeParam | None:
    """The rule of a param; None when the node has none of that name."""
    for _ in range(_DEPTH_MAX):
        if node.get("type") != INSTANCE:
            break
        inside, name = _exposed(graph_part(document, "subgraphs").get(str(node.get("subgraph"))), name)
        if inside is None:
            return None
        node = inside
    node_type = catalog.nodes.get(str(node.get("type")))
    rules = node_type.params if node_type is not None else ()
    return next((rule for rule in rules if rule.name == name), None)


def param_names(document: Mapping[str, Any], node: Node, catalog: CatalogReply) -> tuple[str, ...]:
    """What may be set on a node."""
    if node.get("type") == INSTANCE:
        subgraph = graph_part(document, "subgraphs").get(str(node.get("subgraph")))
        exposed = subgraph.get("params") if isinstance(subgraph, dict) else None
        return tuple(exposed) if isinstance(exposed, dict) else ()
    node_type = catalog.nodes.get(str(node.get("type")))
    return tuple(rule.name for rule in node_type.params) if node_type is not None else ()


def _exposed(subgraph: Any, name: str) -> tuple[Node | None, str]:
    """The node and param inside that an exposed name stands for; the first, when it stands for several."""
    match subgraph:
        case {"nodes": dict(nodes), "params": dict(params)}:
            match params.get(name):
                case {"to": [[str(node_id), str(inner)], *_]} if isinstance(nodes.get(node_id), dict):
                    return nodes[node_id], inner
    return None, name
