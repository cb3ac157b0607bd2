from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from rushes.backend.engine.batching.lane import BatchKey
from rushes.backend.engine.failures import JobFault
from rushes.backend.engine.loops.control import Snapshot, Update
from rushes.backend.engine.loops.forward import Forward
from rushes.backend.engine.loops.rollout import Part, RolloutLoop, RolloutTask, Want
from rushes.backend.engine.loops.samplers import SAMPLERS
from rushes.backend.engine.media.resizing import resized
from rushes.backend.engine.media.writing import encode_jpegs
from rushes.backend.engine.protocol import ChunkFrames, ControlApplied, JobProgress
from rushes.backend.engine.stages.denoise import Prompted, prompted
from rushes.backend.engine.stages.stage import (
    COMPUTE,
    DECODE,
    Host,
    LaneWant,
    LoopStage,
    Outputs,
    StageCall,
)
from rushes.backend.engine.stages.steered import open_sinks
from rushes.backend.engine.values import (
    AdapterStack,
    Clip,
    Frames,
    LiveActions,
    Model,
    ScriptedActions,
    Session,
    Stream,
)

JPEG_QUALITY = 90
PREDICT_PART = "predict"
DECODE_PART = "decode"


class RolloutRun:
    """A rollout with its two lanes, its live control, and all that leaves it while it runs."""

    parts = (PREDICT_PART, DECODE_PART)

    def __init__(self, call: StageCall, host: Host, task: RolloutTask, start: Tensor | None) -> None:
        self.model = call.need("model", Model)
        self._call = call
        self._host = host
        self._loop = RolloutLoop(task, self.model.components)
        self._state = self._loop.init()
        self._prompt: str | None = None
        self._sinks = open_sinks(call, task.fps)
        if start is not None:
            self._loop.begin_from(self._state, start, host.residency.forwarder(self.model))

    def want(self, part: str) -> LaneWant | None:
        if part == DECODE_PART:
            want = self._loop.decode_want(self._state)
            return None if want is None else _lane(want, DECODE, None)
        want = self._loop.predict_want(self._state)
        return None if want is None else _lane(want, COMPUTE, self._key())

    def prepare(self, part: str, now_s: float) -> Forward:
        if self._state.phase == "begin":
            self._use(self._loop.begin_chunk(self._state, now_s))
        return self._loop.prepare(self._state)

    def advance(self, part: str, velocity: Tensor) -> None:
        was_denoising, chunk_index = self._state.phase == "denoise", self._state.chunk_index
        self._loop.advance(self._state, velocity)
        if was_denoising:
            task = self._loop.task
            step = self._state.step_index
            count = task.chunk_count or None
            job_id, node_id = self._call.job.job_id, self._call.node_id
            self._emit(JobProgress(job_id, node_id, step, task.step_count, chunk_index, count))

    def run_alone(self, part: str) -> None:
        """Decode one latent frame, send it, and feed whoever writes it down."""
        decoded = self._loop.decode(self._state)
        frames = decoded.frames.cpu().numpy()
        now_s = time.perf_counter()
        self._send(decoded, frames, now_s)
        self._loop.sent(self._state, decoded, now_s)
        for sink in self._sinks.values():
            sink.push(frames)

    def is_done(self) -> bool:
        return self._loop.is_over(self._state)

    def finish(self) -> Outputs:
        stream = Stream(self._sinks, self._loop.task.fps, self._state.digest)
        return {"video": stream, "session": Session(self._call.text("session"))}

    def control(self, update: Update) -> None:
        """Keys the checkpoint does not know are left out, and all keys where a script holds them."""
        if update.keys is not None:
            is_live = isinstance(self._loop.task.actions, LiveActions)
            known = self.model.components.facts.control_keys
            held = tuple(key for key in known if key in update.keys) if is_live else None
            update = replace(update, keys=held)
        self._state.arrivals.append(update)

    def stop(self, before_chunk: int) -> None:
        earlier = self._state.stop_before
        self._state.stop_before = before_chunk if earlier is None else min(earlier, before_chunk)

    def ack(self, chunk_index: int) -> None:
        self._state.acked_chunk = max(self._state.acked_chunk, chunk_index)

    def abandon(self) -> None:
        for sink in self._sinks.values():
            sink.abandon()

    def _key(self) -> BatchKey:
        cache, task = self._state.cache, self._loop.task
        return BatchKey(
            model=self.model.key,
            component="transformer",
            latent_shape=(task.latent_size[0], task.chunk_latent_frames, *task.latent_size[1:]),
            dtype=str(self.model.components.dtype),
            branches=task.guidance.branches,
            history=(cache.frames, task.sink_frames, task.window_frames),
            is_commit=self._state.phase == "commit",
        )

    def _use(self, snapshot: Snapshot) -> None:
        """Take up a prompt that changed, and say which updates this chunk is the first to follow."""
        if snapshot.prompt is not None and snapshot.prompt != self._prompt:
            self._prompt = snapshot.prompt
            self._state.texts = (self._encoded(snapshot.prompt), *self._state.texts[1:])
        job_id, node_id = self._call.job.job_id, self._call.node_id
        for applied in snapshot.applied:
            index = self._state.chunk_index
            self._emit(ControlApplied(job_id, node_id, applied.seq, index, applied.is_late))

    def _encoded(self, prompt: str) -> object:
        adapters, residency = self._call.find("adapters", AdapterStack), self._host.residency
        components = self.model.components
        text_stack = residency.text_stack(self.model, adapters)
        text = components.encode_text([prompt], components.text_lanes([text_stack]) if text_stack else None)
        return components.text_kv(text, components.lanes([self._loop.task.stack]))

    def _send(self, part: Part, frames: Frames, now_s: float) -> None:
        encoding = self._call.job.chunk_encoding
        images = (
            encode_jpegs(list(frames), JPEG_QUALITY) if encoding == "jpeg" else [f.tobytes() for f in frames]
        )
        event = ChunkFrames(
            job_id=self._call.job.job_id,
            node_id=self._call.node_id,
            chunk_index=part.chunk.index,
            part_index=part.part_index,
            part_count=self._loop.task.chunk_latent_frames,
            frame_index=part.frame_index,
            frame_count=frames.shape[0],
            width_px=frames.shape[2],
            height_px=frames.shape[1],
            fps=self._loop.task.fps,
            encoding=encoding,
            frame_bytes=[len(image) for image in images],
            control_seq=part.chunk.control_seq,
            keys=part.chunk.keys,
            made_ms=round((now_s - part.chunk.began_s) * 1000),
        )
        self._call.job.emit(event, b"".join(images))

    def _emit(self, event: JobProgress | ControlApplied) -> None:
        self._call.job.emit(event, b"")


def _lane(want: Want, slot: str, key: BatchKey | None) -> LaneWant:
    return LaneWant(slot, key, want.not_before_s, want.deadline_s, "predict" if key else "decode")


def _open(call: StageCall, host: Host) -> RolloutRun:
    model = call.need("model", Model)
    if call.text("mode") != "kv":
        raise JobFault("E_CAPABILITY", f"a rollout in mode kv was expected, got {call.text('mode')}")
    return RolloutRun(call, host, _task(call, model, prompted(call, host)), _start(call, model))


def _task(call: StageCall, model: Model, given: Prompted) -> RolloutTask:
    facts = model.components.facts
    height, width = call.integer("height_px") // facts.spatial, call.integer("width_px") // facts.spatial
    return RolloutTask(
        sigmas=tuple(float(sigma) for sigma in call.row("sigmas")),
        sampler=SAMPLERS[call.text("sampler")],
        guidance=given.guidance,
        texts=given.texts,
        stack=given.stack,
        seed=call.integer("seed"),
        chunk_count=call.trip_count,
        chunk_latent_frames=call.integer("chunk_latent_frames"),
        sink_frames=call.integer("sink_frames"),
        window_frames=call.integer("window_frames"),
        latent_size=(facts.latent_channels, height, width),
        temporal=call.integer("temporal"),
        fps=call.number("fps"),
        is_paced=call.flag("paced"),
        actions=_actions(call),
    )


def _actions(call: StageCall) -> ScriptedActions | LiveActions | None:
    live = call.inputs.get("actions")
    return live if isinstance(live, LiveActions) else call.find("actions", ScriptedActions)


def _start(call: StageCall, model: Model) -> Tensor | None:
    """The newest frames of the start that fill whole latent frames, encoded."""
    clip = call.find("start", Clip)
    if clip is None:
        return None
    temporal = call.integer("temporal")
    used = 1 + (clip.frame_count - 1) // temporal * temporal
    frames = resized(clip.frames[-used:], call.integer("width_px"), call.integer("height_px"))
    return model.components.encode_video(torch.from_numpy(np.array(frames)))


STAGE = LoopStage("rollout", _open, is_cached=False)
