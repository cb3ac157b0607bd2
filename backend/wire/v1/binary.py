"""Binary messages: u32 big-endian header length in bytes, header as UTF-8 JSON, payload."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from pydantic import TypeAdapter

from .events import ChunkFrames, PreviewFrame

_LENGTH = struct.Struct(">I")
_HEADER: TypeAdapter[PreviewFrame | ChunkFrames] = TypeAdapter(PreviewFrame | ChunkFrames)


def pack_binary(header: PreviewFrame | ChunkFrames, payload: bytes) -> bytes:
    """One binary message. Errors: ValueError when the payload is not as long as `frame_bytes` says."""
    expected = sum(header.frame_bytes)
    if expected != len(payload):
        raise ValueError(f"frame_bytes must add up to the payload, {len(payload)} bytes, got {expected}")
    head = header.model_dump_json().encode()
    return _LENGTH.pack(len(head)) + head + payload


def unpack_binary(message: bytes) -> tuple[PreviewFrame | ChunkFrames, bytes]:
    """Header and payload of one binary message. Errors: ValueError on a message cut short."""
    if len(message) < _LENGTH.size:
        raise ValueError(f"a binary message must hold at least {_LENGTH.size} bytes, got {len(message)}")
    (length,) = _LENGTH.unpack_from(message)
    end = _LENGTH.size + length
    if len(message) < end:
        raise ValueError(f"the header must be {length} bytes, got {len(message) - _LENGTH.size}")
    return _HEADER.validate_json(message[_LENGTH.size : end]), message[end:]


def split_frames(payload: bytes, frame_bytes: Sequence[int]) -> tuple[bytes, ...]:
    """The pictures of a payload, each `frame_bytes[i]` long."""
    frames: list[bytes] = []
    start = 0
    for length in frame_bytes:
        frames.append(payload[start : start + length])
        start += length
    return tuple(frames)
