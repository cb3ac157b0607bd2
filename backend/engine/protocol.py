"""What a worker process and its owner say to each other, and how it is framed on the two pipes.

A message is a u32 big-endian header length in bytes, the header as UTF-8 JSON (its ``payload_bytes`` says
how many bytes follow), then the payload. Torch-free: both ends import this file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, BinaryIO, ClassVar, Final

HEADER_LENGTH: Final = struct.Struct(">I")
HEADER_BYTES_MAX: Final = 64 << 20
PAYLOAD_BYTES_MAX: Final = 1 << 30

JsonObject = Mapping[str, Any]


class ProtocolError(ValueError):
    """A message that breaks the framing, or names no known kind. The channel cannot be trusted after it."""


# ---- owner to worker --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SubmitJob:
    """Run one compiled spec. ``metadata`` is embedded in every artifact as it stands."""

    type: ClassVar[str] = "submit"
    job_id: str
    spec: JsonObject
    """``spec_to_json`` of the PipelineSpec."""
    assets: Mapping[str, str]
    """Asset name to the absolute path of its file."""
    output_dir: str
    metadata: JsonObject = field(default_factory=dict)
    chunk_encoding: str = "jpeg"
    """Of chunk.frames: ``jpeg`` or ``rgb24``."""


@dataclass(frozen=True, slots=True)
class CancelJob:
    """End the job at its next step. Unknown and finished jobs are left as they are."""

    type: ClassVar[str] = "cancel"
    job_id: str


@dataclass(frozen=True, slots=True)
class ControlJob:
    """One live update of a rollout: the keys held now, a new prompt, or a graceful stop.

    A stop ends the rollout before ``wanted_chunk``, or at once; what was made is kept and the job completes.
    """

    type: ClassVar[str] = "control"
    job_id: str
    node_id: str
    seq: int
    wanted_chunk: int | None = None
    """First chunk it is meant for; null is the next one."""
    keys: Sequence[str] | None = None
    """All keys held from now on; null leaves them as they are."""
    prompt: str | None = None
    stop: bool = False


@dataclass(frozen=True, slots=True)
class AckChunk:
    """The consumer has chunk ``chunk_index`` and all before it."""

    type: ClassVar[str] = "ack"
    job_id: str
    node_id: str
    chunk_index: int


@dataclass(frozen=True, slots=True)
class StopWorker:
    """Finish the jobs at hand, then end the process."""

    type: ClassVar[str] = "stop"


Command = SubmitJob | CancelJob | ControlJob | AckChunk | StopWorker

# ---- worker to owner --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """The default checkpoint is loaded and warm; jobs start without delay."""

    type: ClassVar[str] = "worker.ready"
    device: str
    device_name: str
    torch: str


@dataclass(frozen=True, slots=True)
class WorkerDied:
    """Made by the owner's side: the process ended, and these jobs were in it."""

    type: ClassVar[str] = "worker.died"
    exit_code: int
    job_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class JobStarted:
    type: ClassVar[str] = "job.started"
    job_id: str


@dataclass(frozen=True, slots=True)
class NodeStarted:
    type: ClassVar[str] = "node.started"
    job_id: str
    node_id: str


@dataclass(frozen=True, slots=True)
class NodeFinished:
    """``is_cached``: nothing was computed, the result of an earlier equal run was taken."""

    type: ClassVar[str] = "node.finished"
    job_id: str
    node_id: str
    seconds: float
    is_cached: bool


@dataclass(frozen=True, slots=True)
class JobProgress:
    """After each step. ``step`` is 1-based; ``chunk_count`` is null for an endless rollout."""

    type: ClassVar[str] = "job.progress"
    job_id: str
    node_id: str
    step: int
    step_count: int
    chunk_index: int
    chunk_count: int | None


@dataclass(frozen=True, slots=True)
class PreviewFrame:
    """A short loop of JPEGs of unfinished work, concatenated in the payload. May be dropped at any point."""

    type: ClassVar[str] = "preview.frame"
    job_id: str
    node_id: str
    chunk_index: int
    frame_index: int
    step: int
    step_count: int
    width_px: int
    height_px: int
    encoding: str
    frame_count: int
    frame_bytes: Sequence[int]


@dataclass(frozen=True, slots=True)
class ChunkFrames:
    """One part of a rollout's chunk: the pixel frames of one latent frame. Never dropped."""

    type: ClassVar[str] = "chunk.frames"
    job_id: str
    node_id: str
    chunk_index: int
    part_index: int
    part_count: int
    frame_index: int
    """Index of the first frame of this part in the whole rollout."""
    frame_count: int
    width_px: int
    height_px: int
    fps: float
    encoding: str
    """``jpeg``: as many JPEG files as ``frame_bytes`` has entries. ``rgb24``: rows of 3 bytes a pixel."""
    frame_bytes: Sequence[int]
    control_seq: int | None
    """Newest live control this chunk was made under; null before the first."""
    keys: Sequence[Sequence[str]]
    """Keys of every latent frame of the chunk."""
    made_ms: int
    """Milliseconds from the start of this chunk to the end of this part's decode."""


@dataclass(frozen=True, slots=True)
class ControlApplied:
    """A live control took effect with chunk ``chunk_index``; ``is_late`` if it had wanted an earlier one."""

    type: ClassVar[str] = "control.applied"
    job_id: str
    node_id: str
    seq: int
    chunk_index: int
    is_late: bool


@dataclass(frozen=True, slots=True)
class ArtifactCreated:
    """A finished file in the job's output folder."""

    type: ClassVar[str] = "artifact.created"
    job_id: str
    node_id: str
    name: str
    path: str
    media_type: str
    width_px: int
    height_px: int
    frame_count: int
    fps: float
    size_bytes: int
    sha256: str
    latent_sha256: str | None


@dataclass(frozen=True, slots=True)
class NodeFailed:
    type: ClassVar[str] = "node.failed"
    job_id: str
    node_id: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class JobCompleted:
    type: ClassVar[str] = "job.completed"
    job_id: str
    timings: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class JobFailed:
    type: ClassVar[str] = "job.failed"
    job_id: str
    code: str
    message: str
    node_id: str | None


@dataclass(frozen=True, slots=True)
class JobCancelled:
    type: ClassVar[str] = "job.cancelled"
    job_id: str


Event = (
    WorkerReady
    | WorkerDied
    | JobStarted
    | NodeStarted
    | NodeFinished
    | JobProgress
    | PreviewFrame
    | ChunkFrames
    | ControlApplied
    | ArtifactCreated
    | NodeFailed
    | JobCompleted
    | JobFailed
    | JobCancelled
)

TERMINAL_TYPES: Final = frozenset({"job.completed", "job.failed", "job.cancelled"})
DROPPABLE_TYPES: Final = frozenset({"preview.frame"})

_COMMANDS: Final[Mapping[str, type[Command]]] = {
    kind.type: kind for kind in (SubmitJob, CancelJob, ControlJob, AckChunk, StopWorker)
}

# ---- framing ----------------------------------------------------------------------------------------------


def to_header(message: Command | Event) -> dict[str, Any]:
    """The message as a JSON object, ``type`` first."""
    return {"type": message.type} | {f.name: getattr(message, f.name) for f in fields(message)}


def parse_command(header: JsonObject) -> Command:
    """The command a header describes.

    Errors: ProtocolError when the type is unknown, or a field is missing or unknown.
    """
    given = {name: value for name, value in header.items() if name not in ("type", "payload_bytes")}
    kind = _COMMANDS.get(header.get("type", ""))
    if kind is None:
        raise ProtocolError(f"a command type of {sorted(_COMMANDS)} was expected, got {header.get('type')!r}")
    try:
        return kind(**given)
    except TypeError as error:
        raise ProtocolError(f"{kind.type}: {error}") from error


def pack_message(header: JsonObject, payload: bytes = b"") -> bytes:
    """Length, header with ``payload_bytes`` added, payload."""
    head = json.dumps({**header, "payload_bytes": len(payload)}, separators=(",", ":")).encode()
    return HEADER_LENGTH.pack(len(head)) + head + payload


def unpack_header(raw: bytes) -> tuple[dict[str, Any], int]:
    """The header's JSON object without ``payload_bytes``, and that number.

    Errors: ProtocolError when it is not a JSON object or the payload length is missing or out of bounds.
    """
    try:
        header = json.loads(raw)
    except ValueError as error:
        raise ProtocolError(f"a JSON header was expected: {error}") from error
    if not isinstance(header, dict):
        raise ProtocolError(f"a JSON object was expected, got {type(header).__name__}")
    size = header.pop("payload_bytes", None)
    if not isinstance(size, int) or not 0 <= size <= PAYLOAD_BYTES_MAX:
        raise ProtocolError(f"payload_bytes from 0 to {PAYLOAD_BYTES_MAX} was expected, got {size!r}")
    return header, size


def header_size(prefix: bytes) -> int:
    """Bytes of the header that follow this 4-byte prefix. Errors: ProtocolError over the bound."""
    (size,) = HEADER_LENGTH.unpack(prefix)
    if size > HEADER_BYTES_MAX:
        raise ProtocolError(f"a header of at most {HEADER_BYTES_MAX} bytes was expected, got {size}")
    return int(size)


def read_message(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Next message from a blocking stream, or None at its end.

    Errors: ProtocolError on a broken header or a stream that ends inside a message.
    """
    prefix = stream.read(HEADER_LENGTH.size)
    if not prefix:
        return None
    read = _exact(stream.read)
    if len(prefix) < HEADER_LENGTH.size:
        raise ProtocolError("the stream ended inside a message")
    header, payload_bytes = unpack_header(read(header_size(prefix)))
    return header, read(payload_bytes)


def _exact(read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    def read_all(size: int) -> bytes:
        data = read(size)
        if len(data) < size:
            raise ProtocolError("the stream ended inside a message")
        return data

    return read_all
