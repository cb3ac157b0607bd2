"""Errors and compiler diagnostics, as every reply and event carries them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from .model import WireModel

Severity = Literal["error", "warning", "note"]


class Diagnostic(WireModel):
    """One finding of the compiler about one place of a workflow."""

    code: str = Field(description="Stable, e.g. E_OUT_OF_RANGE. Clients branch on this.")
    severity: Severity
    message: str = Field(description="For a person. May change between releases.")
    node_id: str | None = Field(description="The node to mark; null when it is about the document.")
    param: str | None = Field(description="Param or socket of that node.")
    expected: str | None
    given: str | None
    suggestion: JsonValue = Field(description="A value that would work, or null.")


class ErrorInfo(WireModel):
    """What went wrong, once."""

    code: str = Field(description="Stable, e.g. E_NOT_FOUND. Clients branch on this.")
    message: str = Field(description="For a person. May change between releases.")
    expected: str | None = None
    given: str | None = None


class JobError(WireModel):
    """Why a job failed."""

    code: str
    message: str
    node_id: str | None = Field(description="The node to mark red; null if none is to blame.")


class ErrorReply(WireModel):
    """Body of every reply with a status of 400 or more."""

    error: ErrorInfo
    diagnostics: tuple[Diagnostic, ...] = ()
