"""The rollout loop, inverted: chunk after chunk, each seeing the committed ones through a ring KV cache.

Two lanes go through it: `predict` (denoise steps, then the commit pass) and `decode` (one latent frame at a
time). A chunk is handed from one to the other when its last step is done, so it is decoded while the next
denoises.
"""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from rushes.backend.engine.loops.control import ControlState, Snapshot, Update
from rushes.backend.engine.loops.denoise import finite, frame_sigma
from rushes.backend.engine.loops.forward import Forward, Forwarder, Stack
from rushes.backend.engine.loops.fused_step import fused_step, has_step_kernel
from rushes.backend.engine.loops.guidance import Guidance
from rushes.backend.engine.loops.pacing import Pacer
from rushes.backend.engine.loops.samplers import Sampler, SamplerHistory, clean_of
from rushes.backend.engine.noise import chunk_noise
from rushes.backend.engine.values import Actions, LiveActions, ScriptedActions

if TYPE_CHECKING:
    from rushes.backend.models.family import Components, VideoDecoder
    from rushes.backend.models.layers.ring_kv import RingKVCache

UNACKED_CHUNKS_MAX = 8

Phase = Literal["begin", "denoise", "commit", "over"]
"""begin: the next chunk waits for its time. denoise: steps of the chunk. commit: its clean latent goes
through once more, to be remembered. over: no more chunks; what was handed over may still be decoding."""


@dataclass(frozen=True, slots=True)
class RolloutTask:
    """What does not change while a rollout runs.

    ``chunk_count`` 0 is endless; ``latent_size`` is (C, h, w); ``texts``: one per branch, positive first.
    """

    sigmas: tuple[float, ...]
    sampler: Sampler
    guidance: Guidance
    texts: tuple[Any, ...]
    stack: Stack
    seed: int
    chunk_count: int
    chunk_latent_frames: int
    sink_frames: int
    window_frames: int
    latent_size: tuple[int, int, int]
    temporal: int
    fps: float
    is_paced: bool
    actions: Actions | None = None

    @property
    def step_count(self) -> int:
        return len(self.sigmas) - 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """What a chunk is made under."""

    index: int
    keys: tuple[tuple[str, ...], ...]
    """Of each latent frame."""
    control_seq: int | None
    began_s: float


@dataclass(frozen=True, slots=True)
class Handover:
    """One latent frame on its way to the decoder, [1, C, 1, h, w]."""

    chunk: Chunk
    part_index: int
    latent: Tensor


@dataclass(frozen=True, slots=True)
class Part:
    """The decoded frames of one latent frame: uint8 [frames, H, W, 3], on the device."""

    chunk: Chunk
    part_index: int
    frame_index: int
    frames: Tensor


@dataclass(slots=True)
class RolloutState:
    """All that changes.

    The predict lane writes latent, phase, counters and cache; the decode lane writes decoder, frames_sent and
    decoded; backlog goes from the one to the other.
    """

    cache: RingKVCache
    decoder: VideoDecoder
    control: ControlState
    pacer: Pacer
    texts: tuple[Any, ...]
    has_start: bool = False
    phase: Phase = "begin"
    chunk_index: int = 0
    step_index: int = 0
    chunk: Chunk | None = None
    latent: Tensor | None = None
    keys: Tensor | None = None
    history: SamplerHistory = field(default_factory=SamplerHistory)
    backlog: deque[Handover] = field(default_factory=deque)
    frames_sent: int = 0
    decoded: tuple[int, int] = (-1, -1)
    """Chunk and part decoded last."""
    arrivals: deque[Update] = field(default_factory=deque)
    """Live updates on their way to ``control``, which takes them in when a chunk begins."""
    acked_chunk: int = -1
    stop_before: int | None = None
    """Chunk before which the rollout was asked to end; None when it was not."""
    digest: str = ""
    """Of all chunks handed over: sha256 of the digest before and the chunk's fp32 bytes."""


@dataclass(frozen=True, slots=True)
class Want:
    """The lane can take a step, from this time on; a viewer notices at ``deadline_s``."""

    not_before_s: float = 0.0
    deadline_s: float | None = None


class RolloutLoop:
    """An endless or counted rollout in kv mode.

    State: none of its own; a `RolloutState` goes through it. Per chunk ``step_count`` forwards that read the
        cache and one that writes it; after the last chunk of a counted rollout nothing is written.
    Errors: JobFault E_NAN when a chunk is done and not finite.
    """

    def __init__(self, task: RolloutTask, components: Components) -> None:
        self.task = task
        self._components = components
        self._is_fused = has_step_kernel(task.sampler, components.device)

    def init(self) -> RolloutState:
        task, (_, height, width) = self.task, self.task.latent_size
        cache = self._components.new_cache(
            task.guidance.branches,
            sink_frames=task.sink_frames,
            window_frames=task.window_frames,
            height=height,
            width=width,
        )
        pacer = Pacer(task.fps)
        return RolloutState(cache, self._components.decoder(), ControlState(), pacer, task.texts)

    def begin_from(self, state: RolloutState, start: Tensor, forwarder: Forwarder) -> None:
        """Remember a start [1, C, n, h, w] as if it had been made: commit it and fill the decoder's history.

        No key is held in it, and nothing is sent for it.
        """
        step = self.task.chunk_latent_frames
        first = start.shape[2] % step or step
        cuts = [0, *range(first, start.shape[2] + 1, step)]
        for begin, end in pairwise(cuts):
            block = start[:, :, begin:end]
            keys = self._key_tensor(((),) * (end - begin))
            sigma = frame_sigma(block, 0.0)
            forward = Forward(block, sigma, state.texts, self.task.stack, keys, state.cache, is_commit=True)
            forwarder.run([forward])
        state.decoder.push(start)
        state.has_start = True

    # ---- predict lane -------------------------------------------------------------------------------------

    def predict_want(self, state: RolloutState) -> Want | None:
        """Whether the predict lane can go on; None while it waits for decode, acks or the end."""
        self._end_if_due(state)
        deadline_s = state.pacer.due_s if self.task.is_paced else None
        if state.phase == "denoise":
            return Want(deadline_s=deadline_s)
        if state.phase == "commit" and (not self.task.is_paced or self._first_part_is_out(state)):
            return Want(deadline_s=deadline_s)
        if state.phase == "begin" and self._has_room(state):
            return Want(state.pacer.not_before_s if self.task.is_paced else 0.0, deadline_s)
        return None

    def begin_chunk(self, state: RolloutState, now_s: float) -> Snapshot:
        """Read the controls, as late as can be, and draw the chunk's noise."""
        _take_arrivals(state)
        task, snapshot = self.task, state.control.take(state.chunk_index)
        frames = self._chunk_keys(state.chunk_index, snapshot)
        state.chunk = Chunk(state.chunk_index, frames, snapshot.seq, now_s)
        channels, height, width = task.latent_size
        shape = (1, channels, task.chunk_latent_frames, height, width)
        noise = chunk_noise(task.seed, 0, state.chunk_index, shape).to(self._components.device)
        state.latent = noise if task.sigmas[0] == 1.0 else noise * task.sigmas[0]
        state.keys = self._key_tensor(frames)
        state.history = SamplerHistory()
        state.step_index = 0
        state.phase = "denoise"
        state.pacer.begin(now_s, self.chunk_frames(state, state.chunk_index))
        return snapshot

    def prepare(self, state: RolloutState) -> Forward:
        assert state.latent is not None
        is_commit = state.phase == "commit"
        sigma = frame_sigma(state.latent, 0.0 if is_commit else self.task.sigmas[state.step_index])
        stack = self.task.stack
        return Forward(state.latent, sigma, state.texts, stack, state.keys, state.cache, is_commit)

    def advance(self, state: RolloutState, velocity: Tensor) -> None:
        """velocity [branches, C, T, h, w]; that of a commit pass is not looked at."""
        if state.phase == "commit":
            self._next_chunk(state)
            return
        assert state.latent is not None
        task, index = self.task, state.step_index
        if self._is_fused:
            between = task.sigmas[index], task.sigmas[index + 1]
            state.latent, _ = fused_step(state.latent, velocity, between, task.guidance)
        else:
            clean = clean_of(state.latent, task.guidance.combine(velocity), task.sigmas[index])
            state.latent = task.sampler.step(state.latent, clean, task.sigmas, index, state.history)
        state.step_index = index + 1
        if state.step_index == task.step_count:
            self._hand_over(state)

    def is_over(self, state: RolloutState) -> bool:
        """All chunks are made and decoded."""
        self._end_if_due(state)
        return state.phase == "over" and not state.backlog

    # ---- decode lane --------------------------------------------------------------------------------------

    def decode_want(self, state: RolloutState) -> Want | None:
        if not state.backlog:
            return None
        return Want(deadline_s=state.pacer.due_s if self.task.is_paced else None)

    def decode(self, state: RolloutState) -> Part:
        """Decode the next latent frame of the backlog; it leaves the backlog when that succeeded."""
        handover = state.backlog[0]
        frames = state.decoder.push(handover.latent)
        part = Part(handover.chunk, handover.part_index, state.frames_sent, frames)
        state.backlog.popleft()
        state.frames_sent += frames.shape[0]
        state.decoded = (handover.chunk.index, handover.part_index)
        return part

    def sent(self, state: RolloutState, part: Part, now_s: float) -> None:
        """The part is on its way to viewers."""
        state.pacer.sent(now_s, part.frames.shape[0], is_first=part.part_index == 0)

    def chunk_frames(self, state: RolloutState, chunk_index: int) -> int:
        """Pixel frames of a chunk: the very first latent frame of a video is one frame."""
        frames = self.task.chunk_latent_frames * self.task.temporal
        is_first = chunk_index == 0 and not state.has_start
        return frames - (self.task.temporal - 1 if is_first else 0)

    # ---- serialised ---------------------------------------------------------------------------------------

    def state_dict(self, state: RolloutState) -> dict[str, Any]:
        """A copy of all that changes; call it while no lane is stepping."""
        _take_arrivals(state)
        return {
            "cache": state.cache.state_dict(),
            "decoder": state.decoder.state_dict(),
            "control": state.control.state_dict(),
            "pacer": state.pacer.state_dict(),
            "has_start": state.has_start,
            "phase": state.phase,
            "chunk_index": state.chunk_index,
            "step_index": state.step_index,
            "chunk": None if state.chunk is None else _chunk_to_state(state.chunk),
            "latent": None if state.latent is None else state.latent.clone(),
            "cleans": [clean.clone() for clean in state.history.cleans],
            "last_sample": None if state.history.last_sample is None else state.history.last_sample.clone(),
            "last_order": state.history.last_order,
            "backlog": [[_chunk_to_state(h.chunk), h.part_index, h.latent.clone()] for h in state.backlog],
            "frames_sent": state.frames_sent,
            "decoded": list(state.decoded),
            "acked_chunk": state.acked_chunk,
            "stop_before": state.stop_before,
            "digest": state.digest,
        }

    def load_state(self, saved: dict[str, Any], texts: tuple[Any, ...]) -> RolloutState:
        """A state to go on from; ``texts`` are those of the prompt in effect (``control.prompt``)."""
        state = self.init()
        state.cache.load_state(saved["cache"])
        state.decoder.load_state(saved["decoder"])
        state.control = ControlState.from_state(saved["control"])
        state.pacer = Pacer(self.task.fps, **saved["pacer"])
        state.texts = texts
        state.has_start, state.phase = saved["has_start"], saved["phase"]
        state.chunk_index, state.step_index = saved["chunk_index"], saved["step_index"]
        state.chunk = None if saved["chunk"] is None else _chunk_from_state(saved["chunk"])
        state.latent = saved["latent"]
        state.keys = None if state.chunk is None else self._key_tensor(state.chunk.keys)
        state.history = SamplerHistory(list(saved["cleans"]), saved["last_sample"], saved["last_order"])
        state.backlog = deque(Handover(_chunk_from_state(c), part, z) for c, part, z in saved["backlog"])
        state.frames_sent = saved["frames_sent"]
        state.decoded = (saved["decoded"][0], saved["decoded"][1])
        state.acked_chunk, state.stop_before = saved["acked_chunk"], saved["stop_before"]
        state.digest = saved["digest"]
        return state

    # ---- private ------------------------------------------------------------------------------------------

    def _end_if_due(self, state: RolloutState) -> None:
        """A stop also drops the chunk at hand, unless it is the first: something was asked for."""
        is_counted_out = 0 < self.task.chunk_count <= state.chunk_index
        is_stopped = state.stop_before is not None and state.stop_before <= state.chunk_index
        if (state.phase == "begin" and is_counted_out) or (is_stopped and state.digest):
            state.phase, state.latent = "over", None

    def _has_room(self, state: RolloutState) -> bool:
        is_acked = state.chunk_index - state.acked_chunk <= UNACKED_CHUNKS_MAX
        return is_acked and len(state.backlog) <= self.task.chunk_latent_frames

    def _first_part_is_out(self, state: RolloutState) -> bool:
        return state.decoded >= (state.chunk_index, 0)

    def _hand_over(self, state: RolloutState) -> None:
        assert state.latent is not None
        assert state.chunk is not None
        state.latent = finite(state.latent)
        data = state.latent.cpu().contiguous().numpy().astype("<f4", copy=False).tobytes()
        state.digest = hashlib.sha256(bytes.fromhex(state.digest) + data).hexdigest()
        frames = state.latent.split(1, dim=2)
        state.backlog.extend(Handover(state.chunk, part, frame) for part, frame in enumerate(frames))
        if state.chunk_index + 1 == self.task.chunk_count:
            self._next_chunk(state)
        else:
            state.phase = "commit"

    def _next_chunk(self, state: RolloutState) -> None:
        state.chunk_index += 1
        state.phase, state.latent = "begin", None

    def _chunk_keys(self, chunk_index: int, snapshot: Snapshot) -> tuple[tuple[str, ...], ...]:
        count = self.task.chunk_latent_frames
        match self.task.actions:
            case ScriptedActions() as script:
                return tuple(script.keys_at(chunk_index * count + index) for index in range(count))
            case LiveActions():
                return (snapshot.keys,) * count
            case None:
                return ((),) * count

    def _key_tensor(self, frames: tuple[tuple[str, ...], ...]) -> Tensor | None:
        """[1, T, key count], or None where the checkpoint takes no keys"""
        known = self._components.facts.control_keys
        if not known:
            return None
        rows = [[float(key in held) for key in known] for held in frames]
        return torch.tensor([rows], device=self._components.device)


def _take_arrivals(state: RolloutState) -> None:
    while state.arrivals:
        state.control.offer(state.arrivals.popleft())


def _chunk_to_state(chunk: Chunk) -> list[Any]:
    return [chunk.index, [list(keys) for keys in chunk.keys], chunk.control_seq, chunk.began_s]


def _chunk_from_state(state: list[Any]) -> Chunk:
    index, keys, control_seq, began_s = state
    return Chunk(index, tuple(tuple(held) for held in keys), control_seq, began_s)
