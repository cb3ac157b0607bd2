"""Artifacts: what jobs made, by job and by hash."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from ..database import Database
from .content import ContentStore
from .tables import artifacts, assets

_CARRIED = (
    "job_id",
    "node_id",
    "name",
    "media_type",
    "width_px",
    "height_px",
    "frame_count",
    "fps",
    "size_bytes",
    "latent_sha256",
)


@dataclass(frozen=True, slots=True)
class ArtifactRecord:
    """One output of one job. `fps` None: a picture."""

    sha256: str
    job_id: str
    node_id: str
    name: str
    media_type: str
    width_px: int
    height_px: int
    frame_count: int
    fps: float | None
    size_bytes: int
    latent_sha256: str | None


class ArtifactNotFound(LookupError):
    """No artifact of that id."""

    def __init__(self, sha256: str) -> None:
        super().__init__(f"a known artifact was expected, got {sha256!r}")


class ArtifactStore:
    """Takes finished files out of a job's folder and keeps them by content."""

    def __init__(self, database: Database, content: ContentStore) -> None:
        self._database = database
        self._content = content
        self._clock: Callable[[], float] = time.time

    async def keep(self, header: Mapping[str, Any]) -> ArtifactRecord:
        """Take over the file an `artifact.created` of the worker names.

        Errors: OSError when it cannot be moved, or is not the content it was said to be.
        """
        values = {name: header[name] for name in _CARRIED}
        values["fps"] = values["fps"] or None
        async with self._content.changing:
            sha256 = await asyncio.to_thread(self._content.take, Path(header["path"]))
            if sha256 != header["sha256"]:
                raise OSError(f"{header['name']} was expected to hash to {header['sha256']}, got {sha256}")
            row = {**values, "sha256": sha256, "created_at": self._clock()}
            await self._database.run(lambda connection: connection.execute(insert(artifacts).values(**row)))
        return ArtifactRecord(sha256=sha256, **values)

    async def list_of(self, job_ids: Collection[str]) -> list[ArtifactRecord]:
        """Of these jobs, in the order they were made."""
        query = select(artifacts).where(artifacts.c.job_id.in_(job_ids)).order_by(artifacts.c.serial)
        rows = await self._database.run(lambda connection: connection.execute(query).all())
        return [_record(row) for row in rows]

    async def find(self, sha256: str) -> tuple[ArtifactRecord, Path]:
        """The newest of that content, and its bytes. Errors: ArtifactNotFound."""
        query = (
            select(artifacts).where(artifacts.c.sha256 == sha256).order_by(artifacts.c.serial.desc()).limit(1)
        )
        row = await self._database.run(lambda connection: connection.execute(query).one_or_none())
        if row is None or not self._content.has(sha256):
            raise ArtifactNotFound(sha256)
        return _record(row), self._content.path(sha256)

    async def forget(self, job_id: str) -> None:
        """Drop the artifacts of a job; bytes nothing else names are removed."""
        async with self._content.changing:
            for sha256 in await self._database.run(partial(_forget, job_id=job_id)):
                await asyncio.to_thread(self._content.remove, sha256)


def _forget(connection: Connection, job_id: str) -> list[str]:
    mine = set(connection.execute(select(artifacts.c.sha256).where(artifacts.c.job_id == job_id)).scalars())
    connection.execute(delete(artifacts).where(artifacts.c.job_id == job_id))
    used = set(connection.execute(select(artifacts.c.sha256).where(artifacts.c.sha256.in_(mine))).scalars())
    used |= set(connection.execute(select(assets.c.sha256).where(assets.c.sha256.in_(mine))).scalars())
    return sorted(mine - used)


def _record(row: Row[Any]) -> ArtifactRecord:
    values = {name: getattr(row, name) for name in _CARRIED}
    return ArtifactRecord(sha256=row.sha256, **values)
