"""rushes.workflow/1 to Graph. Only `schema` and `graph` are required; unknown keys are noted, not refused."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from rushes.compiler.ir.diagnostics import Diagnostic, Json
from rushes.compiler.ir.graph import Edge, End, Graph, Mode, Node, Subgraph
from rushes.compiler.ir.showing import closest, show
from rushes.compiler.ir.spec import Level
from rushes.compiler.read.migrations import WORKFLOW, Lineage, migrate
from rushes.compiler.read.shape import (
    DOCUMENT,
    EDGE,
    EDGE_LIMIT,
    EXPOSED_LIMIT,
    GRAPH,
    ID_LIMIT,
    INSTANCE,
    NODE,
    NODE_LIMIT,
    SUBGRAPH,
    SUBGRAPH_LIMIT,
)

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
    nodes, edges, unread = _nodes_and_edges(found, graph, "graph")
    given = _bounded(found, graph, "graph", "subgraphs", SUBGRAPH_LIMIT)
    subgraphs: dict[str, Subgraph] = {}
    for subgraph_id in sorted(given, key=str):
        try:
            subgraphs[subgraph_id] = _subgraph(found, subgraph_id, given[subgraph_id])
        except _Malformed:
            continue
    return Graph(nodes, edges, unread, subgraphs)


def _subgraph(found: _Findings, subgraph_id: str, given: object) -> Subgraph:
    _check_id(found, subgraph_id, "graph.subgraphs")
    path = f"graph.subgraphs.{subgraph_id}"
    definition = _mapping(found, given, path)
    found.note_unknown(SUBGRAPH.keys, definition, path)
    nodes, edges, unread = _nodes_and_edges(found, definition, path)
    exposed = {
        side: _bounded(found, definition, path, side, EXPOSED_LIMIT)
        for side in ("inputs", "outputs", "params")
    }
    for side, names in exposed.items():
        for name in names:
            _check_id(found, name, f"{path}.{side}")
    inputs, params = (
        {name: _ends(found, value, f"{path}.{side}.{name}") for name, value in exposed[side].items()}
        for side in ("inputs", "params")
    )
    outputs = {
        name: _end(
            found, _mapping(found, value, f"{path}.outputs.{name}").get("from"), f"{path}.outputs.{name}"
        )
        for name, value in exposed["outputs"].items()
    }
    return Subgraph(subgraph_id, nodes, edges, unread, inputs, outputs, params)


def _ends(found: _Findings, given: object, path: str) -> tuple[End, ...]:
    ends = _mapping(found, given, path).get("to")
    if not isinstance(ends, list | tuple) or len(ends) > EXPOSED_LIMIT:
        raise found.refuse(f"{path}.to", "a list of ends", ends)
    return tuple(_end(found, end, f"{path}.to") for end in ends)


def _nodes_and_edges(
    found: _Findings, graph: Mapping[str, object], path: str
) -> tuple[dict[str, Node], tuple[Edge, ...], frozenset[str]]:
    if "nodes" not in graph:
        raise found.refuse(f"{path}.nodes", "an object", None)
    nodes = _bounded(found, graph, path, "nodes", NODE_LIMIT)
    edges = _bounded(found, graph, path, "edges", EDGE_LIMIT)
    read_nodes = {node.node_id: node for node in _nodes(found, nodes, path)}
    order = sorted(_edges(found, edges, path), key=lambda edge: (edge.to_node, edge.to_socket, edge.edge_id))
    unread = frozenset(str(node_id) for node_id in nodes if node_id not in read_nodes)
    return read_nodes, tuple(order), unread


def _bounded(
    found: _Findings, graph: Mapping[str, object], path: str, key: str, limit: int
) -> Mapping[str, object]:
    part = _mapping(found, graph.get(key, {}), f"{path}.{key}")
    if len(part) > limit:
        raise found.refuse(f"{path}.{key}", f"at most {limit}", len(part), code="E_TOO_LARGE")
    return part


def _nodes(found: _Findings, nodes: Mapping[str, object], path: str) -> Iterator[Node]:
    for node_id in sorted(nodes, key=str):
        try:
            _check_id(found, node_id, f"{path}.nodes")
            yield _node(_At(found, path, node_id), nodes[node_id])
        except _Malformed:
            continue


@dataclass(frozen=True, slots=True)
class _At:
    """Findings at one node: by its id at the top, by its path inside a definition."""

    found: _Findings
    path: str
    node_id: str

    def refuse(self, key: str, expected: str, given: object) -> _Malformed:
        return self.found.refuse(self._param(key), expected, given, node_id=self._node())

    def note_unknown(self, node: Mapping[str, object]) -> None:
        self.found.note_unknown(NODE.keys, node, self._param("node"), self._node())

    def _node(self) -> str | None:
        return self.node_id if self.path == "graph" else None

    def _param(self, key: str) -> str:
        return key if self.path == "graph" else f"{self.path}.nodes.{self.node_id}.{key}"


def _node(at: _At, given: object) -> Node:
    if not isinstance(given, Mapping):
        raise at.refuse("node", "an object", given)
    at.note_unknown(given)
    type_id, mode, version = given.get("type"), given.get("mode", "active"), given.get("version")
    params, subgraph = given.get("params", {}), given.get("subgraph")
    if not isinstance(type_id, str):
        raise at.refuse("type", "the name of a node type", type_id)
    if not isinstance(mode, str) or mode not in _MODES:
        raise at.refuse("mode", "active, muted or bypassed", mode)
    if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
        raise at.refuse("version", "an integer", version)
    if not isinstance(params, Mapping):
        raise at.refuse("params", "an object", params)
    if type_id != INSTANCE:
        return Node(at.node_id, type_id, version, _MODES[mode], params)
    if not isinstance(subgraph, str):
        raise at.refuse("subgraph", "the id of a subgraph", subgraph)
    return Node(at.node_id, type_id, version, _MODES[mode], params, subgraph)


def _edges(found: _Findings, edges: Mapping[str, object], path: str) -> Iterator[Edge]:
    for edge_id in sorted(edges, key=str):
        try:
            yield _edge(found, edge_id, edges[edge_id], f"{path}.edges")
        except _Malformed:
            continue


def _edge(found: _Findings, edge_id: str, given: object, edges_path: str) -> Edge:
    _check_id(found, edge_id, edges_path)
    path = f"{edges_path}.{edge_id}"
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
