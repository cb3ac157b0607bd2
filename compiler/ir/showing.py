"""Values of others, made short and safe to put in a message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SHOWN_LENGTH = 60
WIDE_INTEGER_BITS = 128
COMPARED_LENGTH = 64


def show(value: object) -> str:
    """A value as one short line. Never fails, whatever it is given."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int) and value.bit_length() > WIDE_INTEGER_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str):
        return repr(value if len(value) <= SHOWN_LENGTH else value[: SHOWN_LENGTH - 3] + "...")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        return f"an object of {len(value)} keys"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)} items"
    return f"a {type(value).__name__}"


def label(name: str) -> str:
    """A name of a param or socket as it is, or escaped and short where it could not be printed."""
    return name if name.isprintable() and len(name) <= SHOWN_LENGTH else show(name)


def closest(given: str, known: Iterable[str]) -> str | None:
    """The known name most like what was given, if one is alike at all."""
    if len(given) > COMPARED_LENGTH:
        return None
    found = difflib.get_close_matches(given, list(known), n=1, cutoff=0.6)
    return found[0] if found else None
