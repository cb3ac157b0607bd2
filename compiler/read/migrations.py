"""Documents of older versions are brought to the latest one at the door, a numbered step at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.showing import show

Document = Mapping[str, Any]
Step = Callable[[Document], Document]


@dataclass(frozen=True, slots=True)
class Lineage:
    """The versions of one document format.

    `steps[n]` takes a document of version n to version n + 1. It gets the document without its schema,
    changes nothing in place, and keeps every key it does not know.
    """

    name: str
    latest: int
    steps: Mapping[int, Step] = field(default_factory=dict)

    @property
    def schema(self) -> str:
        return self.schema_of(self.latest)

    def schema_of(self, version: int) -> str:
        return f"{self.name}/{version}"

    def version_of(self, schema: object) -> int | None:
        """The version a schema names, None if it is none of this format."""
        found = (
            re.fullmatch(re.escape(self.name) + r"/([1-9]\d{0,8})", schema)
            if isinstance(schema, str)
            else None
        )
        return None if found is None else int(found[1])


WORKFLOW = Lineage("rushes.workflow", latest=1)


def migrate(
    document: Document, lineage: Lineage = WORKFLOW
) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """The document in the latest version, and a note for each step taken; itself where it is the latest.

    Errors: E_SCHEMA for another format, a newer version, or one that no step starts from.
    """
    given = document.get("schema")
    version = lineage.version_of(given)
    if version == lineage.latest:
        return document, ()
    if (
        version is None
        or version > lineage.latest
        or any(step not in lineage.steps for step in range(version, lineage.latest))
    ):
        return None, (_refusal(given, version, lineage),)
    body = {key: value for key, value in document.items() if key != "schema"}
    notes: list[Diagnostic] = []
    for step in range(version, lineage.latest):
        body = dict(lineage.steps[step](body))
        message = f"brought from {lineage.schema_of(step)} to {lineage.schema_of(step + 1)}"
        notes.append(Diagnostic("N_MIGRATED", "note", message, None, "schema"))
    return {"schema": lineage.schema, **body}, tuple(notes)


def _refusal(given: object, version: int | None, lineage: Lineage) -> Diagnostic:
    expected, shown = lineage.schema, show(given)
    message = f"schema: expected {expected}, got {shown}"
    if version is not None and version > lineage.latest:
        message = (
            f"expected {expected}, got {given}: the document was made by a newer Rushes; update to open it"
        )
    elif version is not None:
        message = f"expected {expected}, got {given}: nothing here reads a version that old"
    return Diagnostic("E_SCHEMA", "error", message, None, "schema", expected, shown)
