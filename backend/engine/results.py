"""Results of stages that ran before, so that an unchanged part of a job costs nothing."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping

from rushes.backend.engine.values import Value, value_bytes
from rushes.compiler.ir.spec import LoopSpec, PipelineSpec, StageSpec

Outputs = Mapping[str, Value]
"""Values by the port they leave through."""


class ResultCache:
    """Least recently used first out, by bytes. Values in it are shared and must not be changed.

    Keys come from `stage_keys`; they name content, so nothing here is ever stale.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._kept: OrderedDict[str, tuple[Outputs, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> Outputs | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        self._kept.move_to_end(key)
        return kept[0]

    def put(self, key: str, outputs: Outputs) -> None:
        size = sum(value_bytes(value) for value in outputs.values())
        if size > self._bytes_max or key in self._kept:
            return
        self._kept[key] = (outputs, size)
        self._bytes += size
        while self._bytes > self._bytes_max:
            _, (_, freed) = self._kept.popitem(last=False)
            self._bytes -= freed

    def clear(self) -> None:
        self._kept.clear()
        self._bytes = 0


def stage_keys(spec: PipelineSpec) -> tuple[str, ...]:
    """One key per stage: sha256 of its op, attrs, trips and, port by port, of what made its inputs.

    Two stages with equal keys have equal results, whatever their nodes are called. Attrs hold content ids of
    files, so a replaced file gives other keys.
    """
    made_by: dict[str, list[str]] = {}
    keys: list[str] = []
    for stage in spec.stages:
        trips = stage.trip_count if isinstance(stage, LoopSpec) else 1
        document = [stage.op, stage.attrs, trips, [[port, made_by[value]] for port, value in stage.reads]]
        key = hashlib.sha256(json.dumps(document, separators=(",", ":")).encode()).hexdigest()
        keys.append(key)
        made_by.update({value: [key, port] for port, value in stage.writes})
    return tuple(keys)


def producers(spec: PipelineSpec) -> dict[str, int]:
    """Which stage makes a value."""
    return {value: index for index, stage in enumerate(spec.stages) for _, value in stage.writes}


def consumers(spec: PipelineSpec, index: int) -> list[tuple[int, StageSpec]]:
    """The stages that read what the stage at ``index`` makes."""
    made = {value for _, value in spec.stages[index].writes}
    return [
        (other, stage)
        for other, stage in enumerate(spec.stages)
        if any(value in made for _, value in stage.reads)
    ]
