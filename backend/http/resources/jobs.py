"""Jobs: submit, look, cancel, forget."""

from __future__ import annotations

from aiohttp import web

from ...jobs.record import JOB_STATES, JobRecord
from ...present import (
    present_artifact,
    present_diagnostics,
    present_failure,
    present_job,
    present_nodes,
)
from ...wire.v1.bodies import (
    ArtifactsReply,
    JobDetailReply,
    JobReply,
    JobRequest,
    JobsReply,
    JobWorkflowReply,
)
from ...wire.v1.records import Job
from ..reading import read_whole_number
from ..refusal import HttpRefused
from ..route import Call, Route


async def submit_job(call: Call) -> JobReply:
    asked = await call.body(JobRequest)
    if call.services.dispatcher.worker_state == "broken":
        raise HttpRefused(503, "E_WORKER_BROKEN", "the worker cannot be started; see the server's log")
    submission = await call.services.submitter.submit(asked.workflow, asked.targets, asked.chunk_encoding)
    diagnostics = present_diagnostics(found.to_json() for found in submission.diagnostics)
    if submission.job is None:
        first = next(found for found in diagnostics if found.severity == "error")
        raise HttpRefused(422, first.code, first.message, diagnostics=diagnostics)
    return JobReply(job=_present(call, submission.job), diagnostics=diagnostics)


async def list_jobs(call: Call) -> JobsReply:
    wanted = call.request.query.get("state")
    state = next((state for state in JOB_STATES if state == wanted), None)
    if wanted is not None and state is None:
        raise HttpRefused(400, "E_INVALID", "query state", expected=", ".join(JOB_STATES), given=wanted[:80])
    limit = read_whole_number(call.request, "limit", default=100, maximum=1000)
    jobs = await call.services.dispatcher.list_jobs(state, limit)
    return JobsReply(jobs=tuple(_present(call, job) for job in jobs))


async def read_job(call: Call) -> JobDetailReply:
    dispatcher = call.services.dispatcher
    job = await dispatcher.read(call.segment("job_id"))
    program = await dispatcher.read_program(job.job_id)
    artifacts = await call.services.artifacts.list_of([job.job_id])
    return JobDetailReply(
        job=_present(call, job),
        nodes=present_nodes(await dispatcher.read_nodes(job.job_id)),
        artifacts=tuple(present_artifact(artifact) for artifact in artifacts),
        diagnostics=present_diagnostics(program.diagnostics),
        error=present_failure(job.error),
        timings=dict(job.timings or {}),
    )


async def read_job_workflow(call: Call) -> JobWorkflowReply:
    job = await call.services.dispatcher.read(call.segment("job_id"))
    program = await call.services.dispatcher.read_program(job.job_id)
    return JobWorkflowReply(document=dict(program.document), targets=job.targets)


async def list_job_artifacts(call: Call) -> ArtifactsReply:
    job = await call.services.dispatcher.read(call.segment("job_id"))
    artifacts = await call.services.artifacts.list_of([job.job_id])
    return ArtifactsReply(artifacts=tuple(present_artifact(artifact) for artifact in artifacts))


async def cancel_job(call: Call) -> JobReply:
    job = await call.services.dispatcher.cancel(call.segment("job_id"))
    return JobReply(job=_present(call, job), diagnostics=())


async def delete_job(call: Call) -> web.StreamResponse:
    await call.services.dispatcher.delete(call.segment("job_id"))
    return web.Response(status=204)


def _present(call: Call, job: JobRecord) -> Job:
    return present_job(job, call.services.dispatcher.position(job.job_id))


ROUTES = (
    Route(
        method="POST",
        path="/jobs",
        handler=submit_job,
        body=JobRequest,
        reply=JobReply,
        status=201,
        summary="Queue a workflow; 422 with diagnostics when it does not compile.",
    ),
    Route(
        method="GET",
        path="/jobs",
        handler=list_jobs,
        reply=JobsReply,
        query={"state": "Only jobs in this state.", "limit": "At most so many, 100 unless given."},
        summary="Jobs, newest first.",
    ),
    Route(
        method="GET",
        path="/jobs/{job_id}",
        handler=read_job,
        reply=JobDetailReply,
        summary="A job with its nodes, artifacts, diagnostics, error and timings.",
    ),
    Route(
        method="GET",
        path="/jobs/{job_id}/workflow",
        handler=read_job_workflow,
        reply=JobWorkflowReply,
        summary="What the job was made from.",
    ),
    Route(
        method="GET",
        path="/jobs/{job_id}/artifacts",
        handler=list_job_artifacts,
        reply=ArtifactsReply,
        summary="What the job made so far.",
    ),
    Route(
        method="POST",
        path="/jobs/{job_id}/cancel",
        handler=cancel_job,
        reply=JobReply,
        summary="End a job at its next step; one that is over stays as it is.",
    ),
    Route(
        method="DELETE",
        path="/jobs/{job_id}",
        handler=delete_job,
        status=204,
        summary="Forget a job that is over, with its artifacts.",
    ),
)
