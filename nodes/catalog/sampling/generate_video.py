from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.values import ImageValue, ModelValue, SamplerValue, VideoValue
from rushes.nodes.catalog.sampling import denoising
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class GenerateVideo(NodeType):
    """Make a video from a prompt, in one pass.

    For a video longer than one pass can hold, use `streaming_rollout`; to change a video, `edit_video`.
    """

    type_id = "generate_video"
    title = "Generate video"
    inputs: ClassVar = {
        "model": Socket((SocketType.MODEL,), "What makes the video."),
        "prompt": Socket((SocketType.PROMPT,), "What it shows."),
        "adapters": Socket((SocketType.ADAPTERS,), "LoRAs added to the model.", optional=True),
        "keyframes": Socket(
            (SocketType.IMAGE, SocketType.VIDEO),
            "A picture the video starts from; of a video, its first frame.",
            optional=True,
        ),
        "sampler": Socket((SocketType.SAMPLER,), "The checkpoint's own if absent.", optional=True),
    }
    outputs: ClassVar = {
        "video": Socket((SocketType.VIDEO,), "The frames."),
        "latent": Socket((SocketType.LATENT,), "The frames before they are decoded."),
    }

    width_px: int = param(96, ge=16, le=4096, step=16, unit="px", doc="Width, as the checkpoint makes it.")
    height_px: int = param(96, ge=16, le=4096, step=16, unit="px", doc="Height, as the checkpoint makes it.")
    frame_count: int = param(
        45, ge=1, le=10_000, step=4, unit="frames", doc="Length; 4k+1 for models of the Wan kind."
    )
    fps: int = param(16, ge=1, le=120, unit="fps", doc="Rate of playback.")
    seed: int = param(0, ge=0, le=2**53 - 1, doc="Noise seed. Same seed, same video.")

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        model = inputs.need("model", ModelValue)
        size_fits = denoising.check_size(to, model.facts, self.width_px, self.height_px)
        if not denoising.check_frame_count(to, model.facts, self.frame_count, "the video") or not size_fits:
            return {}
        canvas = denoising.Canvas(self.width_px, self.height_px, self.frame_count, float(self.fps))
        schedule = denoising.schedule_of(to, inputs.find("sampler", SamplerValue), model.facts)
        start = self._start(to, model, inputs.get("keyframes"))
        adapters, conditioning = denoising.prepare(to, inputs, schedule)
        job = denoising.Denoising(model, adapters, conditioning, schedule, self.seed, 1.0, canvas)
        return denoising.denoise(to, job, {"start": start})

    def _start(self, to: Lowering, model: ModelValue, picture: Value | None) -> str | None:
        if not isinstance(picture, ImageValue | VideoValue):
            return None
        denoising.check_capability(to, model.facts, "start_image", "keyframes")
        attrs = {"width_px": self.width_px, "height_px": self.height_px, "frame_count": 1}
        reads = {"model": model.name, "video": picture.name}
        return to.stage("encode_video", reads, attrs, label="start")["latent"]
