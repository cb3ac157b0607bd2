"""Writes the protocol as TypeScript.

`python -m rushes.backend.wire.export frontend/src/wire/` makes `api.ts` in that folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from .v1.commands import ClientMessage
from .v1.events import ServerEvent, ServerMessage
from .v1.model import WireModel
from .v1.schema import PREFIX, json_schema, wire_models

Schema = Mapping[str, Any]

_HEADER = """\
// Generated from backend/wire/v1 by `python -m rushes.backend.wire.export frontend/src/wire/`. Do not edit.

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };
"""
_SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def typescript() -> str:
    """The whole of `api.ts`."""
    schemas = json_schema()
    parts = [_HEADER]
    parts += [_interface(model.__name__, schemas[model.__name__]) for model in wire_models()]
    unions = {"ServerEvent": ServerEvent, "ServerMessage": ServerMessage, "ClientMessage": ClientMessage}
    parts += [_union(name, annotated) for name, annotated in unions.items()]
    return "\n".join(parts)


def main(arguments: Sequence[str]) -> int:
    """Writes `api.ts` into the folder named, or refuses with 2 when it is not one folder."""
    if len(arguments) != 1:
        sys.stderr.write("expected one folder to write api.ts into\n")
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "api.ts").write_text(typescript(), encoding="utf-8")
    return 0


def _interface(name: str, schema: Schema) -> str:
    required = set(schema.get("required", ()))
    lines = [*_comment(schema.get("description"), ""), f"export interface {name} {{"]
    for field, part in schema.get("properties", {}).items():
        is_required = field in required or "const" in part
        lines += _comment(part.get("description"), "  ")
        lines.append(f"  {field}{'' if is_required else '?'}: {_type(part)};")
    return "\n".join([*lines, "}", ""])


def _union(name: str, annotated: object) -> str:
    members = "".join(f"\n  | {model.__name__}" for model in _members(annotated))
    return f"export type {name} ={members};\n"


def _members(part: Any) -> Iterator[type[WireModel]]:
    if isinstance(part, type) and issubclass(part, WireModel):
        yield part
        return
    for inner in get_args(part):
        yield from _members(inner)


def _type(part: Schema) -> str:
    if "$ref" in part:
        target = str(part["$ref"]).removeprefix(PREFIX)
        return "JsonValue" if target == "JsonValue" else target
    if "const" in part:
        return json.dumps(part["const"])
    if "enum" in part:
        return " | ".join(json.dumps(value) for value in part["enum"])
    if "anyOf" in part:
        return " | ".join(dict.fromkeys(_type(option) for option in part["anyOf"]))
    if part.get("type") == "array":
        return f"ReadonlyArray<{_type(part['items'])}>" if "items" in part else "ReadonlyArray<JsonValue>"
    if part.get("type") == "object":
        values = part.get("additionalProperties", True)
        return f"Record<string, {_type(values) if isinstance(values, dict) else 'JsonValue'}>"
    return _SCALARS[part["type"]] if "type" in part else "JsonValue"


def _comment(text: str | None, indent: str) -> list[str]:
    if not text:
        return []
    lines = text.splitlines()
    if len(lines) == 1:
        return [f"{indent}/** {lines[0]} */"]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
