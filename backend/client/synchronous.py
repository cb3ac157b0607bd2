"""The client for programs without asyncio: the same calls, each waiting for its answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

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
from ..wire.v1.events import ChunkFrames
from ..wire.v1.records import Artifact, JobState, SystemReply
from .asynchronous import DEFAULT_URL, AsyncClient
from .stream import EventStream, Received

T = TypeVar("T")


class Client:
    """A server by its address; use it as `with`. Errors: ClientError."""

    def __init__(self, url: str = DEFAULT_URL, *, token: str | None = None) -> None:
        self._client = AsyncClient(url, token=token)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rushes client", daemon=True)

    def __enter__(self) -> Client:
        self._thread.start()
        self._run(self._client.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._client.__aexit__(kind, error, trace))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def nodes(self) -> CatalogReply:
        return self._run(self._client.nodes())

    def models(self) -> CheckpointsReply:
        return self._run(self._client.models())

    def adapters(self) -> AdaptersReply:
        return self._run(self._client.adapters())

    def system(self) -> SystemReply:
        return self._run(self._client.system())

    def assets(self) -> AssetsReply:
        return self._run(self._client.assets())

    def templates(self) -> TemplatesReply:
        return self._run(self._client.templates())

    def template(self, name: str) -> TemplateReply:
        return self._run(self._client.template(name))

    def compile(self, document: Mapping[str, Any], targets: Sequence[str] | None = None) -> CompileReply:
        return self._run(self._client.compile(document, targets))

    def submit(
        self,
        document: Mapping[str, Any],
        targets: Sequence[str] | None = None,
        *,
        chunk_encoding: Literal["jpeg", "rgb24"] = "jpeg",
    ) -> JobReply:
        return self._run(self._client.submit(document, targets, chunk_encoding=chunk_encoding))

    def job(self, job_id: str) -> JobDetailReply:
        return self._run(self._client.job(job_id))

    def jobs(self, state: JobState | None = None) -> JobsReply:
        return self._run(self._client.jobs(state))

    def cancel(self, job_id: str) -> JobReply:
        return self._run(self._client.cancel(job_id))

    def delete(self, job_id: str) -> None:
        self._run(self._client.delete(job_id))

    def upload(self, path: Path, name: str | None = None) -> UploadReply:
        return self._run(self._client.upload(path, name))

    def download(self, artifact: Artifact, path: Path) -> None:
        self._run(self._client.download(artifact, path))

    def wait(self, job_id: str) -> JobDetailReply:
        return self._run(self._client.wait(job_id))

    def events(self, job_id: str, since: int | None = None, *, acks: bool = False) -> Iterator[Received]:
        """Events of a job, or of all with `*`, for ever.

        With `acks` a chunk is acknowledged when the loop comes back for what follows it.
        """
        stream: EventStream = self._run(self._open(job_id, since, acks))
        try:
            while True:
                received = self._run(stream.__anext__())
                yield received
                message = received.message
                if acks and isinstance(message, ChunkFrames) and message.is_last_part:
                    self._run(stream.ack(message))
        finally:
            self._run(stream.close())

    async def _open(self, job_id: str, since: int | None, acks: bool) -> EventStream:
        stream = await self._client.stream(since).__aenter__()
        await stream.subscribe(job_id, acks=acks)
        return stream

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
