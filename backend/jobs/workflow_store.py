"""Saved workflows: every save is a new version, and nobody overwrites a version they have not seen."""

from __future__ import annotations

import json
import secrets
import string
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from ..database import Database
from .tables import workflow_versions, workflows

_ALPHABET = string.digits + string.ascii_lowercase


@dataclass(frozen=True, slots=True)
class WorkflowRecord:
    """A saved workflow without its document. Times are seconds since 1970, UTC."""

    workflow_id: str
    version: int
    title: str
    created_at: float
    updated_at: float


class WorkflowNotFound(LookupError):
    """No workflow, or no version of it, by that name."""


class VersionConflict(RuntimeError):
    """Somebody saved in between. `version` is the newest."""

    def __init__(self, expected: int, version: int) -> None:
        super().__init__(f"the newest version is {version}, the change was made to {expected}")
        self.expected = expected
        self.version = version


class WorkflowStore:
    """Documents by id and version."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clock: Callable[[], float] = time.time

    async def create(self, document: Mapping[str, Any], title: str) -> WorkflowRecord:
        now = self._clock()
        workflow_id = "wf_" + "".join(secrets.choice(_ALPHABET) for _ in range(12))
        record = WorkflowRecord(workflow_id, 1, title, now, now)

        def work(connection: Connection) -> None:
            connection.execute(
                insert(workflows).values(
                    workflow_id=workflow_id, version=1, title=title, created_at=now, updated_at=now
                )
            )
            _insert_version(connection, record, document)

        await self._database.run(work)
        return record

    async def save(
        self, workflow_id: str, document: Mapping[str, Any], title: str, expected_version: int
    ) -> WorkflowRecord:
        """Errors: WorkflowNotFound; VersionConflict when `expected_version` is not the newest."""
        now = self._clock()

        def work(connection: Connection) -> WorkflowRecord:
            before = _read(connection, workflow_id)
            if before.version != expected_version:
                raise VersionConflict(expected_version, before.version)
            record = WorkflowRecord(workflow_id, before.version + 1, title, before.created_at, now)
            connection.execute(
                update(workflows)
                .where(workflows.c.workflow_id == workflow_id)
                .values(version=record.version, title=title, updated_at=now)
            )
            _insert_version(connection, record, document)
            return record

        return await self._database.run(work)

    async def list_all(self) -> list[WorkflowRecord]:
        """Last changed first."""

        def work(connection: Connection) -> list[WorkflowRecord]:
            query = select(workflows).order_by(workflows.c.updated_at.desc(), workflows.c.workflow_id)
            return [_record(row) for row in connection.execute(query)]

        return await self._database.run(work)

    async def versions(self, workflow_id: str) -> list[WorkflowRecord]:
        """Newest first. Errors: WorkflowNotFound."""

        def work(connection: Connection) -> list[WorkflowRecord]:
            newest = _read(connection, workflow_id)
            query = (
                select(workflow_versions)
                .where(workflow_versions.c.workflow_id == workflow_id)
                .order_by(workflow_versions.c.version.desc())
            )
            return [
                WorkflowRecord(workflow_id, row.version, row.title, newest.created_at, row.saved_at)
                for row in connection.execute(query)
            ]

        return await self._database.run(work)

    async def read(
        self, workflow_id: str, version: int | None = None
    ) -> tuple[WorkflowRecord, dict[str, Any]]:
        """The newest version, or the one asked for. Errors: WorkflowNotFound."""

        def work(connection: Connection) -> tuple[WorkflowRecord, dict[str, Any]]:
            newest = _read(connection, workflow_id)
            wanted = newest.version if version is None else version
            row = connection.execute(
                select(workflow_versions).where(
                    workflow_versions.c.workflow_id == workflow_id, workflow_versions.c.version == wanted
                )
            ).one_or_none()
            if row is None:
                raise WorkflowNotFound(f"a version up to {newest.version} was expected, got {wanted}")
            record = WorkflowRecord(workflow_id, wanted, row.title, newest.created_at, row.saved_at)
            return record, json.loads(row.document)

        return await self._database.run(work)

    async def delete(self, workflow_id: str, expected_version: int | None) -> None:
        """With all its versions. Errors: WorkflowNotFound; VersionConflict."""

        def work(connection: Connection) -> None:
            found = _read(connection, workflow_id)
            if expected_version is not None and found.version != expected_version:
                raise VersionConflict(expected_version, found.version)
            connection.execute(delete(workflows).where(workflows.c.workflow_id == workflow_id))

        await self._database.run(work)


def _read(connection: Connection, workflow_id: str) -> WorkflowRecord:
    row = connection.execute(select(workflows).where(workflows.c.workflow_id == workflow_id)).one_or_none()
    if row is None:
        raise WorkflowNotFound(f"a known workflow was expected, got {workflow_id!r}")
    return _record(row)


def _record(row: Row[Any]) -> WorkflowRecord:
    return WorkflowRecord(row.workflow_id, row.version, row.title, row.created_at, row.updated_at)


def _insert_version(connection: Connection, record: WorkflowRecord, document: Mapping[str, Any]) -> None:
    connection.execute(
        insert(workflow_versions).values(
            workflow_id=record.workflow_id,
            version=record.version,
            title=record.title,
            document=json.dumps(document, ensure_ascii=False),
            saved_at=record.updated_at,
        )
    )
