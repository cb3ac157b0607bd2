"""Bytes by their hash: what is stored never changes, and appears whole or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_PIECE_BYTES = 1 << 20


class ContentStore:
    """Files under `root/ab/abcdef...`, named by the SHA-256 of what is in them.

    A file is written under `root/incoming` and moved into place in one step, so a crash leaves no half file
    under a hash. All methods block; call them in a thread. Whoever takes or removes holds `changing` until
    the row that names the content is written or gone, so that nothing is removed that was just named.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.changing = asyncio.Lock()
        self._incoming = root / "incoming"
        self._incoming.mkdir(parents=True, exist_ok=True)
        for leftover in self._incoming.iterdir():
            leftover.unlink()

    def path(self, sha256: str) -> Path:
        """Where the bytes are, or would be."""
        return self._root / sha256[:2] / sha256

    def has(self, sha256: str) -> bool:
        return self.path(sha256).is_file()

    @contextmanager
    def incoming(self) -> Iterator[Path]:
        """A path to write a new file to; what is still there at the end is removed."""
        path = self._incoming / secrets.token_hex(16)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def take(self, source: Path) -> str:
        """Move a file in, from any disk; its hash. Of equal contents one is kept."""
        sha256 = hash_file(source)
        if self.has(sha256):
            source.unlink()
            return sha256
        target = self.path(sha256)
        target.parent.mkdir(exist_ok=True)
        try:
            os.replace(source, target)
        except OSError:  # another disk: bring it over first
            with self.incoming() as near:
                _copy(source, near)
                os.replace(near, target)
            source.unlink()
        return sha256

    def remove(self, sha256: str) -> None:
        self.path(sha256).unlink(missing_ok=True)


def hash_file(path: Path) -> str:
    """SHA-256 as hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as reader, target.open("wb") as writer:
        for piece in _pieces(reader):
            writer.write(piece)
        writer.flush()
        os.fsync(writer.fileno())


def _pieces(reader: BinaryIO) -> Iterator[bytes]:
    while piece := reader.read(_PIECE_BYTES):
        yield piece
