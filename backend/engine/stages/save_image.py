from __future__ import annotations

from rushes.backend.engine.failures import JobFault
from rushes.backend.engine.media.writing import write_image
from rushes.backend.engine.stages.stage import IO, Host, Outputs, PlainStage, StageCall
from rushes.backend.engine.stages.steered import FrameCatcher
from rushes.backend.engine.values import Clip, Frames, Stream


def _run(call: StageCall, host: Host) -> Outputs:
    source = call.video("image")
    if isinstance(source, Stream):
        pixels = source.sink(call.index, FrameCatcher).frame()
    else:
        pixels = _frame(source, call.integer("frame_index"))
    path = call.job.output_path(call.text("name"), call.node_id, f".{call.text('format')}")
    call.job.announce(call.node_id, write_image(path, pixels, call.job.metadata), source.latent_sha256)
    return {}


def _frame(clip: Clip, index: int) -> Frames:
    if clip.fps == 0.0:
        return clip.frames[0]
    if not -clip.frame_count <= index < clip.frame_count:
        raise JobFault("E_INTERNAL", f"frame {index} was asked of a video of {clip.frame_count} frames")
    return clip.frames[index]


STAGE = PlainStage("save_image", _run, slot=IO, is_cached=False)
