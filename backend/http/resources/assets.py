"""Pictures and clips a workflow may name: list, read, bring."""

from __future__ import annotations

from collections.abc import AsyncIterator

from aiohttp import BodyPartReader, web

from ...present import present_asset
from ...wire.v1.bodies import AssetsReply, UploadReply
from ..refusal import HttpRefused
from ..route import Call, Route

_PIECE_BYTES = 1 << 18


async def list_assets(call: Call) -> AssetsReply:
    records = await call.services.assets.list_all()
    return AssetsReply(assets=tuple(present_asset(record) for record in records))


async def read_asset(call: Call) -> web.StreamResponse:
    record = await call.services.assets.find(call.segment("name"))
    headers = {"Content-Type": record.media.media_type, "Cache-Control": "no-cache"}
    return web.FileResponse(record.path, headers=headers)


async def upload_asset(call: Call) -> UploadReply:
    part = await _file_part(call.request)
    name = part.filename or ""
    record, is_renamed = await call.services.assets.upload(name, _pieces(part))
    return UploadReply(asset=present_asset(record), renamed_from=name if is_renamed else None)


async def _file_part(request: web.Request) -> BodyPartReader:
    if request.content_type != "multipart/form-data":
        raise HttpRefused(
            415,
            "E_INVALID",
            "an upload must be a form",
            expected="Content-Type: multipart/form-data",
            given=request.content_type,
        )
    try:
        part = await (await request.multipart()).next()
    except ValueError as error:
        raise HttpRefused(400, "E_INVALID", f"the form cannot be read: {error}") from error
    if not isinstance(part, BodyPartReader) or part.name != "file" or not part.filename:
        raise HttpRefused(400, "E_INVALID", "the form's first field must be a file", expected='name="file"')
    return part


async def _pieces(part: BodyPartReader) -> AsyncIterator[bytes]:
    try:
        while piece := await part.read_chunk(_PIECE_BYTES):
            yield piece
    except ValueError as error:
        raise HttpRefused(400, "E_INVALID", f"the form cannot be read: {error}") from error


ROUTES = (
    Route(
        method="GET",
        path="/assets",
        handler=list_assets,
        reply=AssetsReply,
        summary="What may be named, by name.",
    ),
    Route(method="GET", path="/assets/{name}", handler=read_asset, summary="The bytes of one, with ranges."),
    Route(
        method="POST",
        path="/uploads",
        handler=upload_asset,
        reply=UploadReply,
        status=201,
        summary="Bring a picture or clip: multipart/form-data with one field, file.",
    ),
)
