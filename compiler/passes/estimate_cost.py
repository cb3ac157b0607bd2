from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rushes.compiler.ir.costs import Cost
from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.facts import CheckpointFacts
from rushes.compiler.ir.fitted_costs import COSTS
from rushes.compiler.ir.lattice import latent_frame_count
from rushes.compiler.ir.spec import Estimate, LoopSpec, NodeEstimate, PipelineSpec, StageSpec

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
    models = _models(draft.spec, request)
    nodes: dict[str, NodeEstimate] = {}
    for stage in draft.spec.stages:
        facts = models.get(stage.read("model") or "")
        if facts is not None:
            cost = COSTS.get((facts.checkpoint, request.target.device_kind))
            _add(nodes, stage.node_id, _stage_seconds(stage, facts, cost), _stage_bytes(stage, facts))
    spent = [node.seconds for node in nodes.values()]
    known = [seconds for seconds in spent if seconds is not None]
    estimate = Estimate(
        seconds=round(sum(known), 3) if len(known) == len(spent) else None,
        bytes=sum(node.bytes for node in nodes.values()),
        nodes=tuple(nodes.values()),
    )
    return replace(draft, spec=replace(draft.spec, estimate=estimate))


def _add(nodes: dict[str, NodeEstimate], node_id: str, seconds: float | None, size: int) -> None:
    """Add what a stage costs to its node; stages that cost nothing name no node."""
    if seconds == 0.0 and size == 0:
        return
    before = nodes.get(node_id, NodeEstimate(node_id, 0.0, 0))
    total = None if before.seconds is None or seconds is None else round(before.seconds + seconds, 6)
    nodes[node_id] = NodeEstimate(node_id, total, before.bytes + size)


def _models(spec: PipelineSpec, request: Request) -> dict[str, CheckpointFacts]:
    """The facts of each model a spec loads, by the name of its value."""
    return {
        stage.write("model"): request.target.checkpoints[str(stage.attr("checkpoint"))]
        for stage in spec.stages
        if stage.op == "load_model"
    }


def _stage_seconds(stage: StageSpec | LoopSpec, facts: CheckpointFacts, cost: Cost | None) -> float | None:
    clip = _made(stage, facts)
    if clip is None and stage.op != "encode_text":
        return 0.0
    if cost is None:
        return None
    if clip is None:
        return cost.text_s
    if stage.op == "encode_video":
        return clip.pixels * cost.pixel_encode_s
    sigmas = stage.attr("sigmas")
    forwards = len(sigmas) - 1 if isinstance(sigmas, tuple) else 0
    branches = 1 if stage.read("negative") is None else 2
    decoding = clip.pixels * cost.pixel_decode_s
    if not isinstance(stage, LoopSpec) or stage.op != "rollout":
        return branches * forwards * cost.forward(_tokens(clip, facts)) + decoding
    # One more forward per chunk commits it to the cache.
    chunks = stage.trip_count or facts.fps / (facts.temporal * facts.chunk_latent_frames)
    tokens = facts.chunk_latent_frames * _frame_tokens(clip, facts)
    return chunks * branches * (forwards + 1) * cost.forward(tokens) + decoding


def _stage_bytes(stage: StageSpec | LoopSpec, facts: CheckpointFacts) -> int:
    clip = _made(stage, facts)
    return 0 if clip is None else _latent_bytes(clip, facts) + RGB_BYTES * clip.pixels


def _made(stage: StageSpec | LoopSpec, facts: CheckpointFacts) -> _Clip | None:
    """The clip a model stage makes or reads."""
    if stage.op not in ("denoise", "rollout", "encode_video"):
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
    return latent_frame_count(clip.frame_count, facts.temporal) * _frame_tokens(clip, facts)


def _frame_tokens(clip: _Clip, facts: CheckpointFacts) -> int:
    side = facts.spatial * facts.patch
    return -(-clip.height_px // side) * -(-clip.width_px // side)


def _latent_bytes(clip: _Clip, facts: CheckpointFacts) -> int:
    cells = (clip.width_px // facts.spatial) * (clip.height_px // facts.spatial)
    frames = latent_frame_count(clip.frame_count, facts.temporal)
    return LATENT_BYTES * facts.latent_channels * cells * frames
