from __future__ import annotations

from dataclasses import replace

from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.spec import LoopSpec, StageSpec


def drop_dead(draft: Draft, request: Request) -> Draft:
    """Drop stages whose values nobody reads.

    Before
        clip = load_video();  mask = latent_mask();  video = mask_overlay(photo, mask);  preview(video)
    After
        mask = latent_mask();  video = mask_overlay(photo, mask);  preview(video)

    Stages that write nothing are the outputs and stay. Guarantees: pure; idempotent.
    """
    if draft.spec is None:
        return draft
    read = {output.value for output in draft.spec.outputs}
    kept: list[StageSpec | LoopSpec] = []
    for stage in reversed(draft.spec.stages):
        if not stage.writes or any(value in read for _, value in stage.writes):
            read.update(value for _, value in stage.reads)
            kept.append(stage)
    return replace(draft, spec=replace(draft.spec, stages=tuple(reversed(kept))))
