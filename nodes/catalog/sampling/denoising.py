"""What the nodes of this category share: checks against the checkpoint, and the denoise loop itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rushes.compiler.ir.facts import CheckpointFacts
from rushes.compiler.ir.lattice import is_on_lattice, nearest_frame_count, nearest_multiple
from rushes.compiler.ir.lowering import Lowering
from rushes.compiler.ir.schedule import Schedule, cut_sigmas, schedule_for
from rushes.compiler.ir.spec import Attr
from rushes.compiler.ir.values import (
    AdaptersValue,
    Conditioning,
    LatentValue,
    ModelValue,
    PromptValue,
    SamplerValue,
    Value,
    VideoValue,
)
from rushes.nodes.declare import Inputs


@dataclass(frozen=True, slots=True)
class Canvas:
    """The clip to be made."""

    width_px: int
    height_px: int
    frame_count: int
    fps: float


@dataclass(frozen=True, slots=True)
class Denoising:
    """Everything the loop is told besides the pictures it reads."""

    model: ModelValue
    adapters: str | None
    conditioning: Conditioning
    schedule: Schedule
    seed: int
    denoise_strength: float
    canvas: Canvas


def check_capability(to: Lowering, facts: CheckpointFacts, capability: str, param: str) -> None:
    if capability not in facts.capabilities:
        able = ", ".join(sorted(facts.capabilities)) or "none"
        raise to.error(
            "E_CAPABILITY",
            f"expected a checkpoint with {capability}, got {facts.checkpoint} with {able}",
            param=param,
            expected=capability,
            given=able,
        )


def check_size(to: Lowering, facts: CheckpointFacts, width_px: int, height_px: int) -> bool:
    """Report each side the checkpoint does not make; true if both are fine."""
    step_px = facts.spatial * facts.patch
    fits = True
    for param, given, trained in (
        ("width_px", width_px, facts.width_px),
        ("height_px", height_px, facts.height_px),
    ):
        nearest = trained if facts.sizes_fixed else nearest_multiple(given, step_px)
        if given == nearest:
            continue
        fits = False
        expected = str(trained) if facts.sizes_fixed else f"a multiple of {step_px}"
        to.error(
            "E_SIZE",
            f"{facts.checkpoint} makes a {param} of {expected}, got {given}",
            param=param,
            expected=expected,
            given=str(given),
            suggestion=nearest,
        )
    return fits


def check_frame_count(to: Lowering, facts: CheckpointFacts, frame_count: int, what: str) -> bool:
    """Report a frame count off the lattice or over the maximum; `what` begins the sentence."""
    nearest = nearest_frame_count(frame_count, facts.temporal, facts.frame_count_max)
    if frame_count > facts.frame_count_max:
        code, expected = "E_FRAME_COUNT", f"at most {facts.frame_count_max} frames in one pass"
    elif not is_on_lattice(frame_count, facts.temporal):
        code, expected = "E_OFF_LATTICE", f"{facts.temporal}k+1 frames (1, {1 + facts.temporal}, ...)"
    else:
        return True
    to.error(
        code,
        f"{what} must have {expected}, got {frame_count}; nearest is {nearest}",
        param="frame_count",
        expected=expected,
        given=str(frame_count),
        suggestion=nearest,
    )
    return False


def schedule_of(
    to: Lowering, sampler: SamplerValue | None, facts: CheckpointFacts, denoise_strength: float = 1.0
) -> Schedule:
    """The schedule that runs. Errors: E_SCHEDULE_EMPTY if the strength leaves no step of it."""
    whole = schedule_for(to, sampler, facts)
    cut = Schedule(cut_sigmas(whole.sigmas, denoise_strength), whole.sampler, whole.guidance_scale)
    if cut.step_count == 0:
        least = math.ceil(500 / whole.step_count) / 1000  # half a step, rounded up
        raise to.error(
            "E_SCHEDULE_EMPTY",
            f"{whole.step_count} steps need a strength of {least} or more, got {denoise_strength}",
            param="denoise_strength",
            expected=f"{least} or more",
            given=str(denoise_strength),
            suggestion=least,
        )
    return cut


def prepare(to: Lowering, inputs: Inputs, schedule: Schedule) -> tuple[str | None, Conditioning]:
    """Emit the adapter stack and the text encodes of the connected prompt."""
    model = inputs.need("model", ModelValue)
    chain = inputs.find("adapters", AdaptersValue)
    adapters = None if chain is None else chain.stack(to, model)
    prompt = inputs.need("prompt", PromptValue)
    return adapters, prompt.encode(to, model, adapters, has_guidance=schedule.has_guidance)


def denoise(to: Lowering, job: Denoising, pictures: dict[str, str | None]) -> dict[str, Value]:
    """Emit the loop and its decode. `pictures`: the ports source, mask and start, where used."""
    canvas, schedule = job.canvas, job.schedule
    reads = {
        "model": job.model.name,
        "conditioning": job.conditioning.positive,
        "negative": job.conditioning.negative,
        "adapters": job.adapters,
        **pictures,
    }
    attrs: dict[str, Attr] = {
        "seed": job.seed,
        "sigmas": schedule.sigmas,
        "sampler": schedule.sampler,
        "guidance_scale": schedule.guidance_scale,
        "width_px": canvas.width_px,
        "height_px": canvas.height_px,
        "frame_count": canvas.frame_count,
        "fps": canvas.fps,
        "denoise_strength": job.denoise_strength,
    }
    body = _body(schedule.has_guidance, pictures.get("mask") is not None)
    latent = to.loop("denoise", schedule.step_count, body, reads, attrs)["latent"]
    video = to.stage("decode", {"model": job.model.name, "latent": latent}, {"fps": canvas.fps})["video"]
    return {
        "video": VideoValue(video, canvas.width_px, canvas.height_px, canvas.frame_count, canvas.fps),
        "latent": LatentValue(
            latent, job.model.facts.family, canvas.width_px, canvas.height_px, canvas.frame_count
        ),
    }


def _body(has_guidance: bool, has_mask: bool) -> tuple[str, ...]:
    predict = ("predict", "predict_negative", "guide") if has_guidance else ("predict",)
    restore = ("restore",) if has_mask else ()
    return (*predict, *restore, "step", "preview")
