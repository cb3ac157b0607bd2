"""The grammar of a spec, as rules. A spec that breaks one is a fault of ours, never of the workflow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rushes.compiler.ir.ops import OPS, Op
from rushes.compiler.ir.spec import LoopSpec, PipelineSpec, StageSpec


class SpecError(ValueError):
    """A pass or a node's lowering made a spec that the engine cannot run."""


def verify(spec: PipelineSpec) -> None:
    """Check ports, kinds, attrs, order and outputs. Errors: SpecError listing every broken rule."""
    broken = list(_broken(spec))
    if broken:
        raise SpecError("; ".join(broken))


def _broken(spec: PipelineSpec) -> Iterator[str]:
    kinds: dict[str, str] = {}
    for stage in spec.stages:
        op = OPS.get(stage.op)
        at = f"{stage.op} of {stage.node_id}"
        if op is None:
            yield f"{at}: no such op"
            continue
        yield from (f"{at}: {fault}" for fault in _stage_faults(stage, op, kinds))
        for port, value in stage.writes:
            if value in kinds:
                yield f"{at}: {value} is written twice"
            kinds[value] = port
    for output in spec.outputs:
        if output.value not in kinds:
            yield f"output of {output.node_id}: nobody writes {output.value}"


def _stage_faults(stage: StageSpec | LoopSpec, op: Op, kinds: dict[str, str]) -> Iterator[str]:
    reads = dict(stage.reads)
    ports = {port.name: port for port in op.reads}
    if len(reads) < len(stage.reads):
        yield "reads one port twice"
    for name in sorted(ports.keys() | reads.keys()):
        if name not in ports:
            yield f"has no port {name} to read"
        elif name not in reads:
            if not ports[name].optional:
                yield f"must read {name}"
        elif kinds.get(reads[name]) not in ports[name].kinds:
            yield f"{name} reads {reads[name]}, which is {kinds.get(reads[name], 'not written before')}"
    if [port for port, _ in stage.writes] != [port.name for port in op.writes]:
        yield "writes other ports than its op"
    yield from _attr_faults(stage, op)
    yield from _loop_faults(stage, op)


def _attr_faults(stage: StageSpec, op: Op) -> Iterator[str]:
    attrs = dict(stage.attrs)
    if list(stage.attrs) != sorted(stage.attrs, key=lambda pair: pair[0]) or len(attrs) < len(stage.attrs):
        yield "attrs are not sorted, each once"
    if attrs.keys() != op.attrs.keys():
        yield f"attrs differ from the op's by {sorted(attrs.keys() ^ op.attrs.keys())}"
        return
    for name, kind in op.attrs.items():
        if type(attrs[name]) is not kind:
            yield f"attr {name} must be {kind.__name__}, is {type(attrs[name]).__name__}"


def _loop_faults(stage: StageSpec | LoopSpec, op: Op) -> Iterator[str]:
    if isinstance(stage, LoopSpec) != op.is_loop:
        yield "is a loop" if isinstance(stage, LoopSpec) else "is not a loop"
        return
    if not isinstance(stage, LoopSpec):
        return
    sigmas = dict(stage.attrs).get("sigmas", ())
    if isinstance(sigmas, tuple):
        falling = all(
            isinstance(high, float) and isinstance(low, float) and high > low
            for high, low in pairwise(sigmas)
        )
        if len(sigmas) < 2 or not falling or sigmas[-1] != 0.0:
            yield "sigmas must fall to 0"
        if stage.op == "denoise" and stage.trip_count != len(sigmas) - 1:
            yield "trip count differs from the steps of its sigmas"
    if stage.trip_count < (0 if stage.op == "rollout" else 1):
        yield f"trip count {stage.trip_count} runs nothing"
