"""The node types, and what a workflow of them may look like."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from rushes.compiler.read.schema import workflow_schema

from ...wire.v1.catalog import CatalogReply
from ..route import Call, Route


async def read_nodes(call: Call) -> web.StreamResponse:
    return _with_etag(call, call.services.catalog.to_json(), "application/json")


async def read_workflow_schema(call: Call) -> web.StreamResponse:
    return _with_etag(call, workflow_schema(call.services.catalog), "application/schema+json")


def _with_etag(call: Call, document: Mapping[str, Any], content_type: str) -> web.StreamResponse:
    body = json.dumps(document, separators=(",", ":")).encode()
    etag = hashlib.sha256(body).hexdigest()[:32]
    response = web.Response(body=body, content_type=content_type)
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
    Route(
        method="GET",
        path="/workflow-schema",
        handler=read_workflow_schema,
        summary="JSON Schema of a workflow of these node types.",
    ),
)
