"""Previews of a latent through one small matrix: no autoencoder, no random numbers, no effect on the job."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from PIL import Image
from torch import Tensor

from rushes.backend.engine.media.writing import encode_jpegs
from rushes.backend.engine.protocol import PreviewFrame
from rushes.backend.engine.values import Frames, Model

FRAMES_MAX: Final = 16
SIDE_MAX_PX: Final = 512
JPEG_QUALITY: Final = 75
WAITING_MAX: Final = 4
INTERVAL_S: Final = 0.04
"""No node shows more often than this, its last step excepted."""

Emit = Callable[[PreviewFrame, bytes], None]


@dataclass(frozen=True, slots=True)
class PreviewOf:
    """What a preview shows: a step of a node of a job, at the size of its frames."""

    job_id: str
    node_id: str
    step: int
    step_count: int
    width_px: int
    height_px: int


class Previewer:
    """Small loops of the newest clean prediction, scaled and compressed on a thread of their own.

    The step only pays for the matrix. When the thread is behind, the oldest waiting preview is dropped. Of a
    job that has not begun or has ended nothing is sent.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._waiting: queue.Queue[tuple[PreviewOf, Frames] | None] = queue.Queue(WAITING_MAX)
        self._running: set[str] = set()
        self._shown_s: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="previews", daemon=True)
        self._thread.start()

    def show(self, what: PreviewOf, model: Model, clean: Tensor) -> None:
        """clean [1, C, T, h, w]; at most 16 of its latent frames are shown, evenly spread."""
        if not self._is_time(what):
            return
        count = min(clean.shape[2], FRAMES_MAX)
        chosen = np.linspace(0, clean.shape[2] - 1, count).round().astype(int).tolist()
        cells = model.components.preview(clean[:, :, chosen]).cpu().numpy()
        while True:
            try:
                self._waiting.put_nowait((what, cells))
                return
            except queue.Full:
                self._drop_oldest()

    def begin(self, job_id: str) -> None:
        with self._lock:
            self._running.add(job_id)

    def end(self, job_id: str) -> None:
        """After this returns no preview of the job is sent."""
        with self._lock:
            self._running.discard(job_id)
            self._shown_s = {node: time_s for node, time_s in self._shown_s.items() if node[0] != job_id}

    def stop(self) -> None:
        self._waiting.put(None)
        self._thread.join()

    def _is_time(self, what: PreviewOf) -> bool:
        node, now_s = (what.job_id, what.node_id), time.perf_counter()
        with self._lock:
            if what.step < what.step_count and now_s - self._shown_s.get(node, 0.0) < INTERVAL_S:
                return False
            self._shown_s[node] = now_s
        return True

    def _drop_oldest(self) -> None:
        try:
            self._waiting.get_nowait()
        except queue.Empty:
            return

    def _work(self) -> None:
        while (item := self._waiting.get()) is not None:
            what, cells = item
            width_px, height_px = _shown_size(what.width_px, what.height_px)
            jpegs = encode_jpegs([_scaled(frame, width_px, height_px) for frame in cells], JPEG_QUALITY)
            event = PreviewFrame(
                job_id=what.job_id,
                node_id=what.node_id,
                chunk_index=0,
                frame_index=0,
                step=what.step,
                step_count=what.step_count,
                width_px=width_px,
                height_px=height_px,
                encoding="jpeg",
                frame_count=len(jpegs),
                frame_bytes=[len(jpeg) for jpeg in jpegs],
            )
            with self._lock:
                if what.job_id in self._running:
                    self._emit(event, b"".join(jpegs))


def _shown_size(width_px: int, height_px: int) -> tuple[int, int]:
    share = min(1.0, SIDE_MAX_PX / max(width_px, height_px))
    return max(1, round(width_px * share)), max(1, round(height_px * share))


def _scaled(cells: Frames, width_px: int, height_px: int) -> Frames:
    return np.asarray(Image.fromarray(cells).resize((width_px, height_px), Image.Resampling.BICUBIC))
