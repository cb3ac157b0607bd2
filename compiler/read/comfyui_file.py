"""A workflow file as ComfyUI saves it (schema 0.4 or 1.0), taken apart: nodes, links, subgraphs, groups.

Nothing in it is trusted: what has another shape than expected is left out and named in `faults`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

NODE_LIMIT = 10_000
SUBGRAPH_LIMIT = 1000
INPUT_SIDE, OUTPUT_SIDE = "-10", "-20"  # origins and targets of links that cross a subgraph's border
MUTED, BYPASSED = 2, 4


@dataclass(frozen=True, slots=True)
class Link:
    link_id: str
    origin: str
    origin_slot: int
    target: str
    target_slot: int
    kind: str


@dataclass(frozen=True, slots=True)
class SavedInput:
    """`widget`: it can also be typed in, under the name of the input."""

    name: str
    kind: str
    link: str | None
    widget: bool


@dataclass(frozen=True, slots=True)
class SavedNode:
    """`values` are those of the widgets, by position, or for some packs by name."""

    node_id: str
    class_type: str
    title: str | None
    mode: int
    order: float
    inputs: tuple[SavedInput, ...]
    output_kinds: tuple[str, ...]
    values: tuple[Any, ...] | Mapping[str, Any]
    promoted: tuple[tuple[str, str], ...]  # of an old instance: (inner node, widget)
    search_name: str | None
    place: tuple[float, float, float, float] | None


@dataclass(frozen=True, slots=True)
class SavedGraph:
    nodes: Mapping[str, SavedNode]
    links: Mapping[str, Link]


@dataclass(frozen=True, slots=True)
class SavedSubgraph:
    """`inputs` and `outputs`: name and type of each, in order. `output_links`: per output, in order."""

    subgraph_id: str
    name: str
    graph: SavedGraph
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    output_links: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class SavedGroup:
    title: str
    bounds: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class SavedFile:
    graph: SavedGraph
    subgraphs: Mapping[str, SavedSubgraph]
    groups: tuple[SavedGroup, ...] = ()
    faults: tuple[str, ...] = ()


def is_saved_file(document: Mapping[str, Any]) -> bool:
    """True for what looks like a file of the official page: a list of nodes and links beside it."""
    return isinstance(document.get("nodes"), list) and isinstance(document.get("links"), list)


def read_saved_file(document: Mapping[str, Any]) -> SavedFile:
    """Take a file apart. Node ids that repeat in a definition are replaced, as the page does on load."""
    reader = _Reader()
    root = reader.graph(document, "workflow")
    subgraphs = {one.subgraph_id: one for one in reader.subgraphs(document)}
    groups = tuple(reader.groups(document))
    last_node = _last_node(document)
    return SavedFile(root, _renumbered(root, subgraphs, last_node), groups, tuple(reader.faults))


@dataclass(slots=True)
class _Reader:
    faults: list[str] = field(default_factory=list)
    node_count: int = 0
    subgraph_count: int = 0

    def graph(self, given: Mapping[str, Any], where: str) -> SavedGraph:
        nodes: dict[str, SavedNode] = {}
        for item in _list(given.get("nodes")):
            node = self._node(item)
            self.node_count += 1
            if node is None or node.node_id in nodes or self.node_count > NODE_LIMIT:
                self.faults.append(f"a node of {where[:60]} cannot be read")
            else:
                nodes[node.node_id] = node
        links = {}
        for item in _list(given.get("links")):
            link = _link(item)
            if link is None:
                self.faults.append(f"a link of {where[:60]} cannot be read")
            else:
                links[link.link_id] = link
        return SavedGraph(nodes, links)

    def subgraphs(self, given: Mapping[str, Any], depth: int = 0) -> Iterator[SavedSubgraph]:
        definitions = given.get("definitions")
        found = _list(definitions.get("subgraphs")) if isinstance(definitions, Mapping) else []
        for item in found:
            self.subgraph_count += 1
            if not isinstance(item, Mapping) or depth > 16 or self.subgraph_count > SUBGRAPH_LIMIT:
                self.faults.append("a subgraph definition cannot be read")
                continue
            name = _text(item.get("name"))
            graph = self.graph(item, f"subgraph {name}")
            sides = [tuple(_named(_list(item.get(side)))) for side in ("inputs", "outputs")]
            leaving = tuple(_link_ids(_list(item.get("outputs"))))
            yield SavedSubgraph(_text(item.get("id")), name, graph, sides[0], sides[1], leaving)
            yield from self.subgraphs(item, depth + 1)

    def groups(self, given: Mapping[str, Any]) -> Iterator[SavedGroup]:
        for item in _list(given.get("groups")):
            bounds = _numbers(item.get("bounding")) if isinstance(item, Mapping) else None
            if bounds is not None and len(bounds) == 4:
                yield SavedGroup(_text(item.get("title")), (bounds[0], bounds[1], bounds[2], bounds[3]))

    def _node(self, given: object) -> SavedNode | None:
        if (
            not isinstance(given, Mapping)
            or not _is_id(given.get("id"))
            or not isinstance(given.get("type"), str)
        ):
            return None
        properties = given.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        values = given.get("widgets_values")
        mode, order = given.get("mode"), given.get("order")
        title = given.get("title")
        return SavedNode(
            node_id=str(given["id"]),
            class_type=given["type"],
            title=title if isinstance(title, str) else None,
            mode=mode if isinstance(mode, int) else 0,
            order=float(order) if isinstance(order, int | float) and abs(order) < 1e9 else 0.0,
            inputs=tuple(_inputs(_list(given.get("inputs")))),
            output_kinds=tuple(kind for _, kind in _named(_list(given.get("outputs")))),
            values=dict(values) if isinstance(values, Mapping) else tuple(_list(values)),
            promoted=tuple(_pairs(_list(properties.get("proxyWidgets")))),
            search_name=_text(properties.get("Node name for S&R")) or None,
            place=_place(given),
        )


def _inputs(items: list[Any]) -> Iterator[SavedInput]:
    for item in items:
        if isinstance(item, Mapping):
            link = item.get("link")
            yield SavedInput(
                _text(item.get("name")),
                _kind(item.get("type")),
                str(link) if _is_id(link) else None,
                isinstance(item.get("widget"), Mapping),
            )


def _link(given: object) -> Link | None:
    if isinstance(given, Mapping):
        keys = ("id", "origin_id", "origin_slot", "target_id", "target_slot", "type")
        given = [given.get(key) for key in keys]
    if not isinstance(given, list) or len(given) < 5 or not all(_is_id(given[at]) for at in (0, 1, 3)):
        return None
    slots = [slot if isinstance(slot, int) and 0 <= slot < NODE_LIMIT else 0 for slot in (given[2], given[4])]
    kind = _kind(given[5]) if len(given) > 5 else "*"
    return Link(str(given[0]), str(given[1]), slots[0], str(given[3]), slots[1], kind)


def _named(items: list[Any]) -> Iterator[tuple[str, str]]:
    for item in items:
        if isinstance(item, Mapping):
            yield _text(item.get("name")), _kind(item.get("type"))


def _link_ids(items: list[Any]) -> Iterator[tuple[str, ...]]:
    for item in items:
        if isinstance(item, Mapping):
            yield tuple(str(link) for link in _list(item.get("linkIds")) if _is_id(link))


def _pairs(items: list[Any]) -> Iterator[tuple[str, str]]:
    for item in items:
        if isinstance(item, list) and len(item) >= 2 and _is_id(item[0]) and isinstance(item[1], str):
            yield str(item[0]), item[1]


def _place(given: Mapping[str, Any]) -> tuple[float, float, float, float] | None:
    corner, size = _numbers(given.get("pos")), _numbers(given.get("size"))
    if corner is None or len(corner) < 2:
        return None
    width, height = (size[0], size[1]) if size is not None and len(size) >= 2 else (256.0, 100.0)
    return corner[0], corner[1], width, height


def _numbers(given: object) -> list[float] | None:
    if isinstance(given, Mapping):  # old files: {"0": x, "1": y}
        given = [given.get("0"), given.get("1")]
    if not isinstance(given, list):
        return None
    numbers = [float(item) for item in given if isinstance(item, int | float) and abs(item) < 1e9]
    return numbers if len(numbers) == len(given) else None


def _list(given: object) -> list[Any]:
    return given if isinstance(given, list) else []


def _text(given: object) -> str:
    return given if isinstance(given, str) else ""


def _kind(given: object) -> str:
    """A socket type; 0 and -1 are old ways to write "any", a list is a choice."""
    if isinstance(given, list):
        return "COMBO"
    return given if isinstance(given, str) else "*"


def _is_id(given: object) -> bool:
    if isinstance(given, bool):
        return False
    return isinstance(given, str) or (isinstance(given, int) and abs(given) < 2**53)


def _last_node(document: Mapping[str, Any]) -> int:
    """The highest node id the file says it has given out."""
    state = document.get("state")
    given = [document.get("last_node_id"), state.get("lastNodeId") if isinstance(state, Mapping) else None]
    return max((number for number in given if isinstance(number, int) and 0 <= number < 2**53), default=0)


def _renumbered(
    root: SavedGraph, subgraphs: dict[str, SavedSubgraph], last_node: int
) -> dict[str, SavedSubgraph]:
    """Definitions whose node ids repeat none of the root or of an earlier definition."""
    used = set(root.nodes)
    graphs = [root, *(one.graph for one in subgraphs.values())]
    numbers = [int(node_id) for graph in graphs for node_id in graph.nodes if node_id.lstrip("-").isdecimal()]
    free = max([last_node, *numbers])
    result: dict[str, SavedSubgraph] = {}
    renamed: dict[str, dict[str, str]] = {}
    for subgraph_id, subgraph in subgraphs.items():
        names: dict[str, str] = {}
        for node_id in subgraph.graph.nodes:
            if node_id in used:
                free += 1
                names[node_id] = str(free)
            used.add(names.get(node_id, node_id))
        renamed[subgraph_id] = names
        result[subgraph_id] = replace(subgraph, graph=_with_ids(subgraph.graph, names))
    return {
        subgraph_id: replace(subgraph, graph=_with_promotions(subgraph.graph, renamed))
        for subgraph_id, subgraph in result.items()
    }


def _with_ids(graph: SavedGraph, names: Mapping[str, str]) -> SavedGraph:
    if not names:
        return graph
    nodes = [replace(node, node_id=names.get(node.node_id, node.node_id)) for node in graph.nodes.values()]
    links = {
        link.link_id: replace(
            link, origin=names.get(link.origin, link.origin), target=names.get(link.target, link.target)
        )
        for link in graph.links.values()
    }
    return SavedGraph({node.node_id: node for node in nodes}, links)


def _with_promotions(graph: SavedGraph, renamed: Mapping[str, Mapping[str, str]]) -> SavedGraph:
    nodes = {}
    for node_id, node in graph.nodes.items():
        names = renamed.get(node.class_type, {})
        promoted = tuple((names.get(inner, inner), widget) for inner, widget in node.promoted)
        nodes[node_id] = replace(node, promoted=promoted)
    return SavedGraph(nodes, graph.links)
