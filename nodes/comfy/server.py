"""One Rushes server over HTTP: every failure becomes a sentence a person can act on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from . import labels
from .failure import RushesError
from .settings import Settings

API = "/api/v1"
CONNECT_S = 5.0
SILENCE_S = 120.0
PIECE_BYTES = 1 << 18

Place = Callable[[str | None], str | None]
"""A node id of the document to words for it."""


@dataclass(frozen=True, slots=True)
class Server:
    """An open connection; made by `connect`."""

    session: aiohttp.ClientSession
    settings: Settings
    place: Place

    @property
    def base(self) -> str:
        return self.settings.url + API

    async def get(self, path: str) -> Any:
        return await self._json("GET", path)

    async def submit(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """The queued job. Errors: RushesError with every finding of the compiler."""
        reply = await self._json("POST", "/jobs", json={"workflow": document})
        job: Mapping[str, Any] = reply["job"]
        return job

    async def cancel(self, job_id: str) -> None:
        await self._json("POST", f"/jobs/{job_id}/cancel")

    async def upload(self, path: Path, name: str) -> str:
        """The name it has there: another one when other bytes had this one."""
        with path.open("rb") as file:
            form = aiohttp.FormData(quote_fields=False)
            form.add_field("file", file, filename=name)
            reply = await self._json("POST", "/uploads", data=form)
        return str(reply["asset"]["asset"])

    async def download(self, artifact_id: str, path: Path) -> None:
        """Whole or not at all."""
        part = path.with_name(path.name + ".part")

        async def read(response: aiohttp.ClientResponse) -> None:
            with part.open("wb") as file:
                async for piece in response.content.iter_chunked(PIECE_BYTES):
                    file.write(piece)
            part.replace(path)

        try:
            await self._request("GET", f"/artifacts/{artifact_id}", read)
        finally:
            part.unlink(missing_ok=True)

    async def _json(self, method: str, path: str, **options: Any) -> Any:
        body = await self._request(method, path, _read, **options)
        try:
            return json.loads(body)
        except ValueError as error:
            raise RushesError(labels.not_rushes(self.settings.url, 200)) from error

    async def _request(
        self,
        method: str,
        path: str,
        read: Callable[[aiohttp.ClientResponse], Awaitable[Any]],
        **options: Any,
    ) -> Any:
        url = self.base + path
        try:
            async with self.session.request(method, url, allow_redirects=False, **options) as response:
                if response.status >= 300:
                    raise self.refusal(response.status, await response.read())
                return await read(response)
        except aiohttp.ClientConnectorError as error:
            raise self.unreachable() from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise RushesError(labels.lost(self.settings.url)) from error

    def unreachable(self) -> RushesError:
        return RushesError(labels.unreachable(self.settings.url, str(self.settings.path)))

    def refusal(self, status: int, body: bytes) -> RushesError:
        """What an answer of 300 and above means."""
        if status == 401:
            return RushesError(labels.token_refused(self.settings.url, str(self.settings.path)))
        try:
            reply = json.loads(body)
            error = reply["error"]
            errors = [found for found in reply.get("diagnostics", ()) if found["severity"] == "error"]
            if errors:
                return RushesError(labels.invalid(list(self._findings(errors))))
            return RushesError(labels.refused(error["message"], error.get("expected"), error.get("given")))
        except (ValueError, KeyError, TypeError):
            return RushesError(labels.not_rushes(self.settings.url, status))

    def _findings(self, errors: Iterable[Mapping[str, Any]]) -> Iterable[str]:
        for found in errors:
            title = self.place(found["node_id"])
            suggestion = found["suggestion"]
            place = labels.DOCUMENT_TITLE if title is None else labels.where(title, found["param"])
            yield labels.finding(place, found["message"], None if suggestion is None else str(suggestion))


async def _read(response: aiohttp.ClientResponse) -> bytes:
    return await response.read()


@asynccontextmanager
async def connect(settings: Settings, place: Place) -> AsyncIterator[Server]:
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENCE_S)
    async with aiohttp.ClientSession(headers=settings.headers, timeout=timeout) as session:
        yield Server(session, settings, place)
