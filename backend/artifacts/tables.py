"""Tables of this room."""

from __future__ import annotations

from sqlalchemy import Column, Float, Index, Integer, String, Table

from ..database import metadata

assets = Table(
    "assets",
    metadata,
    Column("asset", String, primary_key=True),
    Column("sha256", String, nullable=False, index=True),
    Column("kind", String, nullable=False),
    Column("media_type", String, nullable=False),
    Column("width_px", Integer, nullable=False),
    Column("height_px", Integer, nullable=False),
    Column("frame_count", Integer, nullable=False),
    Column("fps", Float, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("serial", Integer, primary_key=True, autoincrement=True),
    Column("sha256", String, nullable=False, index=True),
    Column("job_id", String, nullable=False),
    Column("node_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("media_type", String, nullable=False),
    Column("width_px", Integer, nullable=False),
    Column("height_px", Integer, nullable=False),
    Column("frame_count", Integer, nullable=False),
    Column("fps", Float),  # null for a picture
    Column("size_bytes", Integer, nullable=False),
    Column("latent_sha256", String),
    Column("created_at", Float, nullable=False),
    Index("artifacts_by_job", "job_id"),
)
