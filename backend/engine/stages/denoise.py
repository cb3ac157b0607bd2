from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from rushes.backend.engine.batching.lane import BatchKey
from rushes.backend.engine.loops.control import Update
from rushes.backend.engine.loops.denoise import DenoiseLoop, DenoiseTask
from rushes.backend.engine.loops.editing import Edit, pinned_start
from rushes.backend.engine.loops.forward import Forward, Stack
from rushes.backend.engine.loops.guidance import Guidance
from rushes.backend.engine.loops.samplers import SAMPLERS
from rushes.backend.engine.noise import chunk_noise
from rushes.backend.engine.previews.linear import Previewer, PreviewOf
from rushes.backend.engine.protocol import JobProgress
from rushes.backend.engine.stages.stage import COMPUTE, Host, LaneWant, LoopStage, Outputs, StageCall
from rushes.backend.engine.values import AdapterStack, Conditioning, Latent, LatentMask, Model

PART = "predict"


class DenoiseRun:
    """A denoise loop with its progress and previews."""

    parts = (PART,)

    def __init__(self, call: StageCall, model: Model, task: DenoiseTask, previews: Previewer) -> None:
        self.model = model
        self._call = call
        self._loop = DenoiseLoop(task)
        self._state = self._loop.init()
        self._previews = previews
        self._key = BatchKey(
            model=model.key,
            component="transformer",
            latent_shape=tuple(task.noise.shape[1:]),
            dtype=str(model.components.dtype),
            branches=task.guidance.branches,
        )

    def want(self, part: str) -> LaneWant | None:
        return None if self.is_done() else LaneWant(COMPUTE, self._key)

    def prepare(self, part: str, now_s: float) -> Forward:
        return self._loop.prepare(self._state)

    def advance(self, part: str, velocity: Tensor) -> None:
        self._loop.advance(self._state, velocity)
        step, step_count = self._state.step_index, self._loop.task.step_count
        job_id, node_id = self._call.job.job_id, self._call.node_id
        self._call.job.emit(JobProgress(job_id, node_id, step, step_count, 0, 1), b"")
        assert self._state.clean is not None
        size = self._call.integer("width_px"), self._call.integer("height_px")
        shown = PreviewOf(job_id, node_id, step, step_count, *size)
        self._previews.show(shown, self.model, self._state.clean)

    def run_alone(self, part: str) -> None:
        raise NotImplementedError("every step is a forward")

    def is_done(self) -> bool:
        return self._loop.is_done(self._state)

    def finish(self) -> Outputs:
        return {"latent": Latent(self._loop.finalize(self._state))}

    def control(self, update: Update) -> None:
        pass

    def stop(self, before_chunk: int) -> None:
        pass

    def ack(self, chunk_index: int) -> None:
        pass

    def abandon(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Prompted:
    """What both kinds of loop read of their prompts and adapters."""

    guidance: Guidance
    texts: tuple[Any, ...]
    stack: Stack


def prompted(call: StageCall, host: Host) -> Prompted:
    """Text keys and values per guidance branch, under the transformer's adapters, computed once."""
    model, guidance = call.need("model", Model), Guidance(call.number("guidance_scale"))
    stack = host.residency.stack(model, call.find("adapters", AdapterStack))
    adapters = model.components.lanes([stack])
    ports = ("conditioning", "negative")[: guidance.branches]
    texts = [model.components.text_kv(call.need(port, Conditioning).text, adapters) for port in ports]
    return Prompted(guidance, tuple(texts), stack)


def _open(call: StageCall, host: Host) -> DenoiseRun:
    model = call.need("model", Model)
    given, noise = prompted(call, host), _noise(call, model)
    source, edit = _source(call, model, noise)
    task = DenoiseTask(
        sigmas=tuple(float(sigma) for sigma in call.row("sigmas")),
        sampler=SAMPLERS[call.text("sampler")],
        guidance=given.guidance,
        noise=noise,
        texts=given.texts,
        stack=given.stack,
        source=source,
        edit=edit,
    )
    return DenoiseRun(call, model, task, host.previews)


def _noise(call: StageCall, model: Model) -> Tensor:
    facts = model.components.facts
    frames = 1 + (call.integer("frame_count") - 1) // facts.temporal
    height, width = call.integer("height_px") // facts.spatial, call.integer("width_px") // facts.spatial
    shape = (1, facts.latent_channels, frames, height, width)
    return chunk_noise(call.integer("seed"), 0, 0, shape).to(model.components.device)


def _source(call: StageCall, model: Model, noise: Tensor) -> tuple[Tensor | None, Edit | None]:
    """Where the latent starts from and what of it is kept: a masked source, a pinned start, or nothing."""
    patch, device = model.components.facts.patch, model.components.device
    source, start = call.find("source", Latent), call.find("start", Latent)
    if source is not None:
        mask = call.find("mask", LatentMask)
        if mask is None:
            return source.latent, None
        return source.latent, Edit.of(source.latent, mask.cells.to(device), noise, patch)
    if start is None:
        return None, None
    pinned, cells = pinned_start(start.latent, noise.shape[2])
    return pinned, Edit.of(pinned, cells, noise, patch)


STAGE = LoopStage("denoise", _open)
