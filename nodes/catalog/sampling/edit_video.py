from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.facts import CheckpointFacts
from rushes.compiler.ir.lattice import latent_frame_count, latent_frame_span
from rushes.compiler.ir.values import Clip, MaskValue, ModelValue, SamplerValue, VideoValue
from rushes.nodes.catalog.sampling import denoising
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class EditVideo(NodeType):
    """Make part of a video anew: mask 0 keeps, 1 regenerates, between blends.

    Kept latent frames come out bit for bit as they were encoded. A video longer than the source needs
    a temporal mask that makes the added frames.
    """

    type_id = "edit_video"
    title = "Edit video"
    inputs: ClassVar = {
        "model": Socket((SocketType.MODEL,), "What makes the new part."),
        "prompt": Socket((SocketType.PROMPT,), "What the whole video shows after the edit."),
        "source": Socket((SocketType.VIDEO,), "The video to change."),
        "mask": Socket((SocketType.MASK,), "What to keep and what to make anew."),
        "adapters": Socket((SocketType.ADAPTERS,), "LoRAs added to the model.", optional=True),
        "sampler": Socket((SocketType.SAMPLER,), "The checkpoint's own if absent.", optional=True),
    }
    outputs: ClassVar = {
        "video": Socket((SocketType.VIDEO,), "The frames."),
        "latent": Socket((SocketType.LATENT,), "The frames before they are decoded."),
    }

    seed: int = param(0, ge=0, le=2**53 - 1, doc="Noise seed. Same seed, same video.")
    denoise_strength: float = param(
        1.0, ge=0.0, le=1.0, step=0.05, doc="Share of the schedule to run: less stays nearer to the source."
    )
    frame_count: int = param(
        0, ge=0, le=10_000, unit="frames", doc="Length of the result; 0 is the source's, fewer cut its end."
    )

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        model, source = inputs.need("model", ModelValue), inputs.need("source", VideoValue)
        mask = inputs.need("mask", MaskValue)
        facts = model.facts
        denoising.check_capability(to, facts, "edit", "model")
        canvas = self._canvas(to, facts, source)
        schedule = denoising.schedule_of(
            to, inputs.find("sampler", SamplerValue), facts, self.denoise_strength
        )
        if canvas is None:
            return {}
        clip = Clip(canvas.frame_count, canvas.fps, source.frame_count)
        self._check_mask(to, mask, clip, facts)
        adapters, conditioning = denoising.prepare(to, inputs, schedule)
        job = denoising.Denoising(
            model, adapters, conditioning, schedule, self.seed, self.denoise_strength, canvas
        )
        pictures = _pictures(to, job, source.name, mask.draw(to, clip))
        return denoising.denoise(to, job, pictures)

    def _canvas(self, to: Lowering, facts: CheckpointFacts, source: VideoValue) -> denoising.Canvas | None:
        if source.frame_count == 0:
            raise to.error("E_ENDLESS", "the source must have an end, got an endless rollout", param="source")
        frame_count = self.frame_count or source.frame_count
        what = "the edited video" if self.frame_count else "the edited video, as long as its source,"
        if not denoising.check_frame_count(to, facts, frame_count, what):
            return None
        width_px, height_px = _size(facts, source)
        if (width_px, height_px) != (source.width_px, source.height_px):
            to.note(
                "N_RESIZED",
                f"the source, {source.width_px}x{source.height_px}, is resized to {width_px}x{height_px}",
                param="source",
            )
        return denoising.Canvas(width_px, height_px, frame_count, source.fps)

    def _check_mask(self, to: Lowering, mask: MaskValue, clip: Clip, facts: CheckpointFacts) -> None:
        """Frames without a source must be made anew; frames kept in vain are named."""
        added = clip.frame_count - clip.source_frame_count
        if mask.extends and added <= 0:
            longer = clip.source_frame_count + facts.temporal * facts.chunk_latent_frames
            raise to.error(
                "E_FRAME_COUNT",
                f"an extension needs more than the source's {clip.source_frame_count} frames, "
                f"got {clip.frame_count}",
                param="frame_count",
                expected=f"more than {clip.source_frame_count}",
                given=str(clip.frame_count),
                suggestion=min(longer, facts.frame_count_max),
            )
        mask.check_length(to, clip)
        profile = mask.profile(clip)
        if added > 0 and min(low for low, _ in profile[clip.source_frame_count :]) <= 0.0:
            raise to.error(
                "E_FRAME_COUNT",
                f"frames from {clip.source_frame_count} on have no source; expected a mask that makes all of "
                f"them anew (a temporal mask in mode extension), got one that keeps part of them",
                param="mask",
                expected="a mask above 0 in every added frame",
                given="a mask that keeps part of them",
            )
        _note_kept(to, [high for _, high in profile], facts.temporal)


def _size(facts: CheckpointFacts, source: VideoValue) -> tuple[int, int]:
    if facts.sizes_fixed:
        return facts.width_px, facts.height_px
    step_px = facts.spatial * facts.patch
    return max(step_px, source.width_px // step_px * step_px), max(
        step_px, source.height_px // step_px * step_px
    )


def _note_kept(to: Lowering, highs: list[float], temporal: int) -> None:
    """A latent frame is kept only if all its pixel frames are."""
    asked = sum(high == 0.0 for high in highs)
    kept = 0
    for index in range(latent_frame_count(len(highs), temporal)):
        first, end = latent_frame_span(index, temporal)
        if max(highs[first:end]) == 0.0:
            kept += end - first
    if asked == len(highs):
        to.note("N_NO_EFFECT", "the mask keeps every frame whole; nothing is made anew", param="mask")
    elif kept < asked:
        to.note(
            "N_SNAPPED",
            f"the mask keeps {asked} frames whole; {kept} of them fill latent frames of {temporal} and are "
            f"kept, the other {asked - kept} share one with new frames and are made anew",
            param="mask",
        )


def _pictures(to: Lowering, job: denoising.Denoising, source: str, mask: str) -> dict[str, str | None]:
    canvas, facts = job.canvas, job.model.facts
    size = {"width_px": canvas.width_px, "height_px": canvas.height_px, "frame_count": canvas.frame_count}
    reads = {"model": job.model.name, "video": source}
    lattice = {**size, "fps": canvas.fps, "spatial": facts.spatial, "temporal": facts.temporal}
    return {
        "source": to.stage("encode_video", reads, size, label="source")["latent"],
        "mask": to.stage("mask_to_latent", {"mask": mask}, lattice, label="mask")["mask_latent"],
    }
