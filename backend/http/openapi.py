"""The OpenAPI document, from the routes and the wire's models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..present import API
from ..wire.v1.model import WireModel
from ..wire.v1.schema import PREFIX, json_schema
from .route import Route

_SEGMENT = re.compile(r"{(\w+)}")


def openapi_document(routes: Sequence[Route], version: str) -> dict[str, Any]:
    """OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(API + route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Rushes", "version": version},
        "paths": paths,
        "components": {"schemas": json_schema()},
    }


def _operation(route: Route) -> dict[str, Any]:
    segments = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _SEGMENT.findall(route.path)
    ]
    queries = [
        {"name": name, "in": "query", "required": False, "description": text, "schema": {"type": "string"}}
        for name, text in (route.query or {}).items()
    ]
    operation: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "summary": route.summary,
        "parameters": [*segments, *queries],
        "responses": {
            str(route.status): _success(route),
            "4XX": {"description": "Refused.", "content": _content_by_name("ErrorReply")},
        },
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _content(route.body)}
    return operation


def _success(route: Route) -> dict[str, Any]:
    if route.reply is None:
        return {"description": route.summary}
    return {"description": route.summary, "content": _content(route.reply)}


def _content(model: type[WireModel]) -> dict[str, Any]:
    return _content_by_name(model.__name__)


def _content_by_name(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": PREFIX + name}}}
