"""Bodies of HTTP requests and replies."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .diagnostics import Diagnostic, JobError
from .model import JsonObject, WireModel
from .records import Adapter, Artifact, Asset, Checkpoint, Job, NodeProgress, Template, Workflow


class CompileRequest(WireModel):
    """A workflow to check."""

    workflow: JsonObject
    targets: tuple[str, ...] | None = Field(
        default=None,
        max_length=256,
        description="Run only these nodes and what they need; null is every output.",
    )


class JobRequest(CompileRequest):
    """A workflow to run."""

    chunk_encoding: Literal["jpeg", "rgb24"] = Field(
        default="jpeg", description="How frames of rollouts travel; rgb24 is exact and large."
    )


class CompileEstimate(WireModel):
    """What a run is predicted to cost."""

    seconds: float | None = Field(
        description="Of the device; per second of video when endless. Null: not measured for this device."
    )
    bytes: int


class CompileReply(WireModel):
    ok: bool
    diagnostics: tuple[Diagnostic, ...]
    explain: str | None = Field(description="The program as text a person can read; null when not ok.")
    spec_hash: str | None
    level: str | None
    estimate: CompileEstimate | None


class JobReply(WireModel):
    job: Job
    diagnostics: tuple[Diagnostic, ...] = Field(description="Warnings and notes of the compiler.")


class JobDetailReply(WireModel):
    job: Job
    nodes: tuple[NodeProgress, ...]
    artifacts: tuple[Artifact, ...]
    diagnostics: tuple[Diagnostic, ...]
    error: JobError | None
    timings: dict[str, float]


class JobsReply(WireModel):
    """Newest first."""

    jobs: tuple[Job, ...]


class JobWorkflowReply(WireModel):
    """What the job was made from."""

    document: JsonObject
    targets: tuple[str, ...] | None


class ArtifactsReply(WireModel):
    artifacts: tuple[Artifact, ...]


class UploadReply(WireModel):
    asset: Asset
    renamed_from: str | None = Field(
        description="The name that was asked for, when another content already had it; else null."
    )


class AssetsReply(WireModel):
    assets: tuple[Asset, ...]


class CheckpointsReply(WireModel):
    checkpoints: tuple[Checkpoint, ...]


class AdaptersReply(WireModel):
    adapters: tuple[Adapter, ...]


class WorkflowSaveRequest(WireModel):
    document: JsonObject
    title: str | None = Field(default=None, max_length=200, description="Null takes the document's title.")


class WorkflowReply(WireModel):
    workflow: Workflow


class WorkflowsReply(WireModel):
    workflows: tuple[Workflow, ...]


class TemplatesReply(WireModel):
    templates: tuple[Template, ...]


class TemplateReply(WireModel):
    template: Template
    document: JsonObject
