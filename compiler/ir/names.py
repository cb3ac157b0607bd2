"""Names a workflow may give to files and sessions: they must be safe on every disk."""

from __future__ import annotations

import re

from rushes.compiler.ir.lowering import Lowering

_ALLOWED = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]*")
_OTHER = re.compile(r"[^A-Za-z0-9 ._-]+")


def is_file_name(name: str) -> bool:
    """Letters, digits, space, dot, dash, underscore; a letter or digit first, no dot or space last."""
    return bool(_ALLOWED.fullmatch(name)) and not name.endswith((".", " "))


def nearest_file_name(name: str) -> str:
    return _OTHER.sub("-", name).strip(" .-_") or "video"


def check_file_name(to: Lowering, name: str, *, param: str = "name") -> None:
    """Errors: E_PARAM_VALUE with the nearest name that would do."""
    if not is_file_name(name):
        expected = "letters, digits, space, dot, dash and underscore, starting with a letter or digit"
        raise to.error(
            "E_PARAM_VALUE",
            f"a name has {expected}, got {name!r}",
            param=param,
            expected=expected,
            given=repr(name),
            suggestion=nearest_file_name(name),
        )
