"""Frames into files: MP4 while they come, PNG, WebP, JPEG. A file gets its name when it is whole."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
from av.video.frame import VideoFrame
from PIL import Image, PngImagePlugin

from rushes.backend.engine.values import Frames

METADATA_KEY: Final = "rushes"
"""Name of the text chunk that holds the embedded workflow, in PNG; MP4 has it as its comment, WebP as XMP."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    path: Path
    media_type: str
    width_px: int
    height_px: int
    frame_count: int
    fps: float
    size_bytes: int
    sha256: str


class VideoWriter:
    """An MP4 (H.264, yuv420p, index in front) that grows with every push; `FrameSink`.

    Shapes: frames uint8 [frames, height, width, 3], sizes even and the same in every push.
    Errors: OSError when the disk is full; ValueError from ``close`` when nothing was pushed.
    """

    def __init__(self, path: Path, *, fps: float, quality: int, metadata: Mapping[str, Any] | None) -> None:
        self._path = path
        self._partial = path.with_name(f".{path.name}.part")
        self._rate = Fraction(fps).limit_denominator(1001)
        self._quality = quality
        self._comment = None if metadata is None else _json(metadata)
        self._container: av.container.OutputContainer | None = None
        self._stream: Any = None
        self._frame_count = 0

    def push(self, frames: Frames) -> None:
        if self._container is None:
            self._open(frames)
        for pixels in frames:
            frame = VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            frame.pts = self._frame_count
            frame.time_base = 1 / self._rate
            self._mux(frame)
            self._frame_count += 1

    def write(self, frames: Frames) -> WrittenFile:
        """All frames at once. Leaves nothing behind when that fails."""
        try:
            self.push(frames)
            return self.close()
        except BaseException:
            self.abandon()
            raise

    def close(self) -> WrittenFile:
        if self._container is None:
            raise ValueError("a video must have at least one frame, got none")
        self._mux(None)
        width, height = self._stream.width, self._stream.height
        self._container.close()
        self._container = None
        self._partial.replace(self._path)
        return _written(self._path, "video/mp4", (width, height), self._frame_count, float(self._rate))

    def abandon(self) -> None:
        if self._container is not None:
            self._container.close()
            self._container = None
        self._partial.unlink(missing_ok=True)

    def _open(self, frames: Frames) -> None:
        height, width = frames.shape[1:3]
        if width % 2 or height % 2:
            raise ValueError(f"H.264 in yuv420p needs an even width and height, got {width}x{height}")
        self._container = av.open(str(self._partial), "w", format="mp4", options={"movflags": "+faststart"})
        if self._comment is not None:
            self._container.metadata["comment"] = self._comment
        stream = self._container.add_stream(
            "libx264", rate=self._rate, options={"crf": str(self._quality), "preset": "veryfast"}
        )
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.thread_count = 1 if width * height < 1 << 18 else 0
        stream.codec_context.time_base = 1 / self._rate
        self._stream = stream

    def _mux(self, frame: VideoFrame | None) -> None:
        assert self._container is not None
        for packet in self._stream.encode(frame):
            self._container.mux(packet)


def write_image(path: Path, pixels: Frames, metadata: Mapping[str, Any] | None) -> WrittenFile:
    """One frame [height, width, 3] as PNG or lossless WebP, by the ending of the name."""
    partial = path.with_name(f".{path.name}.part")
    image = Image.fromarray(pixels)
    if path.suffix == ".png":
        text = PngImagePlugin.PngInfo()
        if metadata is not None:
            text.add_itxt(METADATA_KEY, _json(metadata))
        image.save(partial, "PNG", pnginfo=text)
    else:
        extra = {} if metadata is None else {"xmp": _xmp(metadata)}
        image.save(partial, "WEBP", lossless=True, **extra)
    partial.replace(path)
    return _written(path, f"image/{path.suffix[1:]}", image.size, 1, 0.0)


def encode_jpegs(frames: Sequence[Frames], quality: int) -> list[bytes]:
    """Frames [height, width, 3] as JPEG files."""
    return [_jpeg(pixels, quality) for pixels in frames]


def _jpeg(pixels: Frames, quality: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def _json(metadata: Mapping[str, Any]) -> str:
    return json.dumps(metadata, separators=(",", ":"), sort_keys=True)


def _xmp(metadata: Mapping[str, Any]) -> bytes:
    text = _json(metadata).replace("&", "&amp;").replace("<", "&lt;")
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
        'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
        f'xmlns:{METADATA_KEY}="urn:rushes:1"><{METADATA_KEY}:workflow>{text}</{METADATA_KEY}:workflow>'
        "</rdf:Description></rdf:RDF></x:xmpmeta>"
    ).encode()


def _written(path: Path, media_type: str, size: tuple[int, int], frame_count: int, fps: float) -> WrittenFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    width, height = size
    return WrittenFile(path, media_type, width, height, frame_count, fps, path.stat().st_size, digest)
