"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import aiohttp

from ..wire.v1.bodies import (
    AdaptersReply,
    AssetsReply,
    CheckpointsReply,
    CompileReply,
    JobDetailReply,
    JobReply,
    JobsReply,
    TemplateReply,
    TemplatesReply,
    UploadReply,
)
from ..wire.v1.catalog import CatalogReply
from ..wire.v1.events import TERMINAL_EVENTS, Hello, WorkerBroken
from ..wire.v1.model import WireModel
from ..wire.v1.records import Artifact, JobState, SystemReply
from .refusal import ClientError, refused
from .stream import EventStream

DEFAULT_URL = "http://127.0.0.1:8190"
Reply = TypeVar("Reply", bound=WireModel)

_OVER: frozenset[JobState] = frozenset({"completed", "failed", "cancelled"})


class AsyncClient:
    """A server by its address; use it as `async with`.

    Errors: every method raises ClientError when the server refuses or cannot be reached; for a workflow that
    does not compile it carries the diagnostics.
    """

    def __init__(self, url: str = DEFAULT_URL, *, token: str | None = None) -> None:
        self._base = url.rstrip("/") + "/api/v1"
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> AsyncClient:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
        self._session = aiohttp.ClientSession(headers=self._headers, timeout=timeout)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open_session().close()

    async def nodes(self) -> CatalogReply:
        return await self._get(CatalogReply, "/nodes")

    async def models(self) -> CheckpointsReply:
        return await self._get(CheckpointsReply, "/models")

    async def adapters(self) -> AdaptersReply:
        return await self._get(AdaptersReply, "/adapters")

    async def system(self) -> SystemReply:
        return await self._get(SystemReply, "/system")

    async def assets(self) -> AssetsReply:
        return await self._get(AssetsReply, "/assets")

    async def templates(self) -> TemplatesReply:
        return await self._get(TemplatesReply, "/templates")

    async def template(self, name: str) -> TemplateReply:
        return await self._get(TemplateReply, f"/templates/{quote(name, safe='')}")

    async def compile(
        self, document: Mapping[str, Any], targets: Sequence[str] | None = None
    ) -> CompileReply:
        return await self._send(CompileReply, "POST", "/compile", json=_workflow_body(document, targets))

    async def submit(
        self,
        document: Mapping[str, Any],
        targets: Sequence[str] | None = None,
        *,
        chunk_encoding: Literal["jpeg", "rgb24"] = "jpeg",
    ) -> JobReply:
        body = _workflow_body(document, targets) | {"chunk_encoding": chunk_encoding}
        return await self._send(JobReply, "POST", "/jobs", json=body)

    async def job(self, job_id: str) -> JobDetailReply:
        return await self._get(JobDetailReply, f"/jobs/{job_id}")

    async def jobs(self, state: JobState | None = None) -> JobsReply:
        return await self._get(JobsReply, "/jobs" if state is None else f"/jobs?state={state}")

    async def cancel(self, job_id: str) -> JobReply:
        return await self._send(JobReply, "POST", f"/jobs/{job_id}/cancel")

    async def delete(self, job_id: str) -> None:
        await self._request("DELETE", f"/jobs/{job_id}")

    async def upload(self, path: Path, name: str | None = None) -> UploadReply:
        """Bring a picture or clip; the reply tells the name a workflow may use."""
        with path.open("rb") as file:
            form = aiohttp.FormData(quote_fields=False)
            form.add_field("file", file, filename=name or path.name)
            return await self._send(UploadReply, "POST", "/uploads", data=form)

    async def download(self, artifact: Artifact, path: Path) -> None:
        """Write the bytes to `path`, whole or not at all."""
        part = path.with_name(path.name + ".part")
        try:
            async with self._open_session().get(f"{self._base}/artifacts/{artifact.artifact_id}") as response:
                if response.status >= 400:
                    raise refused(response.status, await response.read())
                with part.open("wb") as file:
                    async for piece in response.content.iter_chunked(1 << 20):
                        await asyncio.to_thread(file.write, piece)
            part.replace(path)
        except aiohttp.ClientError as error:
            raise _unreachable(self._base, error) from error
        finally:
            part.unlink(missing_ok=True)

    def stream(self, since: int | None = None) -> EventStream:
        """Events, chunks and live control; use it as `async with`."""
        return EventStream(self._open_session(), f"{self._base}/events", since)

    async def wait(self, job_id: str) -> JobDetailReply:
        """The job once it is over. Errors: also E_WORKER_BROKEN, when it would wait for ever."""
        async with self.stream() as stream:
            await stream.subscribe(job_id)
            detail = await self.job(job_id)
            if detail.job.state in _OVER:
                return detail
            async for received in stream:
                message = received.message
                if isinstance(message, WorkerBroken):
                    raise ClientError("E_WORKER_BROKEN", message.message)
                if message.type in TERMINAL_EVENTS or isinstance(message, Hello):
                    detail = await self.job(job_id)
                    if detail.job.state in _OVER:
                        return detail
        raise ClientError("E_CONNECTION", "the events broke off")

    async def _get(self, model: type[Reply], path: str) -> Reply:
        return await self._send(model, "GET", path)

    async def _send(self, model: type[Reply], method: str, path: str, **options: Any) -> Reply:
        body = await self._request(method, path, **options)
        try:
            return model.model_validate_json(body)
        except ValueError as error:
            raise ClientError(
                "E_CONNECTION", f"{self._base} answered what this version does not know"
            ) from error

    async def _request(self, method: str, path: str, **options: Any) -> bytes:
        try:
            async with self._open_session().request(method, self._base + path, **options) as response:
                body = await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise _unreachable(self._base, error) from error
        if response.status >= 400:
            raise refused(response.status, body)
        return body

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("expected an open client: use it as `async with`")
        return self._session


def _workflow_body(document: Mapping[str, Any], targets: Sequence[str] | None) -> dict[str, Any]:
    return {"workflow": dict(document), "targets": None if targets is None else list(targets)}


def _unreachable(url: str, error: Exception) -> ClientError:
    return ClientError("E_CONNECTION", f"{url} cannot be reached: {error}")
