"""What commands print."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..client import ClientError
from ..wire.v1.diagnostics import Diagnostic
from .refusal import CommandRefused


def print_json(value: Mapping[str, Any]) -> None:
    """One object, on one line."""
    print_lines([json.dumps(value, ensure_ascii=False)])


def print_lines(lines: Iterable[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def warn_lines(lines: Iterable[str]) -> None:
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    sys.stderr.flush()


def describe(found: Diagnostic) -> str:
    """`error E_CYCLE at mask.source: ...`, one line."""
    place = ".".join(part for part in (found.node_id, found.param) if part is not None)
    at = f" at {place}" if place else ""
    hint = "" if found.suggestion is None else f" (try {found.suggestion!r})"
    return f"{found.severity} {found.code}{at}: {found.message}{hint}"


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns lined up, two spaces between."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))] if rows else []
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def as_refusal(error: ClientError) -> CommandRefused:
    """A workflow or file that is not valid is 2; a server that fails or is not there is 1."""
    is_invalid = error.status is not None and 400 <= error.status < 500 and error.status not in (401, 403)
    lines = [describe(found) for found in error.diagnostics]
    return CommandRefused(lines or [f"error {error.code}: {error}"], 2 if is_invalid else 1)
