"""Every failure of a request becomes the same kind of body, and none shows a traceback."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from ..artifacts.assets import AssetNotFound
from ..artifacts.finished import ArtifactNotFound
from ..artifacts.refusal import FileRefused
from ..jobs.record import JobNotFound, JobStateError
from ..jobs.requests import Draining, QueueFull
from ..jobs.workflow_store import VersionConflict, WorkflowNotFound
from ..models.family import FamilyError
from .refusal import HttpRefused

LOG = logging.getLogger(__name__)

_FILE_STATUS: Mapping[str, int] = {
    "E_ASSET_NAME": 400,
    "E_MEDIA_BROKEN": 422,
    "E_MEDIA_TYPE": 415,
    "E_MEDIA_TOO_LARGE": 413,
    "E_UPLOAD_TOO_LARGE": 413,
}
_KNOWN: Mapping[type[Exception], tuple[int, str]] = {
    ArtifactNotFound: (404, "E_NOT_FOUND"),
    AssetNotFound: (404, "E_NOT_FOUND"),
    JobNotFound: (404, "E_NOT_FOUND"),
    WorkflowNotFound: (404, "E_NOT_FOUND"),
    JobStateError: (409, "E_JOB_STATE"),
    VersionConflict: (412, "E_VERSION_CONFLICT"),
    Draining: (503, "E_DRAINING"),
    QueueFull: (503, "E_QUEUE_FULL"),
    FamilyError: (500, "E_CHECKPOINT"),
}
_HTTP_CODES: Mapping[int, str] = {404: "E_NOT_FOUND", 405: "E_METHOD", 413: "E_TOO_LARGE"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn what was raised into an error body; a fault of ours is logged and told in one sentence."""
    try:
        return await handler(request)
    except HttpRefused as refused:
        return error_response(refused)
    except FileRefused as refused:
        return error_response(
            HttpRefused(
                _FILE_STATUS[refused.code],
                refused.code,
                str(refused),
                expected=refused.expected,
                given=refused.given,
            )
        )
    except tuple(_KNOWN) as error:
        status, code = _KNOWN[type(error)]
        return error_response(HttpRefused(status, code, str(error)))
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return error_response(_from_aiohttp(request, error))
    except ConnectionError:
        raise
    except Exception:
        LOG.exception("%s %s failed", request.method, request.path)
        return error_response(
            HttpRefused(500, "E_INTERNAL", "the server failed at this request; its log has the details")
        )


def error_response(refused: HttpRefused) -> web.Response:
    headers = {"Retry-After": "5"} if refused.status == 503 else None
    return web.Response(
        text=refused.reply.model_dump_json(),
        status=refused.status,
        content_type="application/json",
        headers=headers,
    )


def _from_aiohttp(request: web.Request, error: web.HTTPException) -> HttpRefused:
    code = _HTTP_CODES.get(error.status, "E_INVALID")
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        return HttpRefused(405, code, f"{request.path} does not know {request.method}", expected=allowed)
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return HttpRefused(413, code, error.text or "the body is too large")
    return HttpRefused(error.status, code, f"{request.path}: {error.reason}")
