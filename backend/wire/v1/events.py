"""What the server sends over `WS /api/v1/events`.

Text messages are JSON. `preview.frame` and `chunk.frames` are binary messages: see `binary.py`.
Every message but `hello` and `error` carries the stream's `seq`. A job's terminal event comes once, last.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .model import JobId, NodeId, Seq, Sha256, WireModel
from .records import JobSnapshot


class Hello(WireModel):
    """Answer to the client's hello: where the stream stands, and every job that is not over."""

    type: Literal["hello"] = "hello"
    protocol: Literal["rushes.v1"] = "rushes.v1"
    seq: Seq
    has_gap: bool = Field(description="Events after `since` are no longer kept; rely on the snapshots.")
    jobs: tuple[JobSnapshot, ...]


class ErrorMessage(WireModel):
    """A client message was refused; the connection stays open."""

    type: Literal["error"] = "error"
    code: str
    message: str
    field: str | None = Field(default=None, description="Path of the bad field, as `keys.0`.")
    request: str | None = Field(default=None, description="`type` of the refused message.")
    job_id: str | None = None


class _Event(WireModel):
    seq: Seq


class _JobEvent(_Event):
    job_id: JobId


class _NodeEvent(_JobEvent):
    node_id: NodeId


class WorkerReady(_Event):
    type: Literal["worker.ready"] = "worker.ready"
    device: str
    device_name: str
    torch: str


class WorkerDied(_Event):
    """The computing process ended; it is started again, and its jobs are queued again or failed."""

    type: Literal["worker.died"] = "worker.died"
    exit_code: int | None
    job_ids: tuple[JobId, ...]


class WorkerBroken(_Event):
    """The computing process could not be started; queued jobs wait until the server is started again."""

    type: Literal["worker.broken"] = "worker.broken"
    message: str


class JobQueued(_JobEvent):
    type: Literal["job.queued"] = "job.queued"
    position: int = Field(ge=0, description="0 is next. Sent again when it changes.")


class JobStarted(_JobEvent):
    type: Literal["job.started"] = "job.started"


class NodeStarted(_NodeEvent):
    type: Literal["node.started"] = "node.started"


class NodeFinished(_NodeEvent):
    type: Literal["node.finished"] = "node.finished"
    seconds: float
    is_cached: bool


class NodeFailed(_NodeEvent):
    type: Literal["node.failed"] = "node.failed"
    code: str
    message: str


class JobProgress(_NodeEvent):
    type: Literal["job.progress"] = "job.progress"
    step: int = Field(ge=0)
    step_count: int = Field(ge=0)
    chunk_index: int = Field(ge=0)
    chunk_count: int | None = Field(description="Null is endless.")


class PreviewFrame(_NodeEvent):
    """Header of one preview: a short loop of pictures of unfinished work.

    Lossy by contract: dropped when the connection is slow. The payload is the pictures one after another,
    `frame_bytes` long each.
    """

    type: Literal["preview.frame"] = "preview.frame"
    chunk_index: int = Field(ge=0, description="0 unless the node is a rollout.")
    frame_index: int = Field(ge=0, description="Pixel frame within the whole video of the first picture.")
    step: int = Field(ge=0, description="1-based sampler step that produced it.")
    step_count: int = Field(ge=0)
    width_px: int = Field(ge=1)
    height_px: int = Field(ge=1)
    encoding: Literal["jpeg"]
    frame_count: int = Field(ge=1)
    frame_bytes: tuple[int, ...]


class ChunkFrames(_NodeEvent):
    """Header of consecutive frames of a rollout, finished. Never dropped.

    The payload is the frames one after another, `frame_bytes` long each; `rgb24` rows go from the top down,
    not padded.
    """

    type: Literal["chunk.frames"] = "chunk.frames"
    chunk_index: int = Field(ge=0)
    part_index: int = Field(ge=0)
    part_count: int = Field(ge=1)
    frame_index: int = Field(ge=0, description="Index in the whole rollout of the first frame here.")
    frame_count: int = Field(ge=0)
    width_px: int = Field(ge=1)
    height_px: int = Field(ge=1)
    fps: float
    encoding: Literal["jpeg", "rgb24"]
    frame_bytes: tuple[int, ...]
    control_seq: int | None = Field(description="Last control message this chunk used.")
    keys: tuple[tuple[str, ...], ...] = Field(description="Keys held in each latent frame.")
    made_ms: float = Field(description="Time from the chunk's start to this part, in the worker.")

    @property
    def is_last_part(self) -> bool:
        return self.part_index == self.part_count - 1


class ControlApplied(_NodeEvent):
    """A control message took effect. `control_seq` is the number the client gave it."""

    type: Literal["control.applied"] = "control.applied"
    control_seq: int = Field(ge=0)
    chunk_index: int = Field(ge=0)
    is_late: bool


class ArtifactCreated(_NodeEvent):
    """The fields of `Artifact`."""

    type: Literal["artifact.created"] = "artifact.created"
    artifact_id: Sha256
    name: str
    url: str
    media_type: str
    width_px: int
    height_px: int
    frame_count: int
    fps: float | None
    size_bytes: int
    latent_sha256: str | None


class JobCompleted(_JobEvent):
    type: Literal["job.completed"] = "job.completed"
    timings: dict[str, float]


class JobFailed(_JobEvent):
    type: Literal["job.failed"] = "job.failed"
    code: str
    message: str
    node_id: str | None = Field(description="The node to mark red; null if none is to blame.")


class JobCancelled(_JobEvent):
    type: Literal["job.cancelled"] = "job.cancelled"


ServerEvent = Annotated[
    WorkerReady
    | WorkerDied
    | WorkerBroken
    | JobQueued
    | JobStarted
    | NodeStarted
    | NodeFinished
    | NodeFailed
    | JobProgress
    | PreviewFrame
    | ChunkFrames
    | ControlApplied
    | ArtifactCreated
    | JobCompleted
    | JobFailed
    | JobCancelled,
    Field(discriminator="type"),
]
ServerMessage = Annotated[Hello | ErrorMessage | ServerEvent, Field(discriminator="type")]

TERMINAL_EVENTS = frozenset({"job.completed", "job.failed", "job.cancelled"})
BINARY_EVENTS = frozenset({"preview.frame", "chunk.frames"})
