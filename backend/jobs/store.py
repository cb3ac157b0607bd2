"""Jobs in the database. Every function is one piece of a transaction."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from .progress import NodeProgress
from .record import (
    JobFailure,
    JobNotFound,
    JobOutcome,
    JobOutput,
    JobProgram,
    JobRecord,
    JobRollout,
    JobState,
)
from .tables import counters, job_programs, jobs


def insert_job(connection: Connection, job: JobRecord, program: JobProgram) -> None:
    connection.execute(
        insert(jobs).values(
            job_id=job.job_id,
            state=job.state,
            title=job.title,
            targets=_dump(job.targets),
            outputs=json.dumps([asdict(output) for output in job.outputs]),
            rollouts=json.dumps([asdict(rollout) for rollout in job.rollouts]),
            spec_hash=job.spec_hash,
            attempt=job.attempt,
            created_at=job.created_at,
        )
    )
    connection.execute(
        insert(job_programs).values(
            job_id=job.job_id,
            document=json.dumps(program.document),
            spec=json.dumps(program.spec),
            diagnostics=json.dumps(program.diagnostics),
            metadata=json.dumps(program.metadata),
            chunk_encoding=program.chunk_encoding,
        )
    )


def mark_running(connection: Connection, job_id: str, *, attempt: int, started_at: float) -> None:
    _change(connection, job_id, state="running", attempt=attempt, started_at=started_at)


def mark_queued(connection: Connection, job_id: str, *, attempt: int) -> None:
    _change(connection, job_id, state="queued", attempt=attempt, started_at=None)


def mark_over(connection: Connection, job_id: str, outcome: JobOutcome) -> None:
    _change(
        connection,
        job_id,
        state=outcome.state,
        finished_at=outcome.finished_at,
        error=None if outcome.error is None else json.dumps(asdict(outcome.error)),
        timings=json.dumps(dict(outcome.timings)),
        nodes=json.dumps([asdict(node) for node in outcome.nodes]),
    )


def read_job(connection: Connection, job_id: str) -> JobRecord:
    """Errors: JobNotFound."""
    row = connection.execute(select(jobs).where(jobs.c.job_id == job_id)).one_or_none()
    if row is None:
        raise JobNotFound(job_id)
    return _record(row)


def read_nodes(connection: Connection, job_id: str) -> tuple[NodeProgress, ...]:
    """Progress of the nodes as it stood when the job ended; empty before."""
    text = connection.execute(select(jobs.c.nodes).where(jobs.c.job_id == job_id)).scalar()
    return () if text is None else tuple(NodeProgress(**node) for node in json.loads(text))


def read_program(connection: Connection, job_id: str) -> JobProgram:
    """Errors: JobNotFound."""
    row = connection.execute(select(job_programs).where(job_programs.c.job_id == job_id)).one_or_none()
    if row is None:
        raise JobNotFound(job_id)
    return JobProgram(
        document=json.loads(row.document),
        spec=json.loads(row.spec),
        diagnostics=tuple(json.loads(row.diagnostics)),
        metadata=json.loads(row.metadata),
        chunk_encoding=row.chunk_encoding,
    )


def list_jobs(connection: Connection, *, state: JobState | None, limit: int) -> list[JobRecord]:
    """Newest first."""
    query = select(jobs).order_by(jobs.c.serial.desc()).limit(limit)
    if state is not None:
        query = query.where(jobs.c.state == state)
    return [_record(row) for row in connection.execute(query)]


def list_unfinished(connection: Connection) -> list[JobRecord]:
    """Queued and running, in order of submission."""
    query = select(jobs).where(jobs.c.state.in_(("queued", "running"))).order_by(jobs.c.serial)
    return [_record(row) for row in connection.execute(query)]


def delete_job(connection: Connection, job_id: str) -> None:
    """Errors: JobNotFound."""
    if connection.execute(delete(jobs).where(jobs.c.job_id == job_id)).rowcount == 0:
        raise JobNotFound(job_id)


def reserve(connection: Connection, name: str, count: int) -> int:
    """The first of `count` numbers nobody had before."""
    first = connection.execute(select(counters.c.value).where(counters.c.name == name)).scalar()
    if first is None:
        connection.execute(insert(counters).values(name=name, value=1 + count))
        return 1
    connection.execute(update(counters).where(counters.c.name == name).values(value=first + count))
    return int(first)


def _change(connection: Connection, job_id: str, **values: object) -> None:
    if connection.execute(update(jobs).where(jobs.c.job_id == job_id).values(**values)).rowcount == 0:
        raise JobNotFound(job_id)


def _record(row: Row[Any]) -> JobRecord:
    targets = None if row.targets is None else tuple(json.loads(row.targets))
    return JobRecord(
        job_id=row.job_id,
        state=row.state,
        title=row.title,
        targets=targets,
        outputs=tuple(JobOutput(**output) for output in json.loads(row.outputs)),
        rollouts=tuple(
            JobRollout(rollout["node_id"], rollout["chunk_count"], tuple(rollout["keys"]))
            for rollout in json.loads(row.rollouts)
        ),
        spec_hash=row.spec_hash,
        attempt=row.attempt,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        error=None if row.error is None else JobFailure(**json.loads(row.error)),
        timings=None if row.timings is None else json.loads(row.timings),
    )


def _dump(value: object) -> str | None:
    return None if value is None else json.dumps(value)
