from __future__ import annotations

from rushes.backend.engine.media.writing import VideoWriter, WrittenFile, write_image
from rushes.backend.engine.stages.stage import IO, Host, Outputs, PlainStage, StageCall
from rushes.backend.engine.stages.steered import open_writer
from rushes.backend.engine.values import Clip, Stream


def _run(call: StageCall, host: Host) -> Outputs:
    """A file to look at: MP4 of a video, PNG of a picture."""
    shown = call.video("video")
    call.job.announce(call.node_id, _written(call, shown), shown.latent_sha256)
    return {}


def _written(call: StageCall, shown: Clip | Stream) -> WrittenFile:
    if isinstance(shown, Stream):
        return shown.sink(call.index, VideoWriter).close()
    if shown.fps == 0.0:
        return write_image(call.job.output_path("preview", call.node_id, ".png"), shown.frames[0], None)
    return open_writer(call.job, call.spec, shown.fps).write(shown.frames)


STAGE = PlainStage("preview", _run, slot=IO, is_cached=False)
