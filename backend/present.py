"""Our records as the wire's messages. Both hosts speak through this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rushes.compiler.ir.facts import AdapterFacts, CheckpointFacts

from .artifacts.assets import AssetRecord
from .artifacts.finished import ArtifactRecord, ArtifactStore
from .jobs import progress
from .jobs.dispatcher import Dispatcher
from .jobs.record import JobFailure, JobRecord
from .jobs.workflow_store import WorkflowRecord
from .wire.v1 import records
from .wire.v1.diagnostics import Diagnostic, JobError

API = "/api/v1"


def present_job(job: JobRecord, position: int | None) -> records.Job:
    return records.Job.model_validate(
        {
            "job_id": job.job_id,
            "state": job.state,
            "title": job.title,
            "targets": job.targets,
            "outputs": [asdict(output) for output in job.outputs],
            "rollouts": [asdict(rollout) for rollout in job.rollouts],
            "spec_hash": job.spec_hash,
            "position": position,
            "attempt": job.attempt,
            "created_at": job.created_at,
            "started_at": job.started_at,
            "finished_at": job.finished_at,
            "error": None if job.error is None else asdict(job.error),
        }
    )


def present_failure(failure: JobFailure | None) -> JobError | None:
    return None if failure is None else JobError(**asdict(failure))


def present_nodes(nodes: Iterable[progress.NodeProgress]) -> tuple[records.NodeProgress, ...]:
    return tuple(records.NodeProgress(**asdict(node)) for node in nodes)


def present_artifact(artifact: ArtifactRecord) -> records.Artifact:
    return records.Artifact(
        artifact_id=artifact.sha256,
        job_id=artifact.job_id,
        node_id=artifact.node_id,
        name=artifact.name,
        url=f"{API}/artifacts/{artifact.sha256}",
        media_type=artifact.media_type,
        width_px=artifact.width_px,
        height_px=artifact.height_px,
        frame_count=artifact.frame_count,
        fps=artifact.fps,
        size_bytes=artifact.size_bytes,
        latent_sha256=artifact.latent_sha256,
    )


def present_artifact_event(artifact: ArtifactRecord) -> Mapping[str, Any]:
    """The `artifact.created` clients get, without its `seq`."""
    return {"type": "artifact.created", **present_artifact(artifact).model_dump()}


def present_diagnostics(found: Iterable[Mapping[str, Any]]) -> tuple[Diagnostic, ...]:
    return tuple(Diagnostic.model_validate(diagnostic) for diagnostic in found)


def present_asset(record: AssetRecord) -> records.Asset:
    return records.Asset(
        asset=record.asset,
        origin=record.origin,
        size_bytes=record.size_bytes,
        content_id=record.sha256,
        **asdict(record.media),
    )


def present_checkpoint(facts: CheckpointFacts) -> records.Checkpoint:
    return records.Checkpoint(**asdict(facts) | {"capabilities": tuple(sorted(facts.capabilities))})


def present_adapter(facts: AdapterFacts) -> records.Adapter:
    return records.Adapter(**asdict(facts))


def present_workflow(record: WorkflowRecord) -> records.Workflow:
    return records.Workflow(**asdict(record))


async def present_snapshots(
    dispatcher: Dispatcher, artifacts: ArtifactStore
) -> tuple[records.JobSnapshot, ...]:
    """Every job that is not over."""
    jobs = dispatcher.live_jobs
    kept = await artifacts.list_of([job.job_id for job in jobs])
    return tuple([await _snapshot(dispatcher, job, kept) for job in jobs])


async def _snapshot(
    dispatcher: Dispatcher, job: JobRecord, kept: Sequence[ArtifactRecord]
) -> records.JobSnapshot:
    return records.JobSnapshot(
        job=present_job(job, dispatcher.position(job.job_id)),
        nodes=present_nodes(await dispatcher.read_nodes(job.job_id)),
        artifacts=tuple(present_artifact(artifact) for artifact in kept if artifact.job_id == job.job_id),
    )
