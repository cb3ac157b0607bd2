"""PipelineSpec: the compiled program. Frozen, hashable, the same bytes in every process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Attr = None | bool | int | float | str | tuple["Attr", ...]
Level = Literal["exact", "pinned", "fast"]
OutputKind = Literal["save_video", "save_image", "preview"]
Ports = tuple[tuple[str, str], ...]

SCHEMA = "rushes.pipeline/1"


@dataclass(frozen=True, slots=True)
class StageSpec:
    """One operation. `reads` and `writes` pair a port of the op with the name of a value."""

    op: str
    node_id: str
    reads: Ports
    writes: Ports
    attrs: tuple[tuple[str, Attr], ...]  # sorted by name

    def attr(self, name: str) -> Attr:
        """The value of an attr. KeyError if the stage has none of that name."""
        for key, value in self.attrs:
            if key == name:
                return value
        raise KeyError(f"stage {self.op!r} of node {self.node_id!r} has no attr {name!r}")

    def read(self, port: str) -> str | None:
        """The value on a port; None when an optional port is not connected."""
        return next((value for name, value in self.reads if name == port), None)

    def write(self, port: str) -> str:
        """The value a port makes. KeyError if the op has no such port."""
        for name, value in self.writes:
            if name == port:
                return value
        raise KeyError(f"stage {self.op!r} of node {self.node_id!r} writes no {port!r}")


@dataclass(frozen=True, slots=True)
class LoopSpec(StageSpec):
    """A counted repetition. `trip_count` 0 is endless; `body` names what runs each trip."""

    trip_count: int
    body: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OutputSpec:
    node_id: str
    value: str
    kind: OutputKind


@dataclass(frozen=True, slots=True)
class NodeEstimate:
    node_id: str
    seconds: float | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Predicted device seconds (per second of video when endless; None: not measured) and bytes.

    `nodes`: the part of each node that costs something, in order of the stages.
    """

    seconds: float | None
    bytes: int
    nodes: tuple[NodeEstimate, ...] = ()


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """Stages in topological order, and what is kept of them."""

    stages: tuple[StageSpec | LoopSpec, ...]
    outputs: tuple[OutputSpec, ...]
    level: Level = "pinned"
    estimate: Estimate | None = None
    schema: str = SCHEMA

    @property
    def spec_hash(self) -> str:
        """sha256 hex of the canonical JSON, estimate left out: it predicts, it does not define."""
        document = spec_to_json(self)
        del document["estimate"]
        return hashlib.sha256(canonical_json(document).encode()).hexdigest()


def canonical_json(document: object) -> str:
    """Sorted keys, no spaces, no NaN: one text for one value."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def sorted_attrs(attrs: Mapping[str, Attr]) -> tuple[tuple[str, Attr], ...]:
    return tuple(sorted(attrs.items()))


def spec_to_json(spec: PipelineSpec) -> dict[str, Any]:
    return {
        "schema": spec.schema,
        "level": spec.level,
        "stages": [_stage_to_json(stage) for stage in spec.stages],
        "outputs": [
            {"node_id": output.node_id, "value": output.value, "kind": output.kind} for output in spec.outputs
        ],
        "estimate": None if spec.estimate is None else _estimate_to_json(spec.estimate),
    }


def spec_from_json(document: Mapping[str, Any]) -> PipelineSpec:
    """The exact inverse of `spec_to_json`.

    Errors: ValueError on another schema; KeyError or TypeError on a document this code did not make.
    """
    if document["schema"] != SCHEMA:
        raise ValueError(f"expected schema {SCHEMA!r}, got {document['schema']!r}")
    estimate = document["estimate"]
    return PipelineSpec(
        stages=tuple(_stage_from_json(stage) for stage in document["stages"]),
        outputs=tuple(OutputSpec(**output) for output in document["outputs"]),
        level=document["level"],
        estimate=None if estimate is None else _estimate_from_json(estimate),
    )


def _estimate_to_json(estimate: Estimate) -> dict[str, Any]:
    nodes = [[node.node_id, node.seconds, node.bytes] for node in estimate.nodes]
    return {"seconds": estimate.seconds, "bytes": estimate.bytes, "nodes": nodes}


def _estimate_from_json(document: Mapping[str, Any]) -> Estimate:
    nodes = tuple(NodeEstimate(*node) for node in document.get("nodes", ()))
    return Estimate(document["seconds"], document["bytes"], nodes)


def _stage_to_json(stage: StageSpec | LoopSpec) -> dict[str, Any]:
    document: dict[str, Any] = {
        "op": stage.op,
        "node_id": stage.node_id,
        "reads": [list(pair) for pair in stage.reads],
        "writes": [list(pair) for pair in stage.writes],
        "attrs": {name: _thaw(value) for name, value in stage.attrs},
    }
    if isinstance(stage, LoopSpec):
        document["trip_count"] = stage.trip_count
        document["body"] = list(stage.body)
    return document


def _stage_from_json(document: Mapping[str, Any]) -> StageSpec | LoopSpec:
    op, node_id = document["op"], document["node_id"]
    reads, writes = _ports(document["reads"]), _ports(document["writes"])
    attrs = sorted_attrs({name: freeze(value) for name, value in document["attrs"].items()})
    if "trip_count" not in document:
        return StageSpec(op, node_id, reads, writes, attrs)
    body = tuple(document["body"])
    return LoopSpec(op, node_id, reads, writes, attrs, trip_count=document["trip_count"], body=body)


def _ports(pairs: Iterable[Sequence[str]]) -> Ports:
    return tuple((port, value) for port, value in pairs)


def freeze(value: Any) -> Attr:
    """Lists become tuples. TypeError for anything an attr may not hold."""
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"an attr holds JSON scalars and tuples, got {type(value).__name__}")


def _thaw(value: Attr) -> Any:
    return [_thaw(item) for item in value] if isinstance(value, tuple) else value
