from __future__ import annotations

from collections.abc import Iterator

from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.graph import Node
from rushes.compiler.ir.showing import closest, show


def check_types(draft: Draft, request: Request) -> Draft:
    """Find nodes whose type, or whose version of it, is not in the catalog.

    Guarantees: the graph is left as it was; later passes step around unknown types.
    Errors: E_UNKNOWN_NODE_TYPE, E_NODE_VERSION; notes N_OLDER_VERSION.
    """
    return draft.reporting(list(_findings(draft, request)))


def _findings(draft: Draft, request: Request) -> Iterator[Diagnostic]:
    for node in draft.graph.nodes.values():
        declared = request.catalog.nodes.get(node.type_id)
        if declared is None:
            yield _unknown(node, request)
        elif node.version is not None and node.version > declared.version:
            message = (
                f"expected version {declared.version} of {node.type_id} or older, got {show(node.version)}: "
                f"the node was saved by a newer Rushes"
            )
            yield Diagnostic(
                "E_NODE_VERSION",
                "error",
                message,
                node.node_id,
                "version",
                str(declared.version),
                show(node.version),
                declared.version,
            )
        elif node.version is not None and node.version < declared.version:
            message = f"saved by version {show(node.version)} of {node.type_id}, now {declared.version}"
            yield Diagnostic("N_OLDER_VERSION", "note", message, node.node_id, "version")


def _unknown(node: Node, request: Request) -> Diagnostic:
    alike = closest(node.type_id, request.catalog.nodes)
    message = f"expected a node type of the catalog, got {show(node.type_id)}"
    if alike is not None:
        message += f"; did you mean {alike}?"
    return Diagnostic(
        "E_UNKNOWN_NODE_TYPE",
        "error",
        message,
        node.node_id,
        "type",
        "a node type of the catalog",
        show(node.type_id),
        alike,
    )
