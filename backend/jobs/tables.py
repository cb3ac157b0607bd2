"""Tables of this room. JSON is kept as text, so that what was stored comes back byte for byte."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Integer, String, Table, Text

from ..database import metadata

jobs = Table(
    "jobs",
    metadata,
    Column("serial", Integer, primary_key=True, autoincrement=True),  # order of submission
    Column("job_id", String, nullable=False, unique=True),
    Column("state", String, nullable=False, index=True),
    Column("title", Text),
    Column("targets", Text),  # JSON list or null
    Column("outputs", Text, nullable=False),  # JSON list of {node_id, kind}
    Column("rollouts", Text, nullable=False),  # JSON list of {node_id, chunk_count, keys}
    Column("spec_hash", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("started_at", Float),
    Column("finished_at", Float),
    Column("error", Text),  # JSON {code, message, node_id} or null
    Column("timings", Text),  # JSON {name: seconds} or null
    Column("nodes", Text),  # JSON list of node progress, written when the job ends
    sqlite_autoincrement=True,
)

job_programs = Table(
    "job_programs",
    metadata,
    Column("job_id", String, ForeignKey("jobs.job_id", ondelete="CASCADE"), primary_key=True),
    Column("document", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("diagnostics", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("chunk_encoding", String, nullable=False),
)

counters = Table(
    "counters",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", Integer, nullable=False),
)

workflows = Table(
    "workflows",
    metadata,
    Column("workflow_id", String, primary_key=True),
    Column("version", Integer, nullable=False),  # the newest
    Column("title", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
)

workflow_versions = Table(
    "workflow_versions",
    metadata,
    Column("workflow_id", String, ForeignKey("workflows.workflow_id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("title", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("saved_at", Float, nullable=False),
)
