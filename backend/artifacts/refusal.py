"""Why a file is not taken."""

from __future__ import annotations


class FileRefused(ValueError):
    """A file, or the name of one, that is not taken. `code` is one of the wire's error codes."""

    def __init__(self, code: str, expected: str, given: str) -> None:
        super().__init__(f"expected {expected}, got {given}")
        self.code = code
        self.expected = expected
        self.given = given
