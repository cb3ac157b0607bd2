"""What a client raises."""

from __future__ import annotations

from ..wire.v1.diagnostics import Diagnostic, ErrorReply


class ClientError(RuntimeError):
    """The server refused, or could not be reached. `code` as in the wire's error bodies."""

    def __init__(
        self, code: str, message: str, *, status: int | None = None, diagnostics: tuple[Diagnostic, ...] = ()
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.diagnostics = diagnostics


def refused(status: int, body: bytes) -> ClientError:
    """The error a reply of 400 or more stands for."""
    try:
        reply = ErrorReply.model_validate_json(body)
    except ValueError:
        return ClientError("E_CONNECTION", f"expected a Rushes server, got status {status}", status=status)
    error = reply.error
    hints = [
        f"expected {error.expected}" if error.expected else "",
        f"got {error.given}" if error.given else "",
    ]
    text = ", ".join([error.message, *(hint for hint in hints if hint and hint not in error.message)])
    return ClientError(error.code, text, status=status, diagnostics=reply.diagnostics)
