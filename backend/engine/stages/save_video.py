from __future__ import annotations

from rushes.backend.engine.media.writing import VideoWriter
from rushes.backend.engine.stages.stage import IO, Host, Outputs, PlainStage, StageCall
from rushes.backend.engine.stages.steered import open_writer
from rushes.backend.engine.values import Stream


def _run(call: StageCall, host: Host) -> Outputs:
    """A clip is written now; a rollout was written while it ran and is closed now."""
    video = call.video("video")
    if isinstance(video, Stream):
        written = video.sink(call.index, VideoWriter).close()
    else:
        written = open_writer(call.job, call.spec, video.fps).write(video.frames)
    call.job.announce(call.node_id, written, video.latent_sha256)
    return {}


STAGE = PlainStage("save_video", _run, slot=IO, is_cached=False)
