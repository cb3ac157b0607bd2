"""What rollouts feed while they run, and the writers that stages of finished videos share with them."""

from __future__ import annotations

from collections import deque

from rushes.backend.engine.failures import JobFault
from rushes.backend.engine.media.writing import VideoWriter
from rushes.backend.engine.stages.stage import JobContext, StageCall
from rushes.backend.engine.values import Collector, Frames, FrameSink
from rushes.compiler.ir.spec import StageSpec

PREVIEW_QUALITY = 20


class FrameCatcher:
    """Keeps one frame of a rollout: by its index from the first, or from the last when negative."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._seen = 0
        self._caught: Frames | None = None
        self._last: deque[Frames] = deque(maxlen=-index if index < 0 else 0)

    def push(self, frames: Frames) -> None:
        if self._index < 0:
            self._last.extend(frames)
        elif self._seen <= self._index < self._seen + len(frames):
            self._caught = frames[self._index - self._seen].copy()
        self._seen += len(frames)

    def frame(self) -> Frames:
        """Errors: JobFault when the rollout ended before it."""
        if self._index < 0 and len(self._last) == -self._index:
            return self._last[0]
        if self._caught is None:
            raise JobFault(
                "E_FRAME_MISSING", f"the rollout ended after {self._seen} frames, before {self._index}"
            )
        return self._caught

    def abandon(self) -> None:
        self._last.clear()


def open_writer(job: JobContext, spec: StageSpec, fps: float) -> VideoWriter:
    """The MP4 of a save_video or preview stage. Only a saved one embeds its workflow."""
    if spec.op == "preview":
        path = job.output_path("preview", spec.node_id, ".mp4")
        return VideoWriter(path, fps=fps, quality=PREVIEW_QUALITY, metadata=None)
    name, quality = spec.attr("name"), spec.attr("quality")
    assert isinstance(name, str)
    assert isinstance(quality, int)
    path = job.output_path(name, spec.node_id, ".mp4")
    return VideoWriter(path, fps=fps, quality=quality, metadata=job.metadata if spec.attr("embed") else None)


def open_sinks(call: StageCall, fps: float) -> dict[int, FrameSink]:
    """One sink per stage that reads the rollout's video and can take it in parts."""
    video = call.spec.write("video")
    readers = [(index, stage) for index, stage in call.readers if video in dict(stage.reads).values()]
    sinks: dict[int, FrameSink] = {}
    for index, stage in readers:
        if stage.op in ("save_video", "preview"):
            sinks[index] = open_writer(call.job, stage, fps)
        elif stage.op == "save_image":
            frame_index = stage.attr("frame_index")
            assert isinstance(frame_index, int)
            sinks[index] = FrameCatcher(frame_index)
        else:
            sinks[index] = Collector()
    return sinks
