"""rushes.workflow/1 to Graph. Only `schema` and `graph` are required; unknown keys are noted, not refused."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from rushes.compiler.ir.diagnostics import Diagnostic, Json
from rushes.compiler.ir.graph import Edge, Graph, Mode, Node
from rushes.compiler.ir.showing import closest, show
from rushes.compiler.ir.spec import Level
from rushes.compiler.read.migrations import WORKFLOW, Lineage, migrate
from rushes.compiler.read.shape import DOCUMENT, EDGE, EDGE_LIMIT, GRAPH, ID_LIMIT, NODE, NODE_LIMIT

_MODES: Mapping[object, Mode] = {"active": "active", "muted": "muted", "bypassed": "bypassed"}
_LEVELS: Mapping[object, Level] = {"exact": "exact", "pinned": "pinned", "fast": "fast"}


@dataclass(frozen=True, slots=True)
class ReadWorkflow:
    """`graph` is None where nothing could be made of the document. Broken nodes and edges are left out."""

    graph: Graph | None
    level: Level | None
    diagnostics: tuple[Diagnostic, ...]


class _Malformed(Exception):
    """One part of the document cannot be read; its diagnostic is on the list."""


class _Findings(list[Diagnostic]):
    def refuse(
        self,
        path: str,
        expected: str,
        given: object,
        *,
        node_id: str | None = None,
        code: str = "E_MALFORMED",
    ) -> _Malformed:
        shown = show(given)
        message = f"{path}: expected {expected}, got {shown}"
        self.append(Diagnostic(code, "error", message, node_id, path, expected, shown))
        return _Malformed(message)

    def note_unknown(
        self, known: Collection[str], found: Mapping[str, object], path: str, node_id: str | None = None
    ) -> None:
        for key in found:
            if key not in known:
                message = f"{path} has a key {show(key)} that this version does not know; it is kept"
                suggestion: Json = closest(str(key), known)
                self.append(
                    Diagnostic("N_UNKNOWN_KEY", "note", message, node_id, path, suggestion=suggestion)
                )


def read_workflow(document: object, lineage: Lineage = WORKFLOW) -> ReadWorkflow:
    """Read a parsed document, of an older version too. Never raises: every fault is a diagnostic, and
    reading goes on after it.
    """
    found = _Findings()
    try:
        top, notes = migrate(_mapping(found, document, "document"), lineage)
        found.extend(notes)
        if top is None:
            return ReadWorkflow(None, None, tuple(found))
        found.note_unknown(DOCUMENT.keys, top, "document")
        level = _level(found, top)
        graph = _graph(found, _mapping(found, top.get("graph"), "graph"))
    except _Malformed:
        return ReadWorkflow(None, None, tuple(found))
    return ReadWorkflow(graph, level, tuple(found))


def _level(found: _Findings, document: Mapping[str, object]) -> Level | None:
    requires = _mapping(found, document.get("requires", {}), "requires")
    given = requires.get("level")
    if given is None:
        return None
    level = _LEVELS.get(given) if isinstance(given, str) else None
    if level is None:
        found.refuse("requires.level", "exact, pinned or fast", given, code="E_LEVEL")
    return level


def _graph(found: _Findings, graph: Mapping[str, object]) -> Graph:
    found.note_unknown(GRAPH.keys, graph, "graph")
    nodes = _mapping(found, graph.get("nodes"), "graph.nodes")
    edges = _mapping(found, graph.get("edges", {}), "graph.edges")
    for path, part, limit in (("graph.nodes", nodes, NODE_LIMIT), ("graph.edges", edges, EDGE_LIMIT)):
        if len(part) > limit:
            raise found.refuse(path, f"at most {limit}", len(part), code="E_TOO_LARGE")
    read_nodes = {node.node_id: node for node in _nodes(found, nodes)}
    order = sorted(_edges(found, edges), key=lambda edge: (edge.to_node, edge.to_socket, edge.edge_id))
    unread = frozenset(str(node_id) for node_id in nodes if node_id not in read_nodes)
    return Graph(read_nodes, tuple(order), unread)


def _nodes(found: _Findings, nodes: Mapping[str, object]) -> Iterator[Node]:
    for node_id in sorted(nodes, key=str):
        try:
            yield _node(found, node_id, nodes[node_id])
        except _Malformed:
            continue


def _node(found: _Findings, node_id: str, given: object) -> Node:
    _check_id(found, node_id, "graph.nodes")
    if not isinstance(given, Mapping):
        raise found.refuse("node", "an object", given, node_id=node_id)
    found.note_unknown(NODE.keys, given, "node", node_id)
    type_id, mode, version = given.get("type"), given.get("mode", "active"), given.get("version")
    params = given.get("params", {})
    if not isinstance(type_id, str):
        raise found.refuse("type", "the name of a node type", type_id, node_id=node_id)
    if not isinstance(mode, str) or mode not in _MODES:
        raise found.refuse("mode", "active, muted or bypassed", mode, node_id=node_id)
    if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
        raise found.refuse("version", "an integer", version, node_id=node_id)
    if not isinstance(params, Mapping):
        raise found.refuse("params", "an object", params, node_id=node_id)
    return Node(node_id, type_id, version, _MODES[mode], params)


def _edges(found: _Findings, edges: Mapping[str, object]) -> Iterator[Edge]:
    for edge_id in sorted(edges, key=str):
        try:
            yield _edge(found, edge_id, edges[edge_id])
        except _Malformed:
            continue


def _edge(found: _Findings, edge_id: str, given: object) -> Edge:
    _check_id(found, edge_id, "graph.edges")
    path = f"graph.edges.{edge_id}"
    edge = _mapping(found, given, path)
    found.note_unknown(EDGE.keys, edge, path)
    from_node, from_socket = _end(found, edge.get("from"), f"{path}.from")
    to_node, to_socket = _end(found, edge.get("to"), f"{path}.to")
    return Edge(edge_id, from_node, from_socket, to_node, to_socket)


def _end(found: _Findings, given: object, path: str) -> tuple[str, str]:
    if isinstance(given, list | tuple) and len(given) == 2:
        node, socket = given
        if isinstance(node, str) and isinstance(socket, str):
            return node, socket
    raise found.refuse(path, "a node id and a socket name in a list", given)


def _check_id(found: _Findings, given: object, path: str) -> None:
    if not isinstance(given, str) or not given or len(given) > ID_LIMIT or not given.isprintable():
        raise found.refuse(path, f"ids of 1 to {ID_LIMIT} printable characters", given)


def _mapping(found: _Findings, given: object, path: str) -> Mapping[str, object]:
    if not isinstance(given, Mapping):
        raise found.refuse(path, "an object", given)
    return given
