"""Who may ask: Host, Origin and token, for HTTP and for the WebSocket's first request."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

from .refusal import HttpRefused

COOKIE = "rushes_token"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class AccessRules:
    """`hosts`: names the server answers to, None for any (then a token is needed). `origins`: pages of other
    servers that may call this one, as `http://localhost:5173`."""

    hosts: frozenset[str] | None = LOOPBACK
    token: str | None = None
    origins: frozenset[str] = frozenset()


def guard(rules: AccessRules) -> Middleware:
    """A page of another site must neither read from this server nor start anything on it."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        _check_host(request, rules)
        _check_origin(request, rules)
        if request.path.startswith("/api/"):
            _check_token(request, rules)
        elif request.path == "/" and rules.token is not None and "token" in request.query:
            return _keep_token(request, rules.token)
        return await handler(request)

    return check


def _check_host(request: web.Request, rules: AccessRules) -> None:
    name = _hostname(request.headers.get("Host", ""))
    if not name or (rules.hosts is not None and name not in rules.hosts):
        allowed = "any name" if rules.hosts is None else ", ".join(sorted(rules.hosts))
        raise HttpRefused(403, "E_FORBIDDEN", "the Host is not this server's", expected=allowed, given=name)


def _check_origin(request: web.Request, rules: AccessRules) -> None:
    origin = request.headers.get("Origin")
    is_api = request.path.startswith("/api/")
    if origin is None:
        if is_api and request.headers.get("Sec-Fetch-Site") == "cross-site":
            raise HttpRefused(403, "E_FORBIDDEN", "pages of other sites may not call this server")
        return
    if urlsplit(origin).netloc == request.headers["Host"] or origin in rules.origins:
        return
    raise HttpRefused(
        403,
        "E_FORBIDDEN",
        "the Origin is another site's",
        expected=request.headers["Host"],
        given=origin[:200],
    )


def _check_token(request: web.Request, rules: AccessRules) -> None:
    if rules.token is None:
        return
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    given = value if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")
    if not hmac.compare_digest(given.encode(), rules.token.encode()):
        raise HttpRefused(
            401, "E_UNAUTHORIZED", "the token is missing or wrong", expected="Authorization: Bearer TOKEN"
        )


def _keep_token(request: web.Request, token: str) -> web.StreamResponse:
    if not hmac.compare_digest(request.query["token"].encode(), token.encode()):
        raise HttpRefused(401, "E_UNAUTHORIZED", "the token is wrong")
    response = web.Response(status=303, headers={"Location": "/"})
    response.set_cookie(COOKIE, token, httponly=True, samesite="Strict", path="/")
    return response


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
