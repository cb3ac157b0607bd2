"""Bodies and queries, read within bounds."""

from __future__ import annotations

from typing import TypeVar

from aiohttp import web
from pydantic import ValidationError

from rushes.compiler.read.text import parse_document

from ..present import present_diagnostics
from ..wire.v1.model import WireModel
from .refusal import HttpRefused

Model = TypeVar("Model", bound=WireModel)


async def read_model(request: web.Request, model: type[Model]) -> Model:
    """The JSON body as a message.

    Errors: HttpRefused 415 for another content type, 413 for too many bytes, 400 for what is no JSON
    (malformed, too deep, a key twice) and for a field that is missing, unknown or wrong.
    """
    if request.content_type != "application/json":
        raise HttpRefused(
            415,
            "E_INVALID",
            "the body must be JSON",
            expected="Content-Type: application/json",
            given=request.content_type,
        )
    document, diagnostics = parse_document(await request.read())
    if document is None:
        found = present_diagnostics(each.to_json() for each in diagnostics)
        raise HttpRefused(400, found[0].code, found[0].message, diagnostics=found)
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise invalid_field(error) from None


def invalid_field(error: ValidationError) -> HttpRefused:
    """Names the first bad field and what it should be."""
    first = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    return HttpRefused(400, "E_INVALID", f"{path}: {first['msg']}", expected=first["msg"], given=path)


def read_whole_number(request: web.Request, name: str, *, default: int, maximum: int) -> int:
    """A number from 1 to `maximum` in the query. Errors: HttpRefused."""
    text = request.query.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= maximum:
        raise HttpRefused(
            400, "E_INVALID", f"query {name}", expected=f"a number from 1 to {maximum}", given=text[:80]
        )
    return int(text)
