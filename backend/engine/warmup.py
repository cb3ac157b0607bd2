"""A tiny job that goes once through everything a first job would wait for."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rushes.backend.engine.protocol import SubmitJob
from rushes.compiler.ir.facts import CheckpointFacts
from rushes.compiler.ir.spec import Attr, LoopSpec, PipelineSpec, StageSpec, sorted_attrs, spec_to_json

JOB_ID: Final = "warm-up"
ONE_STEP: Final = (1.0, 0.0)
TWO_STEPS: Final = (1.0, 0.5, 0.0)
"""A forward is recorded when its like comes a second time."""


def warm_up_job(
    facts: CheckpointFacts, precision: str, output_dir: Path, *, is_recorded: bool = False
) -> SubmitJob:
    """One step of a short clip, and a rollout of two chunks where the checkpoint makes such.

    Where forwards are recorded: the checkpoint's own clip, and steps enough for its recording.
    """
    stages: list[StageSpec | LoopSpec] = [
        _stage(
            "load_model",
            {},
            {"model": "model"},
            {
                "checkpoint": facts.checkpoint,
                "precision": precision,
                "content_id": facts.content_id,
            },
        ),
        _stage("encode_text", {"model": "model"}, {"conditioning": "text"}, {"text": "warm up"}),
        *_clip(facts, is_recorded),
    ]
    if "rollout" in facts.capabilities:
        stages.extend(_rollout(facts, is_recorded))
    spec = PipelineSpec(tuple(stages), outputs=())
    return SubmitJob(JOB_ID, spec_to_json(spec), {}, str(output_dir))


def _clip(facts: CheckpointFacts, is_recorded: bool) -> list[StageSpec | LoopSpec]:
    frame_count = facts.frame_count_default if is_recorded else 1 + facts.temporal
    sampling = {**_sampling(facts, is_recorded), "frame_count": frame_count, "denoise_strength": 1.0}
    denoised = _loop(
        "denoise",
        {"model": "model", "conditioning": "text"},
        {"latent": "latent"},
        sampling,
        trip_count=2 if is_recorded else 1,
    )
    decoded = _stage(
        "decode", {"model": "model", "latent": "latent"}, {"video": "clip"}, {"fps": float(facts.fps)}
    )
    size: dict[str, Attr] = {"width_px": facts.width_px, "height_px": facts.height_px, "frame_count": 1}
    encoded = _stage("encode_video", {"model": "model", "video": "clip"}, {"latent": "start"}, size)
    shown = _stage("preview", {"video": "clip"}, {}, {})
    again = _loop(
        "denoise",
        {"model": "model", "conditioning": "text", "start": "start"},
        {"latent": "again"},
        sampling,
        trip_count=2 if is_recorded else 1,
    )
    return [denoised, decoded, encoded, shown, again]


def _rollout(facts: CheckpointFacts, is_recorded: bool) -> list[StageSpec | LoopSpec]:
    attrs: dict[str, Attr] = {
        **_sampling(facts, is_recorded),
        "mode": "kv",
        "chunk_latent_frames": facts.chunk_latent_frames,
        "sink_frames": 0,
        "window_frames": facts.chunk_latent_frames,
        "temporal": facts.temporal,
        "paced": False,
        "session": "",
    }
    reads = {"model": "model", "conditioning": "text"}
    writes = {"video": "stream", "session": "session"}
    return [
        _loop("rollout", reads, writes, attrs, trip_count=2),
        _stage("preview", {"video": "stream"}, {}, {}, node_id="stream"),
    ]


def _sampling(facts: CheckpointFacts, is_recorded: bool) -> dict[str, Attr]:
    return {
        "seed": 0,
        "sigmas": TWO_STEPS if is_recorded else ONE_STEP,
        "sampler": facts.samplers[0],
        "guidance_scale": 1.0,
        "fps": float(facts.fps),
        "width_px": facts.width_px,
        "height_px": facts.height_px,
    }


def _stage(
    op: str,
    reads: dict[str, str],
    writes: dict[str, str],
    attrs: dict[str, Attr],
    node_id: str = JOB_ID,
) -> StageSpec:
    return StageSpec(op, node_id, tuple(reads.items()), tuple(writes.items()), sorted_attrs(attrs))


def _loop(
    op: str, reads: dict[str, str], writes: dict[str, str], attrs: dict[str, Attr], *, trip_count: int
) -> LoopSpec:
    return LoopSpec(
        op,
        JOB_ID,
        tuple(reads.items()),
        tuple(writes.items()),
        sorted_attrs(attrs),
        trip_count=trip_count,
        body=(),
    )
