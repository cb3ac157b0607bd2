from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rushes.compiler.ir.declaration import Catalog, SocketType
from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.graph import PATH_MARK, Edge, End, Graph, Mode, Node, Subgraph
from rushes.compiler.ir.showing import closest, label, show

DEPTH_LIMIT = 8
NODE_LIMIT = 10_000  # of the whole graph, once expanded
EDGE_LIMIT = 50_000


def expand_subgraphs(draft: Draft, request: Request) -> Draft:
    """Put in place of every instance the nodes of its definition.

    Before
        look (subgraph, text "a star") -> save;  definition: prompt (text exposed) -> generate
    After
        look/prompt (text "a star") -> look/generate -> save

    Ids inside are the way to a node, so that findings name it. A param of an instance overrides the
    exposed ones, a muted instance mutes all inside, a bypassed one passes on, for each output, its first
    connected input of that type, as a single node would.

    Guarantees: a graph without instances is left as it is.
    Errors: E_SUBGRAPH for a definition that is missing, holds itself or nests deeper than 8; E_TOO_LARGE
    for more nodes or edges than a graph may have; E_UNKNOWN_PARAM and E_UNKNOWN_SOCKET for what the
    definition does not expose.
    """
    graph = draft.graph
    if all(node.subgraph is None for node in graph.nodes.values()):
        return replace(draft, every=frozenset(graph.nodes))
    sound, found = _sound(graph)
    work = _Expansion(graph, request.catalog, sound)
    nodes = {node_id: node for node_id, node in graph.nodes.items() if node_id not in found}
    sizes = [_size(work, node) for node in nodes.values()]
    for part, limit, total in (
        ("nodes", NODE_LIMIT, sum(size[0] for size in sizes)),
        ("edges", EDGE_LIMIT, len(graph.edges) + sum(size[1] for size in sizes)),
    ):
        if total > limit:
            return _refused(draft, part, limit, total)
    work.found.extend(found.values())
    work.unread.update(graph.unread, found)
    try:
        work.place(_Level("", nodes, graph.edges, None))
    except _TooMany:
        return _refused(draft, "edges", EDGE_LIMIT, len(work.edges))
    edges = tuple(sorted(_passed_on(work), key=lambda edge: (edge.to_node, edge.to_socket, edge.edge_id)))
    placed = {node_id: node for node_id, node in work.nodes.items() if node.subgraph is None}
    expanded = Graph(dict(sorted(placed.items())), edges, frozenset(work.unread))
    refused = (*draft.refused, *work.refused)
    rest = replace(draft, graph=expanded, refused=refused, every=frozenset(placed), insides=work.insides)
    return rest.reporting(work.found)


class _TooMany(Exception):
    """What an instance exposes fans out to more ends than a graph may have."""


@dataclass(frozen=True, slots=True)
class _Level:
    """One graph on its way into the whole: the root, or the inside of an instance."""

    prefix: str
    nodes: Mapping[str, Node]
    edges: Sequence[Edge]
    mode: Mode | None  # forced on every node


@dataclass(slots=True)
class _Expansion:
    """What has been placed so far. Bypassed instances stay in `nodes` until everything is in place."""

    graph: Graph
    catalog: Catalog
    sound: Mapping[str, tuple[int, int]]
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    refused: list[Edge] = field(default_factory=list)
    found: list[Diagnostic] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    insides: dict[str, tuple[str, ...]] = field(default_factory=dict)
    end_count: int = 0

    def definition(self, node: Node) -> Subgraph | None:
        """What an instance stands for; None for an ordinary node."""
        return None if node.subgraph is None else self.graph.subgraphs[node.subgraph]

    def place(self, level: _Level) -> None:
        for node in level.nodes.values():
            self._place_node(level, node)
        for edge in level.edges:
            self._place_edge(level, edge)

    def _place_node(self, level: _Level, node: Node) -> None:
        path = level.prefix + node.node_id
        placed = replace(node, node_id=path, mode=level.mode or node.mode)
        definition = self.definition(node)
        if definition is None or placed.mode == "bypassed":
            self._put(placed)
            return
        inside = dict(definition.nodes)
        for name, value in node.params.items():
            self._override(path, definition, inside, str(name), value)
        prefix = path + PATH_MARK
        self.unread.update(prefix + node_id for node_id in definition.unread)
        self.place(_Level(prefix, inside, definition.edges, "muted" if placed.mode == "muted" else None))
        shown = [
            start for name in definition.outputs if (start := self._inner(path, definition, name)) is not None
        ]
        self.insides[path] = tuple(dict.fromkeys(node_id for node_id, _ in shown))

    def _put(self, node: Node) -> None:
        if node.node_id in self.nodes:
            message = f"expected each id once, got {show(node.node_id)} for a node and inside a subgraph too"
            self.found.append(Diagnostic("E_MALFORMED", "error", message, node.node_id, None, "another id"))
        self.nodes[node.node_id] = node

    def _override(
        self, path: str, definition: Subgraph, inside: dict[str, Node], name: str, value: object
    ) -> None:
        ends = definition.params.get(name)
        if ends is None:
            names = ", ".join(definition.params) or "none"
            message = f"expected a param the subgraph exposes, among {names}, got {show(name)}"
            alike = closest(name, definition.params)
            self.found.append(
                Diagnostic("E_UNKNOWN_PARAM", "error", message, path, label(name), names, show(name), alike)
            )
            return
        for node_id, param in ends:
            self._count()
            if node_id in inside:
                node = inside[node_id]
                inside[node_id] = replace(node, params={**node.params, param: value})
            else:
                message = (
                    f"the subgraph exposes {label(name)} of a node {show(node_id)} that it does not have"
                )
                self.found.append(
                    Diagnostic(
                        "E_SUBGRAPH", "error", message, path, label(name), "a node inside", show(node_id)
                    )
                )

    def _place_edge(self, level: _Level, edge: Edge) -> None:
        start = self._start(level, (edge.from_node, edge.from_socket))
        for number, end in enumerate(self._ends(level, (edge.to_node, edge.to_socket))):
            edge_id = level.prefix + edge.edge_id + (f"#{number}" if number else "")
            if start is not None:
                self.edges.append(Edge(edge_id, *start, *end))
            else:
                self.refused.append(Edge(edge_id, level.prefix + edge.from_node, edge.from_socket, *end))

    def _start(self, level: _Level, end: End) -> End | None:
        """The socket that feeds what reads `end`; None if the instance has no such output."""
        node = level.nodes.get(end[0])
        definition = None if node is None else self.definition(node)
        path = level.prefix + end[0]
        if definition is None:
            return path, end[1]
        if end[1] not in definition.outputs:
            self._no_socket(path, "output", end[1], definition.outputs)
            return None
        return (path, end[1]) if path in self.nodes else self._inner(path, definition, end[1])

    def _inner(self, path: str, definition: Subgraph, output: str) -> End | None:
        """The socket inside an instance that makes one of its outputs."""
        node_id, socket = definition.outputs[output]
        inside = _Level(path + PATH_MARK, definition.nodes, (), None)
        return self._start(inside, (node_id, socket))

    def _count(self) -> None:
        self.end_count += 1
        if self.end_count > 2 * EDGE_LIMIT:
            raise _TooMany

    def _ends(self, level: _Level, end: End) -> Iterator[End]:
        """The sockets an edge into `end` really reaches: none, one, or all an instance exposes under it."""
        self._count()
        node = level.nodes.get(end[0])
        definition = None if node is None else self.definition(node)
        path = level.prefix + end[0]
        if definition is None or (path in self.nodes and end[1] in definition.inputs):
            yield path, end[1]
        elif end[1] not in definition.inputs:
            self._no_socket(path, "input", end[1], definition.inputs)
        else:
            inside = _Level(path + PATH_MARK, definition.nodes, (), None)
            for inner in definition.inputs[end[1]]:
                yield from self._ends(inside, inner)

    def _no_socket(self, path: str, side: str, given: str, known: Mapping[str, object]) -> None:
        names = ", ".join(known) or "none"
        message = f"expected an {side} of the subgraph among {names}, got {show(given)}"
        alike = closest(given, known)
        self.found.append(
            Diagnostic("E_UNKNOWN_SOCKET", "error", message, path, label(given), names, show(given), alike)
        )

    def type_of(self, node: Node | None, socket: str) -> SocketType | None:
        """The type an output has, found without placing anything."""
        while node is not None and (definition := self.definition(node)) is not None:
            if socket not in definition.outputs:
                return None
            node_id, socket = definition.outputs[socket]
            node = definition.nodes.get(node_id)
        declared = None if node is None else self.catalog.nodes.get(node.type_id)
        output = None if declared is None else declared.outputs.get(socket)
        return None if output is None else output.types[0]


def _passed_on(work: _Expansion) -> Iterator[Edge]:
    """The edges without the bypassed instances: what read them reads what they pass on, or nothing."""
    bypassed = {node_id: node for node_id, node in work.nodes.items() if node.subgraph is not None}
    feeds: dict[str, dict[str, Edge]] = defaultdict(dict)
    for edge in work.edges:
        if edge.to_node in bypassed:
            feeds[edge.to_node].setdefault(edge.to_socket, edge)
    for edge in work.edges:
        if edge.to_node in bypassed:
            continue
        start: Edge | None = edge
        seen: set[str] = set()
        while start is not None and start.from_node in bypassed:
            start = None if start.from_node in seen else _passed(work, start, feeds[start.from_node], seen)
        if start is not None:
            yield replace(edge, from_node=start.from_node, from_socket=start.from_socket)


def _passed(work: _Expansion, edge: Edge, feeds: Mapping[str, Edge], seen: set[str]) -> Edge | None:
    """The edge into a bypassed instance that stands in for one out of it."""
    node = work.nodes[edge.from_node]
    seen.add(edge.from_node)
    definition = work.definition(node)
    wanted = work.type_of(node, edge.from_socket)
    for name in () if definition is None else definition.inputs:
        feed = feeds.get(name)
        if feed is not None and work.type_of(work.nodes.get(feed.from_node), feed.from_socket) == wanted:
            return feed
    return None


_Sizes = dict[str, tuple[int, int]]


def _sound(graph: Graph) -> tuple[_Sizes, dict[str, Diagnostic]]:
    """Nodes and edges each sound definition expands to, and what is wrong with instances at the root."""
    sizes, faults = _measured(graph)
    found: dict[str, Diagnostic] = {}
    for node in graph.nodes.values():
        if node.subgraph is None or node.subgraph in sizes:
            continue
        message = faults.get(node.subgraph, f"expected a subgraph of the document, got {show(node.subgraph)}")
        expected = f"a subgraph of the document, nested at most {DEPTH_LIMIT} deep"
        alike = None if node.subgraph in graph.subgraphs else closest(node.subgraph, graph.subgraphs)
        found[node.node_id] = Diagnostic(
            "E_SUBGRAPH", "error", message, node.node_id, "subgraph", expected, show(node.subgraph), alike
        )
    return sizes, found


def _measured(graph: Graph) -> tuple[_Sizes, dict[str, str]]:
    """Sizes of sound definitions and faults of the others, inner ones first, without recursion."""
    sizes: _Sizes = {}
    depths: dict[str, int] = {}
    faults: dict[str, str] = {}
    entered: set[str] = set()
    for root in graph.subgraphs:
        stack = [(root, False)]
        while stack:
            subgraph_id, is_left = stack.pop()
            definition = graph.subgraphs[subgraph_id]
            inner = [node.subgraph for node in definition.nodes.values() if node.subgraph is not None]
            if is_left:
                fault = _fault(graph, inner, depths, faults)
                if fault is not None:
                    faults[subgraph_id] = fault
                    continue
                depths[subgraph_id] = 1 + max((depths[one] for one in inner), default=0)
                nodes = len(definition.nodes) + sum(sizes[one][0] for one in inner)
                sizes[subgraph_id] = (nodes, len(definition.edges) + sum(sizes[one][1] for one in inner))
            elif subgraph_id not in entered:
                entered.add(subgraph_id)
                stack.append((subgraph_id, True))
                stack.extend((one, False) for one in set(inner) if one in graph.subgraphs)
    return sizes, faults


def _fault(graph: Graph, inner: list[str], depths: dict[str, int], faults: dict[str, str]) -> str | None:
    for one in inner:
        if one not in graph.subgraphs:
            return f"expected a subgraph of the document, got {show(one)} inside another"
        if one in faults:
            return faults[one]
        if one not in depths:
            return f"subgraph {show(one)} holds itself"
        if depths[one] >= DEPTH_LIMIT:
            return f"expected subgraphs nested at most {DEPTH_LIMIT} deep, got more at {show(one)}"
    return None


def _size(work: _Expansion, node: Node) -> tuple[int, int]:
    if node.subgraph is None:
        return 1, 0
    nodes, edges = work.sound[node.subgraph]
    return 1 + nodes, edges


def _refused(draft: Draft, part: str, limit: int, total: int) -> Draft:
    message = f"expected at most {limit} {part} once subgraphs are expanded, got {show(total)}"
    path = f"graph.{part}"
    found = Diagnostic("E_TOO_LARGE", "error", message, None, path, f"at most {limit}", show(total))
    empty = Graph({}, (), frozenset(draft.graph.nodes))
    return replace(draft, graph=empty).reporting([found])
