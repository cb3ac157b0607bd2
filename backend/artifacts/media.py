"""What a picture or clip is, found out within bounds and before anything large is decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import av
import av.error
from av.container import InputContainer
from av.video.stream import VideoStream
from PIL import Image, UnidentifiedImageError

from .refusal import FileRefused

_IMAGE_TYPES: Mapping[str, str] = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
_CONTAINER_TYPES: Mapping[str, str] = {
    "mov": "video/mp4",
    "matroska": "video/webm",
    "avi": "video/x-msvideo",
}
_KINDS_TEXT = "a picture (PNG, JPEG, WebP) or a clip (MP4, MOV, WebM, MKV, AVI)"


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """What decoders may be asked to do."""

    pixels_max: int = 4096 * 4096
    frames_max: int = 20_000
    seconds_max: float = 900.0


@dataclass(frozen=True, slots=True)
class MediaFacts:
    """A picture has one frame and fps 0."""

    kind: Literal["image", "video"]
    media_type: str
    width_px: int
    height_px: int
    frame_count: int
    fps: float


def probe(path: Path, limits: MediaLimits) -> MediaFacts:
    """Facts of a file, judged by its content, not by its name.

    A picture is decoded once its header is within bounds; of a clip every packet is read and the first frame
    decoded. Errors: FileRefused with E_MEDIA_TYPE, E_MEDIA_TOO_LARGE or E_MEDIA_BROKEN.
    """
    with path.open("rb") as file:
        head = file.read(16)
    container = _container(head)
    if container is not None:
        return _probe_video(path, container, limits)
    if _is_image(head):
        return _probe_image(path, limits)
    raise FileRefused("E_MEDIA_TYPE", _KINDS_TEXT, "another kind of file" if head else "an empty file")


def _is_image(head: bytes) -> bool:
    is_webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    return is_webp or head.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"))


def _container(head: bytes) -> str | None:
    """FFmpeg's name of the format. Formats that open other files (playlists) are not among them."""
    if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free"):
        return "mov"
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return "matroska"
    return "avi" if head[:4] == b"RIFF" and head[8:12] == b"AVI " else None


def _probe_image(path: Path, limits: MediaLimits) -> MediaFacts:
    try:
        with Image.open(path, formats=tuple(_IMAGE_TYPES)) as image:
            _check_pixels(image.width, image.height, limits)
            facts = MediaFacts("image", _IMAGE_TYPES[str(image.format)], image.width, image.height, 1, 0.0)
            image.load()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large(limits, "a picture of far more") from error
    except UnidentifiedImageError as error:
        raise FileRefused("E_MEDIA_BROKEN", "a readable picture", "one with a broken header") from error
    except (OSError, SyntaxError, ValueError) as error:
        if isinstance(error, FileRefused):
            raise
        raise FileRefused("E_MEDIA_BROKEN", "a whole picture", f"a broken one ({error})") from error
    return facts


def _probe_video(path: Path, container_format: str, limits: MediaLimits) -> MediaFacts:
    options = {"protocol_whitelist": "file"}
    try:
        with av.open(str(path), format=container_format, options=options) as container:
            if not container.streams.video:
                raise FileRefused("E_MEDIA_TYPE", "a clip with pictures", "one without")
            return _read_video(container, container.streams.video[0], path.stat().st_size, limits)
    except av.error.FFmpegError as error:
        raise FileRefused("E_MEDIA_BROKEN", "a whole clip", f"a broken one ({_reason(error)})") from error


def _read_video(
    container: InputContainer, stream: VideoStream, size_bytes: int, limits: MediaLimits
) -> MediaFacts:
    if stream.codec_context is None:
        raise FileRefused("E_MEDIA_BROKEN", "a clip of a known codec", "one without")
    width, height = stream.codec_context.width, stream.codec_context.height
    _check_pixels(width, height, limits)
    fps = float(stream.average_rate or stream.guessed_rate or 0)
    if fps <= 0:
        raise FileRefused("E_MEDIA_BROKEN", "a clip with a frame rate", "one without")
    frame_count = _count_frames(container, stream, size_bytes, limits)
    announced = stream.frames
    if frame_count == 0 or frame_count < announced:
        raise FileRefused("E_MEDIA_BROKEN", f"a whole clip of {announced} frames", f"{frame_count} frames")
    if frame_count / fps > limits.seconds_max:
        raise FileRefused(
            "E_MEDIA_TOO_LARGE", f"a clip of at most {limits.seconds_max:g} s", f"{frame_count / fps:.1f} s"
        )
    container.seek(0)
    if next(container.decode(stream), None) is None:
        raise FileRefused("E_MEDIA_BROKEN", "a clip that can be decoded", "one without a picture")
    media_type = _CONTAINER_TYPES[container.format.name.split(",")[0]]
    return MediaFacts("video", media_type, width, height, frame_count, fps)


def _count_frames(
    container: InputContainer, stream: VideoStream, size_bytes: int, limits: MediaLimits
) -> int:
    count = 0
    for packet in container.demux(stream):
        if packet.size == 0:  # the flush packet at the end
            continue
        is_cut = packet.pos is not None and packet.pos + packet.size > size_bytes
        if packet.is_corrupt or is_cut:
            raise FileRefused("E_MEDIA_BROKEN", "a whole clip", f"one that is cut short after {count} frames")
        count += 1
        if count > limits.frames_max:
            raise FileRefused("E_MEDIA_TOO_LARGE", f"a clip of at most {limits.frames_max} frames", "more")
    return count


def _check_pixels(width: int, height: int, limits: MediaLimits) -> None:
    if width < 1 or height < 1:
        raise FileRefused("E_MEDIA_BROKEN", "a picture with a size", f"{width}x{height}")
    if width * height > limits.pixels_max:
        raise _too_large(limits, f"{width}x{height}")


def _too_large(limits: MediaLimits, given: str) -> FileRefused:
    return FileRefused("E_MEDIA_TOO_LARGE", f"at most {limits.pixels_max} pixels", given)


def _reason(error: av.error.FFmpegError) -> str:
    return error.strerror or type(error).__name__
