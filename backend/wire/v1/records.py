"""The things a server keeps, as clients see them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .diagnostics import JobError
from .model import JobId, JsonObject, Sha256, WireModel

JobState = Literal["queued", "running", "completed", "failed", "cancelled"]
AssetKind = Literal["image", "video"]
OutputKind = Literal["save_video", "save_image", "preview"]
WorkerState = Literal["stopped", "starting", "ready", "restarting", "stopping", "broken"]


class JobOutput(WireModel):
    """A node that yields an artifact when the job completes."""

    node_id: str
    kind: OutputKind


class JobRollout(WireModel):
    """A rollout of a job: what a live control may say to it."""

    node_id: str
    chunk_count: int | None = Field(description="Null is endless.")
    keys: tuple[str, ...] = Field(description="Control keys it listens to; empty when it takes none live.")


class Job(WireModel):
    """One run of one workflow. Times are seconds since 1970, UTC."""

    job_id: JobId
    state: JobState
    title: str | None = Field(description="Title of the workflow.")
    targets: tuple[str, ...] | None = Field(description="Nodes it was asked to run to; null is every output.")
    outputs: tuple[JobOutput, ...]
    rollouts: tuple[JobRollout, ...]
    spec_hash: str
    position: int | None = Field(description="Place in the queue, 0 is next; null unless queued.")
    attempt: int = Field(ge=0, description="How often it was started; a dead worker's job starts again.")
    created_at: float
    started_at: float | None
    finished_at: float | None
    error: JobError | None


class NodeProgress(WireModel):
    """Where one node of a job stands."""

    node_id: str
    state: Literal["running", "finished", "failed"]
    step: int | None
    step_count: int | None
    chunk_index: int | None
    chunk_count: int | None = Field(description="Null for an endless rollout, and for a node without chunks.")
    seconds: float | None = Field(description="How long it took; null until finished.")
    is_cached: bool


class Artifact(WireModel):
    """A finished, stored, immutable output."""

    artifact_id: Sha256 = Field(description="SHA-256 of the bytes.")
    job_id: JobId
    node_id: str
    name: str = Field(description="File name to save it under.")
    url: str = Field(description="Path on this server.")
    media_type: str
    width_px: int
    height_px: int
    frame_count: int
    fps: float | None = Field(description="Null for a picture.")
    size_bytes: int
    latent_sha256: str | None = Field(description="SHA-256 of the fp32 latent it was decoded from.")


class JobSnapshot(WireModel):
    """A job with all a page needs to draw it after a reload."""

    job: Job
    nodes: tuple[NodeProgress, ...]
    artifacts: tuple[Artifact, ...]


class Asset(WireModel):
    """A picture or clip a workflow may name."""

    asset: str = Field(description="The name; no folders.")
    kind: AssetKind
    origin: Literal["shipped", "upload"]
    media_type: str
    width_px: int
    height_px: int
    frame_count: int
    fps: float = Field(description="0 for a picture.")
    size_bytes: int
    content_id: Sha256


class Checkpoint(WireModel):
    """A model on the server's disk, with the facts that bound what it can be asked for."""

    checkpoint: str
    family: str
    title: str
    latent_channels: int
    spatial: int = Field(description="Pixels per latent cell.")
    temporal: int = Field(description="Pixel frames per latent frame after the first.")
    patch: int
    width_px: int
    height_px: int
    sizes_fixed: bool
    fps: int
    frame_count_default: int
    frame_count_max: int
    chunk_latent_frames: int
    step_count: int
    flow_shift: float
    guidance_scale: float
    samplers: tuple[str, ...]
    precisions: tuple[str, ...]
    control_keys: tuple[str, ...]
    capabilities: tuple[str, ...]
    content_id: str
    adapter_rank_max: int = Field(description="Highest rank of a LoRA it takes.")


class Adapter(WireModel):
    """A LoRA file a workflow may name."""

    adapter: str
    content_id: str
    bytes: int
    family: str | None = Field(description="Of the checkpoints it is for; null when nobody looked.")
    rank: int | None = Field(description="The highest of its layers; null when nobody looked.")


class Workflow(WireModel):
    """A workflow kept on the server, without its document."""

    workflow_id: str
    title: str
    version: int = Field(ge=1, description="Grows by one at each change; send it back in If-Match.")
    created_at: float
    updated_at: float


class WorkflowDetail(WireModel):
    workflow: Workflow
    document: JsonObject


class Template(WireModel):
    """A workflow that ships with the program."""

    name: str
    title: str
    description: str


class WorkerStatus(WireModel):
    """The process that computes."""

    state: WorkerState
    device: str | None = Field(description="cpu or cuda:0; null until ready.")
    device_name: str | None
    torch: str | None = Field(description="Version of torch in the worker.")
    restart_count: int


class QueueStatus(WireModel):
    queued: int
    running: int
    running_max: int


class SystemReply(WireModel):
    version: str
    protocol: Literal["rushes.v1"] = "rushes.v1"
    worker: WorkerStatus
    queue: QueueStatus
    upload_bytes_max: int
