"""Pictures and clips for tests, good and bad, made on the spot."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import av
from PIL import Image


def png(width: int = 8, height: int = 6, colour: str = "red") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(buffer, "PNG")
    return buffer.getvalue()


def jpeg() -> bytes:
    buffer = io.BytesIO()
    Image.linear_gradient("L").save(buffer, "JPEG")
    return buffer.getvalue()


def png_bomb(side: int) -> bytes:
    """A few hundred bytes that say they are side x side pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(bytes(1000))), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def video(path: Path, *, frames: int = 10, fps: int = 8, options: dict[str, str] | None = None) -> bytes:
    """H.264 of a moving square. `options` go to the container, as {"movflags": "faststart"}."""
    with av.open(str(path), "w", options=options or {}) as container:
        stream = container.add_stream("libx264" if path.suffix == ".mp4" else "libvpx", rate=fps)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for index in range(frames):
            picture = Image.new("RGB", (64, 48), (index * 20 % 255, 40, 90))
            picture.paste("white", (index, index, index + 10, index + 10))
            for packet in stream.encode(av.VideoFrame.from_image(picture)):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return path.read_bytes()


def sound(path: Path) -> bytes:
    """An MP4 without pictures."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=8000)
        frame = av.AudioFrame(format="fltp", layout="mono", samples=1024)
        frame.sample_rate = 8000
        frame.planes[0].update(bytes(4096))
        for packet in [*stream.encode(frame), *stream.encode()]:
            container.mux(packet)
    return path.read_bytes()
