"""The table of routes in the HTTP page, from the routes the server mounts."""

from __future__ import annotations

import re

from rushes.backend.http.route import find_routes
from rushes.backend.present import API

_TABLE = re.compile(r"(?m)^\| method \| path \|.*\n(?:^\|.*\n)*")


def render() -> str:
    """One row a route, the WebSocket last."""
    rows = ["| method | path | what it does |", "|---|---|---|"]
    for route in find_routes():
        query = "".join(f" `?{name}=`: {what}" for name, what in (route.query or {}).items())
        rows.append(f"| {route.method} | `{API}{route.path}` | {route.summary}{query} |")
    rows.append(f"| GET | `{API}/events` | The events WebSocket. |")
    return "\n".join(rows) + "\n"


def placed_in(page: str) -> str:
    """The page with its table of routes made anew."""
    return _TABLE.sub(lambda _: render(), page, count=1)
