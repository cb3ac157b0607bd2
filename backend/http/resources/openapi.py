"""This API, described."""

from __future__ import annotations

from aiohttp import web

from ..openapi import openapi_document
from ..route import Call, Route, find_routes


async def read_openapi(call: Call) -> web.StreamResponse:
    return web.json_response(openapi_document(find_routes(), call.services.version))


ROUTES = (
    Route(method="GET", path="/openapi.json", handler=read_openapi, summary="This document, OpenAPI 3.1."),
)
