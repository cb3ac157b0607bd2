"""Bytes of finished outputs."""

from __future__ import annotations

from urllib.parse import quote

from aiohttp import web

from ..route import Call, Route


async def read_artifact(call: Call) -> web.StreamResponse:
    record, path = await call.services.artifacts.find(call.segment("artifact_id"))
    kind = "attachment" if "download" in call.request.query else "inline"
    return web.FileResponse(
        path,
        headers={
            "Content-Type": record.media_type,
            "Content-Disposition": f"{kind}; filename*=UTF-8''{quote(record.name)}",
            "Cache-Control": "private, max-age=31536000, immutable",
        },
    )


ROUTES = (
    Route(
        method="GET",
        path="/artifacts/{artifact_id}",
        handler=read_artifact,
        query={"download": "Given: the browser saves it instead of showing it."},
        summary="The bytes, with ranges.",
    ),
)
