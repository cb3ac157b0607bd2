from __future__ import annotations

import hashlib

import torch
from torch import Tensor

from rushes.backend.engine.loops.control import Update
from rushes.backend.engine.loops.forward import Forward
from rushes.backend.engine.stages.stage import COMPUTE, Host, LaneWant, LoopStage, Outputs, StageCall
from rushes.backend.engine.values import Clip, Latent, Model

PART = "decode"


class DecodeRun:
    """A whole latent to frames, one latent frame a step, so that a cancel waits for one of them at most."""

    parts = (PART,)

    def __init__(self, model: Model, latent: Tensor, fps: float) -> None:
        self.model = model
        self._latent = latent
        self._fps = fps
        self._decoder = model.components.decoder()
        self._frames: list[Tensor] = []

    def want(self, part: str) -> LaneWant | None:
        return None if self.is_done() else LaneWant(COMPUTE)

    def prepare(self, part: str, now_s: float) -> Forward:
        raise NotImplementedError("a decoder has no forward")

    def advance(self, part: str, velocity: Tensor) -> None:
        raise NotImplementedError("a decoder has no forward")

    def run_alone(self, part: str) -> None:
        index = len(self._frames)
        self._frames.append(self._decoder.push(self._latent[:, :, index : index + 1]).cpu())

    def is_done(self) -> bool:
        return len(self._frames) == self._latent.shape[2]

    def finish(self) -> Outputs:
        frames = torch.cat(self._frames).numpy()
        return {"video": Clip(frames, self._fps, latent_sha256(self._latent))}

    def control(self, update: Update) -> None:
        pass

    def stop(self, before_chunk: int) -> None:
        pass

    def ack(self, chunk_index: int) -> None:
        pass

    def abandon(self) -> None:
        self._frames.clear()


def latent_sha256(latent: Tensor) -> str:
    """sha256 hex of the fp32 little-endian bytes."""
    return hashlib.sha256(latent.cpu().contiguous().numpy().astype("<f4", copy=False).tobytes()).hexdigest()


def _open(call: StageCall, host: Host) -> DecodeRun:
    return DecodeRun(call.need("model", Model), call.need("latent", Latent).latent, call.number("fps"))


STAGE = LoopStage("decode", _open)
