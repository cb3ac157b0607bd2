"""Bytes by their hash."""

import hashlib
from pathlib import Path

from rushes.backend.artifacts.content import ContentStore


def put(store: ContentStore, data: bytes) -> str:
    with store.incoming() as path:
        path.write_bytes(data)
        return store.take(path)


def test_equal_contents_are_kept_once_under_their_hash(tmp_path: Path):
    store = ContentStore(tmp_path)
    first, second = put(store, b"abc"), put(store, b"abc")
    assert first == second == hashlib.sha256(b"abc").hexdigest()
    assert store.path(first).read_bytes() == b"abc"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [store.path(first)]


def test_a_file_that_was_not_taken_leaves_nothing(tmp_path: Path):
    store = ContentStore(tmp_path)
    with store.incoming() as path:
        path.write_bytes(b"half")
    assert [found for found in tmp_path.rglob("*") if found.is_file()] == []


def test_what_a_crash_left_half_written_is_removed_at_the_next_start(tmp_path: Path):
    ContentStore(tmp_path)
    (tmp_path / "incoming" / "left").write_bytes(b"half")
    ContentStore(tmp_path)
    assert not (tmp_path / "incoming" / "left").exists()


def test_removing_what_is_not_there_is_fine(tmp_path: Path):
    store = ContentStore(tmp_path)
    sha256 = put(store, b"abc")
    store.remove(sha256)
    store.remove(sha256)
    assert not store.has(sha256)
