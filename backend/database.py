"""The server's SQLite file: one thread, one transaction at a time, and one server per data folder."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    insert,
    select,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

SCHEMA_VERSION = "1"
T = TypeVar("T")

metadata = MetaData()
"""All tables of the file. Rooms add theirs by declaring them."""

meta = Table(
    "meta", metadata, Column("key", String, primary_key=True), Column("value", String, nullable=False)
)


class DatabaseError(RuntimeError):
    """The data folder cannot be used; the message says why."""


class Database:
    """Transactions on the file, run one after another in a thread of its own.

    Errors: DatabaseError from the constructor when another server holds the folder, or another version wrote
    it.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _hold(folder / "server.lock")
        self._engine = _open(folder / "rushes.sqlite")
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="database")
        try:
            with self._engine.begin() as connection:
                metadata.create_all(connection)
                _check_version(connection)
        except DatabaseError:
            self.close()
            raise

    async def run(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns, its changes committed; when it raises, nothing was changed."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._transact, work)

    def close(self) -> None:
        """Wait for what is under way, then let the folder go."""
        self._thread.shutdown(wait=True)
        self._engine.dispose()
        self._lock.close()

    def _transact(self, work: Callable[[Connection], T]) -> T:
        with self._engine.begin() as connection:
            return work(connection)


def _open(path: Path) -> Engine:
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def configure(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")
            cursor.execute("PRAGMA foreign_keys=ON")

    return engine


def _hold(path: Path) -> sqlite3.Connection:
    """An exclusive lock that ends with the process, on every system SQLite runs on."""
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        connection.close()
        raise DatabaseError(
            f"the data folder must not be in use, but another server holds {path.parent}"
        ) from error
    return connection


def _check_version(connection: Connection) -> None:
    found = connection.execute(select(meta.c.value).where(meta.c.key == "schema_version")).scalar()
    if found is None:
        connection.execute(insert(meta).values(key="schema_version", value=SCHEMA_VERSION))
    elif found != SCHEMA_VERSION:
        raise DatabaseError(f"the data folder must have schema version {SCHEMA_VERSION}, got {found}")
