"""One run of a fragment on the server: bring its files, submit, follow to the end, fetch what was made."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from . import labels
from .declarations import Declaration
from .events import RESUMED, Event, EventStream
from .failure import RushesError
from .fragment import Fragment, MediaFile, merge
from .server import Place, Server, connect
from .settings import Settings

CANCEL_S = 3.0
OVER = frozenset({"completed", "failed", "cancelled"})
ENDINGS = frozenset(f"job.{state}" for state in OVER)
STEPPING = frozenset({"sampling", "rollout"})
"""Categories whose nodes take steps; the progress bar is made of theirs."""


Catalog = Mapping[str, Declaration]


class Watcher(Protocol):
    """Who looks on while a job runs."""

    def progressed(self, share: float) -> None: ...

    def previewed(self, pictures: tuple[bytes, ...]) -> None: ...


@dataclass(frozen=True, slots=True)
class Made:
    """A finished file, fetched. `fps` 0 for a picture."""

    path: Path
    media_type: str
    width_px: int
    height_px: int
    frame_count: int
    fps: float


@dataclass(frozen=True, slots=True)
class Order:
    """What to run, which of its nodes' file is wanted, the folder it goes to, and who looks on."""

    fragment: Fragment
    node_id: str
    folder: Path
    watcher: Watcher


@dataclass(frozen=True, slots=True)
class Outcome:
    """Files by node id. `failure`: why others are missing."""

    made: Mapping[str, Made]
    failure: str | None

    def of(self, node_id: str, title: str) -> Made:
        """Errors: RushesError when it was not made."""
        if node_id in self.made:
            return self.made[node_id]
        raise RushesError(self.failure or labels.nothing_made(title))


async def run(orders: Sequence[Order], settings: Settings, catalog: Catalog) -> Outcome:
    """Run all of them as one job, where what they share is there once. When this is cancelled, so is the job.

    Errors: RushesError for a server that cannot be reached, refuses or goes away.
    """
    fragment = merge(order.fragment for order in orders)
    async with connect(settings, placed(fragment, catalog)) as server:
        await server.get("/system")  # the plainest answer to whether one is there and lets us in
        await _bring(server, fragment)
        events = EventStream(server)
        await events.open()
        try:
            detail = await _run_job(server, events, fragment, [_Progress(order, catalog) for order in orders])
        finally:
            await events.close()
        return await _outcome(server, detail, {order.node_id: order.folder for order in orders})


def placed(fragment: Fragment, catalog: Catalog) -> Place:
    """Words for the nodes of a fragment."""
    titles = {node_id: labels.display_name(catalog[node.type_id].title) for node_id, node in fragment.nodes}

    def place(node_id: str | None) -> str | None:
        return None if node_id is None else titles.get(node_id, node_id)

    return place


async def _bring(server: Server, fragment: Fragment) -> None:
    """Upload the files the server does not have yet."""
    if not fragment.files:
        return
    assets = (await server.get("/assets"))["assets"]
    there = {(asset["asset"], asset["content_id"]) for asset in assets}
    for file in sorted(fragment.files, key=lambda file: file.name):
        if (file.name, file.sha256) not in there:
            await _upload(server, file)


async def _upload(server: Server, file: MediaFile) -> None:
    if not file.path.is_file():
        raise RushesError(labels.file_gone(file.name))
    name = await server.upload(file.path, file.name)
    if name != file.name:
        raise RushesError(labels.refused("another file has this name", file.name, name))


async def _run_job(
    server: Server, events: EventStream, fragment: Fragment, watching: Sequence[_Progress]
) -> Mapping[str, Any]:
    """The job as it is when it is over."""
    job = await server.submit(fragment.to_document(labels.DOCUMENT_TITLE))
    job_id = job["job_id"]
    try:
        _check_ends(job)
        async for event in events.follow(job_id):
            for progress in watching:
                progress.note(event)
            detail = await _ended(server, job_id, event)
            if detail is not None:
                return detail
    except (asyncio.CancelledError, RushesError):
        await _cancel(server, job_id)
        raise
    raise RushesError(labels.lost(server.settings.url))


def _check_ends(job: Mapping[str, Any]) -> None:
    for rollout in job["rollouts"]:
        if rollout["chunk_count"] is None:
            raise RushesError(labels.endless())


async def _ended(server: Server, job_id: str, event: Event) -> Mapping[str, Any] | None:
    """The job once it is over, None before. Errors: RushesError when it never will be."""
    if event.type == "worker.broken":
        raise RushesError(labels.worker_broken(event.header["message"]))
    if event.type == RESUMED:
        jobs = await server.get("/jobs?limit=1000")
        if all(job["job_id"] != job_id for job in jobs["jobs"]):
            raise RushesError(labels.forgotten(server.settings.url))
    elif event.type not in ENDINGS:
        return None
    detail: Mapping[str, Any] = await server.get(f"/jobs/{job_id}")
    return detail if detail["job"]["state"] in OVER else None


async def _outcome(server: Server, detail: Mapping[str, Any], folders: Mapping[str, Path]) -> Outcome:
    """A job of which a part failed still has the files of the rest."""
    made = {}
    for artifact in detail["artifacts"]:
        node_id = artifact["node_id"]
        if node_id in folders:
            made[node_id] = await _fetch(server, artifact, folders[node_id])
    error = detail["error"]
    if error is not None:
        return Outcome(made, labels.failed(server.place(error["node_id"]), error["message"]))
    return Outcome(made, labels.cancelled() if detail["job"]["state"] == "cancelled" else None)


async def _cancel(server: Server, job_id: str) -> None:
    """As far as the server still listens; one that is over stays as it is."""
    with suppress(RushesError, asyncio.TimeoutError):
        await asyncio.wait_for(server.cancel(job_id), CANCEL_S)


async def _fetch(server: Server, artifact: Mapping[str, Any], folder: Path) -> Made:
    suffix = Path(artifact["name"]).suffix
    path = folder / f"{artifact['artifact_id'][:24]}{suffix}"
    if not path.is_file():
        await server.download(artifact["artifact_id"], path)
    return Made(
        path,
        artifact["media_type"],
        artifact["width_px"],
        artifact["height_px"],
        artifact["frame_count"],
        artifact["fps"] or 0.0,
    )


class _Progress:
    """For one order: the shares of its nodes that take steps, as one growing share, and their previews."""

    def __init__(self, order: Order, catalog: Catalog) -> None:
        self._watcher = order.watcher
        self._shares = {
            node_id: 0.0
            for node_id, node in order.fragment.nodes
            if any(out.type == "VIDEO" for out in catalog[node.type_id].outputs)
            and catalog[node.type_id].category in STEPPING
        }

    def note(self, event: Event) -> None:
        header = event.header
        if header.get("node_id") not in self._shares:
            return
        if event.type in ("preview.frame", "chunk.frames") and header["encoding"] == "jpeg":
            self._watcher.previewed(event.pictures)
        elif event.type == "node.finished":
            self._advance(header["node_id"], 1.0)
        elif event.type == "job.progress" and header["chunk_count"]:
            steps = header["step"] / header["step_count"] if header["step_count"] else 0.0
            self._advance(header["node_id"], (header["chunk_index"] + steps) / header["chunk_count"])

    def _advance(self, node_id: str, share: float) -> None:
        if share > self._shares[node_id]:
            self._shares[node_id] = min(share, 1.0)
            self._watcher.progressed(sum(self._shares.values()) / len(self._shares))
