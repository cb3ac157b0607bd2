"""A request that is refused."""

from __future__ import annotations

from ..wire.v1.diagnostics import Diagnostic, ErrorInfo, ErrorReply


class HttpRefused(Exception):
    """Ends a request with a status and an error body."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        expected: str | None = None,
        given: str | None = None,
        diagnostics: tuple[Diagnostic, ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        info = ErrorInfo(code=code, message=message, expected=expected, given=given)
        self.reply = ErrorReply(error=info, diagnostics=diagnostics)
