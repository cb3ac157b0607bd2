"""Text to document: what JSON allows and we refuse is found here, before anything looks inside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from rushes.compiler.ir.diagnostics import Diagnostic

DOCUMENT_BYTES = 16 * 2**20
DOCUMENT_DEPTH = 64


def parse_document(data: str | bytes) -> tuple[Mapping[str, Any] | None, tuple[Diagnostic, ...]]:
    """Parse the text of a workflow file. Never raises: what is wrong comes back as one diagnostic."""
    if len(data) > DOCUMENT_BYTES:
        return _refused("E_TOO_LARGE", f"a document has at most {DOCUMENT_BYTES} bytes, got {len(data)}")
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data.removeprefix("\ufeff")
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        return _refused("E_MALFORMED", f"expected UTF-8 text, got another byte at {error.start}")
    except json.JSONDecodeError as error:
        return _refused(
            "E_MALFORMED", f"expected JSON, got {error.msg} at line {error.lineno} column {error.colno}"
        )
    except RecursionError:
        return _too_deep()
    except ValueError as error:  # a constant, a double key, or an integer of thousands of digits
        return _refused("E_MALFORMED", str(error))
    if not isinstance(document, dict):
        return _refused("E_MALFORMED", f"expected a JSON object, got {type(document).__name__}")
    return (document, ()) if is_shallow(document, DOCUMENT_DEPTH) else _too_deep()


def is_shallow(document: object, limit: int) -> bool:
    """True if no value lies deeper than `limit` containers."""
    level: list[object] = [document]
    for _ in range(limit):
        level = [item for container in level for item in _items(container)]
        if not level:
            return True
    return not any(isinstance(item, dict | list) for item in level)


def _items(container: object) -> list[object]:
    if isinstance(container, dict):
        return list(container.values())
    return container if isinstance(container, list) else []


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        double = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"expected each key once in an object, got {double!r} twice")
    return found


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"expected a finite number, got {constant}")


def _refused(code: str, message: str) -> tuple[None, tuple[Diagnostic, ...]]:
    return None, (Diagnostic(code, "error", message),)


def _too_deep() -> tuple[None, tuple[Diagnostic, ...]]:
    return _refused("E_TOO_LARGE", f"a document nests at most {DOCUMENT_DEPTH} deep, got more")
