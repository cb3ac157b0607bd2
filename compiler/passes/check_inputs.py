from __future__ import annotations

from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.draft import Draft, Request


def check_inputs(draft: Draft, request: Request) -> Draft:
    """Find required inputs without an edge. An input whose edge was refused has been reported already.

    Errors: E_MISSING_INPUT.
    """
    connected = {(edge.to_node, edge.to_socket) for edge in (*draft.graph.edges, *draft.refused)}
    found: list[Diagnostic] = []
    for node_id in draft.graph.nodes:
        declared = draft.declaration(node_id, request.catalog)
        if declared is None:
            continue
        for name, socket in declared.inputs.items():
            if not socket.optional and (node_id, name) not in connected:
                expected = f"an edge from {' or '.join(socket.types)}"
                message = f"{name}: expected {expected}, got none"
                found.append(Diagnostic("E_MISSING_INPUT", "error", message, node_id, name, expected, "none"))
    return draft.reporting(found)
