from __future__ import annotations

from dataclasses import replace

from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.spec import LoopSpec, OutputSpec, PipelineSpec, StageSpec

# A person steers each of these apart from its twin, by the id of its node.
STEERED = frozenset({"live_actions", "rollout"})


def merge_equal(draft: Draft, request: Request) -> Draft:
    """Compute equal things once: loads, text encodes, adapter stacks, masks, whole generates.

    Before
        a = load_model(shapes);  b = load_model(shapes);  x = encode_text(a, "hi");  y = encode_text(b, "hi")
    After
        a = load_model(shapes);  x = encode_text(a, "hi")

    Legal when op, attrs and (merged) reads are equal and the stage writes something; never for stages
    that a person steers while they run.

    Guarantees: pure; idempotent; the earlier of two equal stages stays.
    """
    if draft.spec is None:
        return draft
    names: dict[str, str] = {}
    first: dict[object, StageSpec] = {}
    kept: list[StageSpec | LoopSpec] = []
    for stage in draft.spec.stages:
        if any(value in names for _, value in stage.reads):
            reads = tuple((port, names.get(value, value)) for port, value in stage.reads)
            stage = replace(stage, reads=reads)
        twin = first.setdefault(_key(stage), stage) if _can_merge(stage) else stage
        if twin is stage:
            kept.append(stage)
        else:
            names.update((value, twin.write(port)) for port, value in stage.writes)
    outputs = tuple(
        OutputSpec(output.node_id, names.get(output.value, output.value), output.kind)
        for output in draft.spec.outputs
    )
    return replace(draft, spec=PipelineSpec(tuple(kept), outputs))


def _can_merge(stage: StageSpec) -> bool:
    return bool(stage.writes) and stage.op not in STEERED


def _key(stage: StageSpec | LoopSpec) -> object:
    """Equal keys, equal values: repr tells 1 from 1.0 and True, which compare equal."""
    trips = stage.trip_count if isinstance(stage, LoopSpec) else None
    return (stage.op, stage.reads, repr(stage.attrs), trips)
