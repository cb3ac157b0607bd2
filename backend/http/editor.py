"""The editor's built files, or a page that says how to build them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aiohttp import web

_POLICY = "; ".join(
    (
        "default-src 'self'",
        "connect-src 'self' ws: wss:",
        "img-src 'self' blob: data:",
        "media-src 'self' blob:",
        "worker-src 'self' blob:",
        "style-src 'self' 'unsafe-inline'",
        "font-src 'self' data:",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
_NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Rushes</title>
<body style="font: 16px/1.5 system-ui; max-width: 40em; margin: 4em auto; padding: 0 1em">
<h1>Rushes is running</h1>
<p>The editor is not built. From a checkout run <code>make run</code>, or
<code>cd frontend &amp;&amp; npm ci &amp;&amp; npm run build</code>, then reload this page.</p>
<p>The API is at <a href="/api/v1/system">/api/v1</a>.</p>
</body></html>
"""


def mount_editor(app: web.Application, static_dir: Path) -> None:
    """Serve `static_dir` at `/`, after every other route."""

    async def serve(request: web.Request) -> web.StreamResponse:
        path = await asyncio.to_thread(_resolve, static_dir, request.match_info["path"])
        if path is None:
            if request.match_info["path"] == "":
                return web.Response(text=_NOT_BUILT, content_type="text/html")
            raise web.HTTPNotFound
        is_hashed = path.parent.name == "assets"
        cache = "public, max-age=31536000, immutable" if is_hashed else "no-cache"
        return web.FileResponse(path, headers={"Cache-Control": cache, "Content-Security-Policy": _POLICY})

    app.router.add_get("/{path:.*}", serve)


async def add_safe_headers(_request: web.BaseRequest, response: web.StreamResponse) -> None:
    """No guessing of media types, no address of ours told to others."""
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Referrer-Policy", "no-referrer")


def _resolve(static_dir: Path, relative: str) -> Path | None:
    if "\0" in relative:
        return None
    root = static_dir.resolve()
    path = (root / (relative or "index.html")).resolve()
    return path if path.is_relative_to(root) and path.is_file() else None
