"""Pictures and clips a workflow may name: shipped or uploaded, under one flat set of names."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection, Row, insert, select

from rushes.compiler.ir.facts import AssetFacts

from ..database import Database
from .content import ContentStore, hash_file
from .media import MediaFacts, MediaLimits, probe
from .refusal import FileRefused
from .tables import assets

_NAME = re.compile(r"[^\x00-\x1f\x7f/\\:*?\"<>|.][^\x00-\x1f\x7f/\\:*?\"<>|]{0,119}")


@dataclass(frozen=True, slots=True)
class AssetRecord:
    """One asset and where its bytes are."""

    asset: str
    origin: Literal["shipped", "upload"]
    path: Path
    sha256: str
    size_bytes: int
    media: MediaFacts

    def facts(self) -> AssetFacts:
        """What the compiler is told."""
        media = self.media
        return AssetFacts(
            asset=self.asset,
            kind=media.kind,
            width_px=media.width_px,
            height_px=media.height_px,
            frame_count=media.frame_count,
            fps=media.fps,
            content_id=self.sha256,
        )


@dataclass(frozen=True, slots=True)
class UploadLimits:
    bytes_max: int = 512 << 20
    media: MediaLimits = field(default_factory=MediaLimits)


class AssetNotFound(LookupError):
    """No asset of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"a known asset was expected, got {name!r}")


class AssetLibrary:
    """Assets by name. A shipped name is never taken over by an upload."""

    def __init__(
        self, database: Database, content: ContentStore, shipped: Path, limits: UploadLimits = UploadLimits()
    ) -> None:
        self._database = database
        self._content = content
        self._shipped_folder = shipped
        self._shipped: dict[str, AssetRecord] = {}
        self._limits = limits
        self._clock: Callable[[], float] = time.time

    @property
    def limits(self) -> UploadLimits:
        return self._limits

    async def start(self) -> None:
        """Look at what ships. Errors: FileRefused when a shipped file is broken."""
        records = await asyncio.to_thread(_read_folder, self._shipped_folder, self._limits.media)
        self._shipped = {record.asset: record for record in records}

    async def list_all(self) -> list[AssetRecord]:
        """By name."""
        rows = await self._database.run(lambda connection: connection.execute(select(assets)).all())
        records = [*self._shipped.values(), *(self._record(row) for row in rows)]
        return sorted(records, key=lambda record: record.asset)

    async def find(self, name: str) -> AssetRecord:
        """Errors: AssetNotFound."""
        if name in self._shipped:
            return self._shipped[name]
        row = await self._database.run(partial(_row, name=name))
        if row is None:
            raise AssetNotFound(name)
        return self._record(row)

    async def locate(self, names: Collection[str]) -> Mapping[str, Path]:
        """Path of each. Errors: AssetNotFound."""
        return {name: (await self.find(name)).path for name in names}

    async def upload(self, name: str, pieces: AsyncIterable[bytes]) -> tuple[AssetRecord, bool]:
        """Take a file in; the asset, and whether it had to be renamed because another content has the name.

        The same content under the same name is the asset that is there already. Errors: FileRefused.
        """
        check_name(name)
        with self._content.incoming() as path:
            await self._receive(path, pieces)
            media = await asyncio.to_thread(probe, path, self._limits.media)
            size_bytes = path.stat().st_size
            async with self._content.changing:
                sha256 = await asyncio.to_thread(self._content.take, path)
                return await self._register(name, sha256, size_bytes, media)

    async def _register(
        self, name: str, sha256: str, size_bytes: int, media: MediaFacts
    ) -> tuple[AssetRecord, bool]:
        for candidate in _candidates(name):
            try:
                found = await self.find(candidate)
            except AssetNotFound:
                await self._insert(candidate, sha256, size_bytes, media)
                return await self.find(candidate), candidate != name
            if found.sha256 == sha256:
                return found, candidate != name
        raise FileRefused("E_ASSET_NAME", "a name not yet used a thousand times", repr(name))

    async def _insert(self, name: str, sha256: str, size_bytes: int, media: MediaFacts) -> None:
        values = {
            "asset": name,
            "sha256": sha256,
            "kind": media.kind,
            "media_type": media.media_type,
            "width_px": media.width_px,
            "height_px": media.height_px,
            "frame_count": media.frame_count,
            "fps": media.fps,
            "size_bytes": size_bytes,
            "created_at": self._clock(),
        }
        await self._database.run(lambda connection: connection.execute(insert(assets).values(**values)))

    async def _receive(self, path: Path, pieces: AsyncIterable[bytes]) -> None:
        size = 0
        with path.open("wb") as file:
            async for piece in pieces:
                size += len(piece)
                if size > self._limits.bytes_max:
                    raise FileRefused("E_UPLOAD_TOO_LARGE", f"at most {self._limits.bytes_max} bytes", "more")
                await asyncio.to_thread(file.write, piece)

    def _record(self, row: Row[tuple[object, ...]]) -> AssetRecord:
        media = MediaFacts(row.kind, row.media_type, row.width_px, row.height_px, row.frame_count, row.fps)
        return AssetRecord(
            row.asset, "upload", self._content.path(row.sha256), row.sha256, row.size_bytes, media
        )


def check_name(name: str) -> None:
    """Errors: FileRefused with E_ASSET_NAME for anything that is more than the name of a file."""
    if not _NAME.fullmatch(name) or name.endswith((" ", ".")):
        raise FileRefused(
            "E_ASSET_NAME", "a file name of 1 to 120 characters without folders", repr(name[:200])
        )


def _candidates(name: str) -> list[str]:
    path = Path(name)
    return [name, *(f"{path.stem}-{number}{path.suffix}" for number in range(2, 1001))]


def _row(connection: Connection, name: str) -> Row[tuple[object, ...]] | None:
    return connection.execute(select(assets).where(assets.c.asset == name)).one_or_none()


def _read_folder(folder: Path, limits: MediaLimits) -> list[AssetRecord]:
    if not folder.is_dir():
        return []
    return [
        AssetRecord(path.name, "shipped", path, hash_file(path), path.stat().st_size, probe(path, limits))
        for path in sorted(folder.iterdir())
        if path.suffix.lower() in (".mp4", ".png", ".jpg", ".webp")
    ]
