"""Workflow in, PipelineSpec and diagnostics out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rushes.compiler.ir.declaration import Catalog
from rushes.compiler.ir.diagnostics import Diagnostic, has_errors
from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.facts import Target
from rushes.compiler.ir.spec import PipelineSpec
from rushes.compiler.ir.text import to_text
from rushes.compiler.ir.verify import verify
from rushes.compiler.passes.order import PASSES, Pass
from rushes.compiler.read.workflow import read_workflow


@dataclass(frozen=True, slots=True)
class Compiled:
    """`spec` is there exactly when no diagnostic is an error."""

    spec: PipelineSpec | None
    diagnostics: tuple[Diagnostic, ...]


def compile_workflow(
    document: Mapping[str, Any],
    catalog: Catalog,
    target: Target,
    *,
    targets: Sequence[str] | None = None,
    verifies: bool = True,
    passes: Sequence[Pass] = PASSES,
) -> Compiled:
    """Compile a parsed document. Same input, same bytes, same hash in any process.

    `targets` names the nodes wanted (any, not only outputs); None means every output node. Only what
    they need is compiled in. Faults of nodes that nobody needs are warnings. `verifies`: check our own
    work too, after the last pass. `passes`: PLAIN_PASSES give the program as it is written, to compare with.

    Errors: none for any document; every fault of a workflow is a diagnostic. SpecError if the compiler
    itself is at fault.
    """
    read = read_workflow(document)
    if read.graph is None:
        return Compiled(None, read.diagnostics)
    request = Request(catalog, target, None if targets is None else tuple(targets), read.level)
    draft = Draft(read.graph, read.diagnostics)
    for run in passes:
        draft = run(draft, request)
    diagnostics = tuple(_settled(found, draft, request) for found in draft.diagnostics)
    if draft.spec is None or has_errors(diagnostics):
        return Compiled(None, diagnostics)
    if verifies:
        verify(draft.spec)
    return Compiled(draft.spec, diagnostics)


def explain(spec: PipelineSpec) -> str:
    """The program as text a person can read."""
    return to_text(spec)


def _settled(found: Diagnostic, draft: Draft, request: Request) -> Diagnostic:
    """A fault of a node that no target needs is a warning: it is not run."""
    if found.severity != "error" or found.node_id not in draft.every or found.node_id in draft.needed:
        return found
    # A node of unknown type may be meant as an output, unless the outputs are named.
    if found.code == "E_UNKNOWN_NODE_TYPE" and request.targets is None:
        return found
    return replace(found, severity="warning")
