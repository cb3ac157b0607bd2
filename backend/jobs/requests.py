"""What hosts ask of the dispatcher, what bounds it, and how it says no."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rushes.compiler.ir.spec import PipelineSpec

ChunkEncoding = Literal["jpeg", "rgb24"]


@dataclass(frozen=True, slots=True)
class NewJob:
    """A compiled workflow, ready to be queued."""

    spec: PipelineSpec
    document: Mapping[str, Any]
    targets: tuple[str, ...] | None = None
    title: str | None = None
    diagnostics: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    chunk_encoding: ChunkEncoding = "jpeg"


@dataclass(frozen=True, slots=True)
class Control:
    """One live update of a rollout; see the wire's `job.control`."""

    job_id: str
    node_id: str
    seq: int
    wanted_chunk: int | None = None
    keys: tuple[str, ...] | None = None
    prompt: str | None = None
    stop: bool = False


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What `worker.ready` said last; None before."""

    device: str | None = None
    device_name: str | None = None
    torch: str | None = None
    death_count: int = 0


@dataclass(frozen=True, slots=True)
class DispatchLimits:
    """At most `running_max` jobs are in the worker, endless ones counted; `queued_max` wait."""

    running_max: int = 4
    queued_max: int = 10_000
    attempts_max: int = 2


class QueueFull(RuntimeError):
    """The queue takes no more."""


class Draining(RuntimeError):
    """The server is about to end and takes no new jobs."""
