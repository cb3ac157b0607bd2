"""What is known of a job."""

from __future__ import annotations

import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .progress import NodeProgress

JobState = Literal["queued", "running", "completed", "failed", "cancelled"]
JOB_STATES: tuple[JobState, ...] = ("queued", "running", "completed", "failed", "cancelled")
TERMINAL_STATES: frozenset[JobState] = frozenset({"completed", "failed", "cancelled"})

_ALPHABET = string.digits + string.ascii_lowercase


@dataclass(frozen=True, slots=True)
class JobFailure:
    """Why a job failed. `node_id` is the node to blame, if one is."""

    code: str
    message: str
    node_id: str | None = None


@dataclass(frozen=True, slots=True)
class JobOutput:
    """A node that yields an artifact."""

    node_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class JobRollout:
    """A rollout of the job. `chunk_count` None is endless; `keys` are what it listens to live."""

    node_id: str
    chunk_count: int | None
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One run of one program. Times are seconds since 1970, UTC."""

    job_id: str
    state: JobState
    title: str | None
    targets: tuple[str, ...] | None
    outputs: tuple[JobOutput, ...]
    rollouts: tuple[JobRollout, ...]
    spec_hash: str
    attempt: int
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    error: JobFailure | None = None
    timings: Mapping[str, float] | None = None

    @property
    def is_over(self) -> bool:
        return self.state in TERMINAL_STATES

    @property
    def is_endless(self) -> bool:
        return any(rollout.chunk_count is None for rollout in self.rollouts)


@dataclass(frozen=True, slots=True)
class JobProgram:
    """What a job was made from, and the program that came of it; both JSON."""

    document: Mapping[str, Any]
    spec: Mapping[str, Any]
    diagnostics: tuple[Mapping[str, Any], ...]
    metadata: Mapping[str, Any]
    """Embedded in every artifact."""
    chunk_encoding: Literal["jpeg", "rgb24"] = "jpeg"


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a job ended, with the progress of its nodes as it stood then."""

    state: JobState
    finished_at: float
    error: JobFailure | None
    timings: Mapping[str, float]
    nodes: tuple[NodeProgress, ...]


class JobNotFound(LookupError):
    """No job of that id."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"a known job was expected, got {job_id!r}")


class JobStateError(RuntimeError):
    """The job is not in a state that allows this."""


def new_job_id() -> str:
    """`job_` and 12 of 0-9a-z, not to be guessed."""
    return "job_" + "".join(secrets.choice(_ALPHABET) for _ in range(12))
