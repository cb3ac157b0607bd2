"""Pictures and clips of a job as frames, decoded within bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import av
import av.error
import numpy as np
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from PIL import Image, UnidentifiedImageError

from rushes.backend.engine.failures import JobFault
from rushes.backend.engine.values import Clip, Frames

PIXELS_MAX: Final = 4096 * 4096
FRAMES_MAX: Final = 20_000
CLIP_BYTES_MAX: Final = 2 << 30
IMAGE_FORMATS: Final = ("PNG", "JPEG", "WEBP")


def read_image(path: Path) -> Clip:
    """A picture as one frame, fps 0. Errors: JobFault E_ASSET_*."""
    _check_there(path)
    try:
        with Image.open(path, formats=IMAGE_FORMATS) as image:
            _check_pixels(path, image.width, image.height)
            pixels = np.asarray(image.convert("RGB"), dtype=np.uint8)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise JobFault(
            "E_ASSET_TOO_LARGE", f"{path.name}: at most {PIXELS_MAX} pixels are decoded"
        ) from error
    except UnidentifiedImageError as error:
        raise JobFault("E_ASSET_UNREADABLE", f"{path.name} is not a PNG, JPEG or WebP picture") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise JobFault("E_ASSET_UNREADABLE", f"{path.name} is a broken picture: {error}") from error
    return Clip(pixels[None], 0.0)


def read_video(path: Path) -> Clip:
    """All frames of a clip. Errors: JobFault E_ASSET_*."""
    _check_there(path)
    try:
        with av.open(str(path), options={"protocol_whitelist": "file"}) as container:
            if not container.streams.video:
                raise JobFault("E_ASSET_UNREADABLE", f"{path.name} holds no pictures")
            stream = container.streams.video[0]
            _check_pixels(path, stream.codec_context.width, stream.codec_context.height)
            stream.thread_type = "AUTO"
            frames = _all_frames(path, container.decode(stream))
            return Clip(frames, _rate(path, stream))
    except (av.error.FFmpegError, UnicodeDecodeError) as error:
        raise JobFault("E_ASSET_UNREADABLE", f"{path.name} cannot be decoded: {error}") from error


def _check_there(path: Path) -> None:
    if not path.is_file():
        raise JobFault("E_ASSET_MISSING", f"{path.name} was expected among the assets and is not there")


def _check_pixels(path: Path, width: int, height: int) -> None:
    if width * height > PIXELS_MAX:
        raise JobFault(
            "E_ASSET_TOO_LARGE",
            f"{path.name}: at most {PIXELS_MAX} pixels a frame are decoded, got {width}x{height}",
        )


def _all_frames(path: Path, decoded: Iterator[VideoFrame]) -> Frames:
    frames: list[Frames] = []
    size = 0
    for frame in decoded:
        frames.append(frame.to_ndarray(format="rgb24").astype(np.uint8, copy=False))
        size += frames[-1].nbytes
        if len(frames) > FRAMES_MAX or size > CLIP_BYTES_MAX:
            raise JobFault(
                "E_ASSET_TOO_LARGE",
                f"{path.name}: at most {FRAMES_MAX} frames and {CLIP_BYTES_MAX} bytes are decoded",
            )
    if not frames:
        raise JobFault("E_ASSET_UNREADABLE", f"{path.name} holds no frame")
    return np.stack(frames)


def _rate(path: Path, stream: VideoStream) -> float:
    rate = stream.average_rate or stream.guessed_rate
    if not rate:
        raise JobFault("E_ASSET_UNREADABLE", f"{path.name} has no frame rate")
    return float(rate)
