"""Where the nodes of the running jobs stand, kept from the worker's events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class NodeProgress:
    """Where one node stands. `chunk_count` None: endless, or no chunks at all."""

    node_id: str
    state: Literal["running", "finished", "failed"]
    step: int | None = None
    step_count: int | None = None
    chunk_index: int | None = None
    chunk_count: int | None = None
    seconds: float | None = None
    is_cached: bool = False


class ProgressBoard:
    """Progress by job and node."""

    def __init__(self) -> None:
        self._jobs: dict[str, dict[str, NodeProgress]] = {}

    def take(self, header: Mapping[str, Any]) -> None:
        """Note what an event says; an event without a node says nothing here."""
        if "node_id" not in header or "job_id" not in header or header["node_id"] is None:
            return
        nodes = self._jobs.setdefault(header["job_id"], {})
        node_id = header["node_id"]
        before = nodes.get(node_id, NodeProgress(node_id, "running"))
        match header["type"]:
            case "node.started":
                nodes[node_id] = NodeProgress(node_id, "running")
            case "job.progress":
                names = ("step", "step_count", "chunk_index", "chunk_count")
                nodes[node_id] = replace(before, **{name: header[name] for name in names})
            case "node.finished":
                done = {"seconds": header["seconds"], "is_cached": header["is_cached"]}
                nodes[node_id] = replace(before, state="finished", **done)
            case "node.failed":
                nodes[node_id] = replace(before, state="failed")

    def nodes(self, job_id: str) -> tuple[NodeProgress, ...]:
        """In the order they started."""
        return tuple(self._jobs.get(job_id, {}).values())

    def forget(self, job_id: str) -> None:
        self._jobs.pop(job_id, None)
