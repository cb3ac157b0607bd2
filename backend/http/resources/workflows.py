"""Saved workflows. The version travels in ETag and If-Match."""

from __future__ import annotations

from aiohttp import web

from ...jobs.workflow_store import WorkflowRecord
from ...present import present_workflow
from ...wire.v1.bodies import WorkflowReply, WorkflowSaveRequest, WorkflowsReply
from ...wire.v1.model import WireModel
from ...wire.v1.records import WorkflowDetail
from ..reading import read_whole_number
from ..refusal import HttpRefused
from ..route import Call, Route


async def list_workflows(call: Call) -> WorkflowsReply:
    records = await call.services.workflows.list_all()
    return WorkflowsReply(workflows=tuple(present_workflow(record) for record in records))


async def create_workflow(call: Call) -> web.StreamResponse:
    asked = await call.body(WorkflowSaveRequest)
    record = await call.services.workflows.create(asked.document, _title(asked))
    return _tagged(WorkflowReply(workflow=present_workflow(record)), record, status=201)


async def read_workflow(call: Call) -> web.StreamResponse:
    wanted = read_whole_number(call.request, "version", default=0, maximum=2**31)
    record, document = await call.services.workflows.read(call.segment("workflow_id"), wanted or None)
    return _tagged(WorkflowDetail(workflow=present_workflow(record), document=document), record)


async def list_workflow_versions(call: Call) -> WorkflowsReply:
    records = await call.services.workflows.versions(call.segment("workflow_id"))
    return WorkflowsReply(workflows=tuple(present_workflow(record) for record in records))


async def save_workflow(call: Call) -> web.StreamResponse:
    expected = _expected_version(call)
    if expected is None:
        raise HttpRefused(
            428, "E_VERSION_REQUIRED", "say which version this replaces", expected='If-Match: "3"'
        )
    asked = await call.body(WorkflowSaveRequest)
    record = await call.services.workflows.save(
        call.segment("workflow_id"), asked.document, _title(asked), expected
    )
    return _tagged(WorkflowReply(workflow=present_workflow(record)), record)


async def delete_workflow(call: Call) -> web.StreamResponse:
    await call.services.workflows.delete(call.segment("workflow_id"), _expected_version(call))
    return web.Response(status=204)


def _title(asked: WorkflowSaveRequest) -> str:
    if asked.title is not None:
        return asked.title
    title = asked.document.get("title")
    return title[:200] if isinstance(title, str) and title else "Untitled"


def _expected_version(call: Call) -> int | None:
    text = call.request.headers.get("If-Match")
    if text is None:
        return None
    number = text.strip().removeprefix('"').removesuffix('"')
    if not number.isascii() or not number.isdigit() or len(number) > 10:
        raise HttpRefused(400, "E_INVALID", "If-Match", expected='a version, as "3"', given=text[:80])
    return int(number)


def _tagged(reply: WireModel, record: WorkflowRecord, *, status: int = 200) -> web.StreamResponse:
    return web.Response(
        text=reply.model_dump_json(),
        status=status,
        content_type="application/json",
        headers={"ETag": f'"{record.version}"', "Cache-Control": "no-cache"},
    )


ROUTES = (
    Route(
        method="GET",
        path="/workflows",
        handler=list_workflows,
        reply=WorkflowsReply,
        summary="Saved workflows, last changed first.",
    ),
    Route(
        method="POST",
        path="/workflows",
        handler=create_workflow,
        body=WorkflowSaveRequest,
        reply=WorkflowReply,
        status=201,
        summary="Save a new workflow.",
    ),
    Route(
        method="GET",
        path="/workflows/{workflow_id}",
        handler=read_workflow,
        reply=WorkflowDetail,
        query={"version": "An older one; the newest unless given."},
        summary="A workflow with its document; its version is the ETag.",
    ),
    Route(
        method="GET",
        path="/workflows/{workflow_id}/versions",
        handler=list_workflow_versions,
        reply=WorkflowsReply,
        summary="All versions, newest first.",
    ),
    Route(
        method="PUT",
        path="/workflows/{workflow_id}",
        handler=save_workflow,
        body=WorkflowSaveRequest,
        reply=WorkflowReply,
        summary="Save a new version; If-Match names the one it was made from, else 412.",
    ),
    Route(
        method="DELETE",
        path="/workflows/{workflow_id}",
        handler=delete_workflow,
        status=204,
        summary="Delete a workflow with all its versions.",
    ),
)
