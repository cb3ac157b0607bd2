from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rushes.compiler.ir.costs import COSTS, Cost
from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.facts import CheckpointFacts
from rushes.compiler.ir.lattice import latent_frame_count
from rushes.compiler.ir.spec import Estimate, LoopSpec, PipelineSpec, StageSpec

RGB_BYTES = 3
LATENT_BYTES = 4  # fp32


@dataclass(frozen=True, slots=True)
class _Clip:
    width_px: int
    height_px: int
    frame_count: int

    @property
    def pixels(self) -> int:
        return self.width_px * self.height_px * self.frame_count


def estimate_cost(draft: Draft, request: Request) -> Draft:
    """Attach predicted device seconds and bytes of values, weights not counted.

    Arithmetic over tokens and pixels with measured costs of the checkpoint on this kind of device.
    Seconds are None where nothing was measured. An endless rollout counts one second of its video.
    """
    if draft.spec is None:
        return draft
    facts = _facts(draft.spec, request)
    cost = None if facts is None else COSTS.get((facts.checkpoint, request.target.device_kind))
    stages = draft.spec.stages
    clips = [clip for stage in stages if (clip := _made(stage, facts)) is not None]
    latent_bytes = sum(_latent_bytes(clip, facts) for clip in clips)
    estimate = Estimate(
        seconds=_seconds(stages, facts, cost),
        bytes=latent_bytes + sum(RGB_BYTES * clip.pixels for clip in clips),
    )
    return replace(draft, spec=replace(draft.spec, estimate=estimate))


def _facts(spec: PipelineSpec, request: Request) -> CheckpointFacts | None:
    loads = [stage for stage in spec.stages if stage.op == "load_model"]
    return request.target.checkpoints[str(loads[0].attr("checkpoint"))] if loads else None


def _seconds(
    stages: tuple[StageSpec | LoopSpec, ...], facts: CheckpointFacts | None, cost: Cost | None
) -> float | None:
    if facts is None:
        return 0.0
    if cost is None:
        return None
    total = sum(_stage_seconds(stage, facts, cost) for stage in stages)
    return round(total, 3)


def _stage_seconds(stage: StageSpec | LoopSpec, facts: CheckpointFacts, cost: Cost) -> float:
    if stage.op == "encode_text":
        return cost.text_s
    clip = _made(stage, facts)
    if clip is None:
        return 0.0
    if stage.op == "encode_video":
        return clip.pixels * cost.pixel_encode_s
    # A rollout runs one more forward per chunk, which commits it to the cache.
    sigmas = stage.attr("sigmas")
    forwards = len(sigmas) - 1 if isinstance(sigmas, tuple) else 0
    branches = 1 if stage.read("negative") is None else 2
    commit = 1 if stage.op == "rollout" else 0
    tokens = _tokens(clip, facts)
    return tokens * branches * (forwards + commit) * cost.token_forward_s + clip.pixels * cost.pixel_decode_s


def _made(stage: StageSpec | LoopSpec, facts: CheckpointFacts | None) -> _Clip | None:
    """The clip a model stage makes or reads."""
    if facts is None or stage.op not in ("denoise", "rollout", "encode_video"):
        return None
    attrs: Mapping[str, object] = dict(stage.attrs)
    width_px, height_px = attrs["width_px"], attrs["height_px"]
    frames = attrs.get("frame_count", None)
    if isinstance(stage, LoopSpec) and stage.op == "rollout":
        latent_frames = stage.trip_count * facts.chunk_latent_frames
        frames = latent_frames * facts.temporal if stage.trip_count else facts.fps
    if isinstance(width_px, int) and isinstance(height_px, int) and isinstance(frames, int):
        return _Clip(width_px, height_px, frames)
    return None


def _tokens(clip: _Clip, facts: CheckpointFacts) -> int:
    side = facts.spatial * facts.patch
    rows, columns = -(-clip.height_px // side), -(-clip.width_px // side)
    return latent_frame_count(clip.frame_count, facts.temporal) * rows * columns


def _latent_bytes(clip: _Clip, facts: CheckpointFacts | None) -> int:
    if facts is None:
        return 0
    cells = (clip.width_px // facts.spatial) * (clip.height_px // facts.spatial)
    frames = latent_frame_count(clip.frame_count, facts.temporal)
    return LATENT_BYTES * facts.latent_channels * cells * frames
