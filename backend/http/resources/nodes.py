"""The node types."""

from __future__ import annotations

import hashlib
import json

from aiohttp import web

from ...wire.v1.catalog import CatalogReply
from ..route import Call, Route


async def read_nodes(call: Call) -> web.StreamResponse:
    body = json.dumps(call.services.catalog, separators=(",", ":")).encode()
    etag = hashlib.sha256(body).hexdigest()[:32]
    response = web.Response(body=body, content_type="application/json")
    response.etag = etag
    if any(known.value == etag for known in call.request.if_none_match or ()):
        return web.Response(status=304, headers={"ETag": f'"{etag}"'})
    return response


ROUTES = (
    Route(
        method="GET",
        path="/nodes",
        handler=read_nodes,
        reply=CatalogReply,
        summary="The catalog: every node type with its sockets and params.",
    ),
)
