"""How a resource declares its routes; the OpenAPI document is made from the same declarations."""

from __future__ import annotations

import pkgutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TypeVar

from aiohttp import web

from ..present import API
from ..wire.v1.model import WireModel
from .reading import read_model
from .services import SERVICES, Services

Body = TypeVar("Body", bound=WireModel)


@dataclass(frozen=True, slots=True)
class Call:
    """One request, with what it may use."""

    request: web.Request
    services: Services

    def segment(self, name: str) -> str:
        """A part of the path."""
        return self.request.match_info[name]

    async def body(self, model: type[Body]) -> Body:
        """The JSON body. Errors: HttpRefused."""
        return await read_model(self.request, model)


Handler = Callable[[Call], Awaitable[WireModel | web.StreamResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation. `reply` None: it answers bytes, or nothing with 204."""

    method: str
    path: str
    handler: Handler
    summary: str
    body: type[WireModel] | None = None
    reply: type[WireModel] | None = None
    status: int = 200
    query: Mapping[str, str] | None = None
    """Name -> what it does."""


def find_routes() -> tuple[Route, ...]:
    """Every route of every resource, by listing the folder."""
    folder = import_module("rushes.backend.http.resources")
    names = sorted(module.name for module in pkgutil.iter_modules(folder.__path__))
    modules = [import_module(f"{folder.__name__}.{name}") for name in names]
    return tuple(route for module in modules for route in module.ROUTES)


def mount(app: web.Application, services: Services) -> None:
    """Add every resource under the API's prefix."""
    app[SERVICES] = services
    for route in find_routes():
        app.router.add_route(route.method, API + route.path, _serve(route))
        if route.method == "GET":
            app.router.add_route("HEAD", API + route.path, _serve(route))


def _serve(route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def serve(request: web.Request) -> web.StreamResponse:
        answer = await route.handler(Call(request, request.app[SERVICES]))
        if isinstance(answer, WireModel):
            return web.Response(
                text=answer.model_dump_json(), status=route.status, content_type="application/json"
            )
        return answer

    return serve
