from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.showing import closest, show

CIRCLE_LIMIT = 20  # circles reported of one graph

Sources = Mapping[str, Sequence[str]]


def select_targets(draft: Draft, request: Request) -> Draft:
    """Order the nodes the targets need, each after its inputs; every other node is dead.

    Before
        targets: [preview];  load -> overlay -> preview;  model, prompt -> generate -> save
    After
        needed: (load, overlay, preview)

    Errors: E_UNKNOWN_NODE for a target that is not in the graph, E_NO_OUTPUT without any target,
    E_CYCLE, once per circle, at its first node by name.
    """
    roots, found = _roots(draft, request)
    sources = _sources(draft, request)
    needed, circles = _ordered(roots, sources)
    _, others = _ordered(draft.graph.nodes, sources)
    found.extend(_circle(circle) for circle in circles | others)
    return replace(draft, needed=needed).reporting(
        sorted(found, key=lambda one: (one.code, one.node_id or ""))
    )


def _roots(draft: Draft, request: Request) -> tuple[list[str], list[Diagnostic]]:
    nodes = draft.graph.nodes
    if request.targets is not None:
        targets = {inner for target in request.targets for inner in draft.insides.get(target, (target,))}
        found = [
            Diagnostic(
                "E_UNKNOWN_NODE",
                "error",
                f"expected a node of the graph that is not muted as target, got {show(target)}",
                expected="a node of the graph",
                given=show(target),
                suggestion=closest(target, nodes),
            )
            for target in sorted(targets)
            if target not in nodes and target not in draft.graph.unread
        ]
        roots = sorted(target for target in targets if target in nodes)
        is_told = bool(roots or found or draft.graph.unread.intersection(targets))
        return roots, found if is_told else [_no_output("at least one target")]
    declared = {node_id: draft.declaration(node_id, request.catalog) for node_id in nodes}
    roots = sorted(node_id for node_id, found in declared.items() if found is not None and found.is_output)
    if roots or None in declared.values() or draft.graph.unread:
        return roots, []
    return roots, [_no_output("a node that shows or saves something, such as preview or save_video")]


def _no_output(expected: str) -> Diagnostic:
    return Diagnostic(
        "E_NO_OUTPUT", "error", f"expected {expected}, got none", expected=expected, given="none"
    )


def _sources(draft: Draft, request: Request) -> Sources:
    """For each node the nodes it reads, in the order of its sockets; over a refused edge too."""
    by_socket: dict[str, dict[str, str]] = defaultdict(dict)
    for edge in (*draft.refused, *draft.graph.edges):
        if edge.from_node in draft.graph.nodes:
            by_socket[edge.to_node][edge.to_socket] = edge.from_node
    sources: dict[str, Sequence[str]] = {}
    for node_id in draft.graph.nodes:
        connected = by_socket[node_id]
        declared = draft.declaration(node_id, request.catalog)
        sockets = () if declared is None else declared.inputs
        known = [connected.pop(socket) for socket in sockets if socket in connected]
        sources[node_id] = [*known, *connected.values()]
    return sources


def _ordered(roots: Iterable[str], sources: Sources) -> tuple[tuple[str, ...], set[tuple[str, ...]]]:
    """Depth first, without recursion. Returns the order and every circle met, rotated to its least name."""
    order: list[str] = []
    done: set[str] = set()
    path: list[str] = []
    on_path: set[str] = set()
    circles: set[tuple[str, ...]] = set()
    for root in roots:
        stack = [(root, False)]
        while stack:
            node_id, is_left = stack.pop()
            if is_left:
                path.pop()
                on_path.discard(node_id)
                done.add(node_id)
                order.append(node_id)
            elif node_id in on_path:
                if len(circles) < CIRCLE_LIMIT:
                    circles.add(_rotated(path[path.index(node_id) :]))
            elif node_id not in done:
                path.append(node_id)
                on_path.add(node_id)
                stack.append((node_id, True))
                stack.extend((source, False) for source in reversed(sources[node_id]))
    return tuple(order), circles


def _rotated(circle: list[str]) -> tuple[str, ...]:
    start = circle.index(min(circle))
    return (*circle[start:], *circle[:start])


def _circle(circle: tuple[str, ...]) -> Diagnostic:
    shown = " <- ".join((*circle[:8], *(("...",) if len(circle) > 8 else ()), circle[0]))
    message = f"expected edges that lead forward, got a circle: {shown}"
    return Diagnostic("E_CYCLE", "error", message, circle[0], None, "no circle", shown)
