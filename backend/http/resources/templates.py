"""Workflows that ship with the program."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from ...wire.v1.bodies import TemplateReply, TemplatesReply
from ...wire.v1.records import Template
from ..refusal import HttpRefused
from ..route import Call, Route

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


async def list_templates(call: Call) -> TemplatesReply:
    found = await asyncio.to_thread(_read_all, call.services.templates_dir)
    return TemplatesReply(templates=tuple(template for template, _ in found))


async def read_template(call: Call) -> TemplateReply:
    name = call.segment("name")
    path = call.services.templates_dir / f"{name}.json"
    if not _NAME.fullmatch(name) or not await asyncio.to_thread(path.is_file):
        raise HttpRefused(404, "E_NOT_FOUND", f"a template was expected, got {name[:80]!r}")
    template, document = await asyncio.to_thread(_read, path)
    return TemplateReply(template=template, document=document)


def _read_all(folder: Path) -> list[tuple[Template, dict[str, Any]]]:
    return [_read(path) for path in sorted(folder.glob("*.json"))]


def _read(path: Path) -> tuple[Template, dict[str, Any]]:
    document = json.loads(path.read_text(encoding="utf-8"))
    title = document.get("title") or path.stem
    description = document.get("ext", {}).get("description", "")
    return Template(name=path.stem, title=title, description=description), document


ROUTES = (
    Route(
        method="GET",
        path="/templates",
        handler=list_templates,
        reply=TemplatesReply,
        summary="The workflows that ship.",
    ),
    Route(
        method="GET",
        path="/templates/{name}",
        handler=read_template,
        reply=TemplateReply,
        summary="One of them.",
    ),
)
