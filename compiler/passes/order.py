"""The order of passes, on one page. Each takes a draft and gives a better one; none knows another."""

from __future__ import annotations

from collections.abc import Callable

from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.passes.apply_modes import apply_modes
from rushes.compiler.passes.assign_level import assign_level
from rushes.compiler.passes.check_edges import check_edges
from rushes.compiler.passes.check_inputs import check_inputs
from rushes.compiler.passes.check_types import check_types
from rushes.compiler.passes.drop_dead import drop_dead
from rushes.compiler.passes.estimate_cost import estimate_cost
from rushes.compiler.passes.expand_subgraphs import expand_subgraphs
from rushes.compiler.passes.lower_nodes import lower_nodes
from rushes.compiler.passes.merge_equal import merge_equal
from rushes.compiler.passes.resolve_params import resolve_params
from rushes.compiler.passes.select_targets import select_targets

Pass = Callable[[Draft, Request], Draft]

PASSES: tuple[Pass, ...] = (
    # the graph: what is wrong with it, and what of it is asked for
    expand_subgraphs,
    check_types,
    check_edges,
    apply_modes,
    select_targets,
    resolve_params,
    check_inputs,
    # graph to spec
    lower_nodes,
    # the spec: less of it, and more known about it
    merge_equal,
    drop_dead,
    assign_level,
    estimate_cost,
)

# Node by node as it is written, nothing merged or dropped: what an optimised program is compared with.
PLAIN_PASSES: tuple[Pass, ...] = tuple(run for run in PASSES if run not in (merge_equal, drop_dead))
