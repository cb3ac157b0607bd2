"""The page of codes, from the lists of the compiler, the server and the engine."""

from __future__ import annotations

from collections.abc import Mapping

from rushes.backend.engine.failures import CODES as JOB_CODES
from rushes.backend.wire.v1.error_codes import ERROR_CODES
from rushes.compiler.ir.diagnostics import CODES as WORKFLOW_CODES

HEAD = """# Codes

Written by `python -m docs` from the lists in the code; edit those.

Every error, warning and note carries a code. Clients branch on it; the message beside it is for a person and
may change. A message says what was expected, then what came, and a diagnostic names the node and the param or
socket it is about. `E_` is an error: nothing runs, or the job ends. `W_` is a warning, `N_` a note: the job
runs.
"""
WORKFLOW = """
## Of a workflow

Found by the compiler, before anything runs. `POST /api/v1/compile` and `POST /api/v1/jobs` answer them, the
editor shows them on the node, and the command line writes them to standard error and ends with code 2.
"""
REQUEST = """
## Of a request, a connection, a command

Answered by the server, or raised by the client and the command line.
"""
JOB = """
## Of a job

A job that ends with one of these is `failed`; the others go on.
"""


def render() -> str:
    """The page; a code stands in each chapter whose room uses it."""
    chapters = ((WORKFLOW, WORKFLOW_CODES), (REQUEST, ERROR_CODES), (JOB, JOB_CODES))
    return HEAD + "".join(title + _table(codes) for title, codes in chapters)


def _table(codes: Mapping[str, str]) -> str:
    rows = "".join(f"| `{code}` | {meaning} |\n" for code, meaning in codes.items())
    return f"\n| code | means |\n|---|---|\n{rows}"
