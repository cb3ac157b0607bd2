"""A command that cannot be carried out."""

from __future__ import annotations

from collections.abc import Sequence


class CommandRefused(Exception):
    """Ends the program with lines on stderr. Exit code 2: not valid; 1: it did not work."""

    def __init__(self, lines: Sequence[str], exit_code: int = 2) -> None:
        super().__init__("; ".join(lines))
        self.lines = tuple(lines)
        self.exit_code = exit_code


def refuse(code: str, message: str, *, exit_code: int = 2) -> CommandRefused:
    """One error, in the form of a diagnostic."""
    return CommandRefused([f"error {code}: {message}"], exit_code)
