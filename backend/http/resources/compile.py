"""Compile a workflow without running it."""

from __future__ import annotations

from rushes.compiler.compile import explain

from ...present import present_diagnostics
from ...wire.v1.bodies import CompileEstimate, CompileReply, CompileRequest
from ..route import Call, Route


async def compile_workflow(call: Call) -> CompileReply:
    asked = await call.body(CompileRequest)
    compiled = await call.services.submitter.compile(asked.workflow, asked.targets)
    diagnostics = present_diagnostics(found.to_json() for found in compiled.diagnostics)
    spec = compiled.spec
    if spec is None:
        return CompileReply(
            ok=False, diagnostics=diagnostics, explain=None, spec_hash=None, level=None, estimate=None
        )
    estimate = spec.estimate
    return CompileReply(
        ok=True,
        diagnostics=diagnostics,
        explain=explain(spec),
        spec_hash=spec.spec_hash,
        level=spec.level,
        estimate=None
        if estimate is None
        else CompileEstimate(seconds=estimate.seconds, bytes=estimate.bytes),
    )


ROUTES = (
    Route(
        method="POST",
        path="/compile",
        handler=compile_workflow,
        body=CompileRequest,
        reply=CompileReply,
        summary="Check a workflow and show the program it becomes; runs nothing.",
    ),
)
