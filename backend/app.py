"""The only place that wires rooms together: settings in, a running server out."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from aiohttp import web

from rushes.nodes.catalog import load_catalog

from .artifacts.assets import AssetLibrary
from .artifacts.content import ContentStore
from .artifacts.finished import ArtifactStore
from .database import Database
from .http.access import LOOPBACK, AccessRules, guard
from .http.editor import add_safe_headers, mount_editor
from .http.errors import answer_errors
from .http.route import mount
from .http.services import Services
from .jobs import store
from .jobs.dispatcher import Dispatcher
from .jobs.event_log import EventLog
from .jobs.ports import JobWorker
from .jobs.workflow_store import WorkflowStore
from .present import present_artifact_event, present_snapshots
from .settings import Settings
from .submit import ModelFolders, Submitter
from .workers.worker import Worker, WorkerConfig
from .ws.endpoint import mount_events
from .ws.hub import Hub

BODY_BYTES_MAX = 17 << 20
"""A workflow of the compiler's largest size, and its envelope."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that listens; its worker may still be loading."""

    url: str
    dispatcher: Dispatcher


@asynccontextmanager
async def run_server(
    settings: Settings, make_worker: Callable[[Settings], JobWorker] | None = None
) -> AsyncIterator[RunningServer]:
    """A server in this process, while the context is open; leaving it waits for jobs, `drain_s` at most.

    Errors: DatabaseError for a data folder in use, OSError for an address in use, FileRefused for a shipped
    asset that is broken.
    """
    async with AsyncExitStack() as stack:
        database = await asyncio.to_thread(Database, settings.data_dir)
        stack.push_async_callback(asyncio.to_thread, database.close)
        listener = _listen(settings.host, settings.port)
        stack.callback(listener.close)
        content = await asyncio.to_thread(ContentStore, settings.data_dir / "content")
        assets = AssetLibrary(database, content, settings.shipped_assets_dir, settings.uploads)
        await assets.start()
        artifacts = ArtifactStore(database, content)
        log = EventLog(await database.run(partial(store.reserve, name="server_starts", count=1)) - 1)
        worker = (make_worker or _make_worker)(settings)
        runs_dir = await asyncio.to_thread(_empty_folder, settings.data_dir / "runs")
        dispatcher = Dispatcher(
            database, log, worker, _JobFiles(assets, artifacts), runs_dir=runs_dir, limits=settings.dispatch
        )
        hub = Hub(log, dispatcher)
        hub.start()
        stack.push_async_callback(hub.stop)
        app = _application(settings, _services(settings, database, dispatcher, assets, artifacts))
        mount_events(app, hub, dispatcher, partial(present_snapshots, dispatcher, artifacts))
        mount_editor(app, settings.static_dir)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=5.0)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await dispatcher.start()
        stack.push_async_callback(dispatcher.stop, settings.drain_s)
        await web.SockSite(runner, listener).start()
        yield RunningServer(_url(listener), dispatcher)


class _JobFiles:
    """The files jobs read and make, from the two stores that have them."""

    def __init__(self, assets: AssetLibrary, artifacts: ArtifactStore) -> None:
        self._assets = assets
        self._artifacts = artifacts

    async def locate(self, names: Collection[str]) -> Mapping[str, Path]:
        return await self._assets.locate(names)

    async def keep(self, header: Mapping[str, Any]) -> Mapping[str, Any]:
        return present_artifact_event(await self._artifacts.keep(header))

    async def forget(self, job_id: str) -> None:
        await self._artifacts.forget(job_id)


def _services(
    settings: Settings,
    database: Database,
    dispatcher: Dispatcher,
    assets: AssetLibrary,
    artifacts: ArtifactStore,
) -> Services:
    catalog = load_catalog()
    models = ModelFolders(settings.checkpoint_roots)
    program = f"rushes {version('rushes')}"
    return Services(
        version=version("rushes"),
        catalog=catalog,
        submitter=Submitter(catalog, models, assets, dispatcher, program=program),
        dispatcher=dispatcher,
        models=models,
        assets=assets,
        artifacts=artifacts,
        workflows=WorkflowStore(database),
        templates_dir=settings.templates_dir,
    )


def _application(settings: Settings, services: Services) -> web.Application:
    rules = AccessRules(
        hosts=LOOPBACK if settings.is_loopback else None, token=settings.token, origins=settings.origins
    )
    app = web.Application(middlewares=[answer_errors, guard(rules)], client_max_size=BODY_BYTES_MAX)
    app.on_response_prepare.append(add_safe_headers)
    mount(app, services)
    return app


def _make_worker(settings: Settings) -> JobWorker:
    return Worker(WorkerConfig(checkpoints=settings.checkpoint_roots, device=settings.device))


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=128)


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _empty_folder(path: Path) -> Path:
    """What earlier runs left behind is of no use."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path
