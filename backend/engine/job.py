"""One job while it runs: its plan, its values, its open loops, and what its nodes have come to."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rushes.backend.engine.batching.lane import StageNeed
from rushes.backend.engine.failures import Failure
from rushes.backend.engine.protocol import NodeFailed, NodeFinished, NodeStarted
from rushes.backend.engine.results import consumers, producers, stage_keys
from rushes.backend.engine.stages.stage import JobContext, LoopRun, Outputs, Stage, StageCall
from rushes.backend.engine.values import Stream, Value
from rushes.compiler.ir.spec import PipelineSpec

EARLY_MAX = 64
Steer = Callable[[LoopRun], None]


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What of a spec has to run, and what is known already. ``known`` holds values, so nothing can vanish."""

    needs: tuple[StageNeed, ...]
    known: Mapping[int, Outputs]
    idle: frozenset[int]
    """Stages that need not run because all that reads them is known."""
    keys: tuple[str, ...]


def plan_job(
    spec: PipelineSpec, stages: Mapping[str, Stage], find: Callable[[str], Outputs | None]
) -> JobPlan:
    """Walk back from what must run (outputs and what is never cached) to what is known.

    Errors: KeyError for an op without a stage.
    """
    keys, made_by = stage_keys(spec), producers(spec)
    readers_of = {index: consumers(spec, index) for index in range(len(spec.stages))}
    running: set[int] = set()
    known: dict[int, Outputs] = {}
    for index in reversed(range(len(spec.stages))):
        stage = stages[spec.stages[index].op]
        is_wanted = any(reader in running for reader, _ in readers_of[index])
        if not is_wanted and readers_of[index]:
            continue
        outputs = find(keys[index]) if stage.is_cached else None
        if outputs is None:
            running.add(index)
        else:
            known[index] = outputs
    needs = tuple(
        StageNeed(index, _needed_by(spec, index, made_by, running), stages[spec.stages[index].op].slot)
        for index in sorted(running)
    )
    return JobPlan(needs, known, frozenset(range(len(spec.stages))) - running - known.keys(), keys)


def _needed_by(
    spec: PipelineSpec, index: int, made_by: Mapping[str, int], running: set[int]
) -> tuple[int, ...]:
    reads = {made_by[value] for _, value in spec.stages[index].reads}
    return tuple(sorted(reads & running))


@dataclass(slots=True)
class _NodeTally:
    left: set[int]
    seconds: float = 0.0
    has_run: bool = False
    has_failed: bool = False


@dataclass(slots=True)
class JobRun:
    """State of one job in the executor. Only the executor's own thread changes it."""

    context: JobContext
    spec: PipelineSpec
    plan: JobPlan
    loops: dict[int, LoopRun] = field(default_factory=dict)
    """Loops that are open."""
    failure: tuple[Failure, str] | None = None
    """The first failure and its node."""
    began_s: float = field(default_factory=time.perf_counter)
    seconds_by_op: dict[str, float] = field(default_factory=dict)
    _closed: list[LoopRun] = field(default_factory=list)
    _early: list[tuple[str, Steer]] = field(default_factory=list)
    _values: dict[str, Value] = field(default_factory=dict)
    _nodes: dict[str, _NodeTally] = field(default_factory=dict)

    def open_books(self) -> None:
        """Count the stages of each node, and settle what is known already."""
        for index, stage in enumerate(self.spec.stages):
            self._nodes.setdefault(stage.node_id, _NodeTally(set())).left.add(index)
        for index, outputs in self.plan.known.items():
            self._keep(index, outputs)
        for index in sorted({*self.plan.known, *self.plan.idle}):
            self._settle(index)

    def call(self, index: int) -> StageCall:
        """The stage with its inputs. A rollout's frames are handed over in the form that was asked for."""
        spec = self.spec.stages[index]
        inputs: dict[str, Value] = {}
        for port, name in spec.reads:
            value = self._values[name]
            inputs[port] = value.seen_by(index) if isinstance(value, Stream) else value
        return StageCall(index, spec, inputs, self.context, tuple(consumers(self.spec, index)))

    def started(self, index: int) -> None:
        """A stage is about to run."""
        node_id = self.spec.stages[index].node_id
        if not self._nodes[node_id].has_run:
            self._nodes[node_id].has_run = True
            self.context.emit(NodeStarted(self.context.job_id, node_id), b"")

    def opened(self, index: int, loop: LoopRun) -> None:
        """The loop of a stage is open; what was meant for it before reaches it now."""
        self.loops[index] = loop
        node_id = self.spec.stages[index].node_id
        for _, apply in [early for early in self._early if early[0] == node_id]:
            apply(loop)

    def closed(self, index: int) -> None:
        """The loop has given its result. What it holds open, others may still need until the job ends."""
        self._closed.append(self.loops.pop(index))

    def steer(self, node_id: str, apply: Steer) -> list[int]:
        """Reach the open loops of a node, or keep it for when one opens; the stages that were reached."""
        reached = [i for i in self.loops if self.spec.stages[i].node_id == node_id]
        for index in reached:
            apply(self.loops[index])
        if not reached and len(self._early) < EARLY_MAX:
            self._early.append((node_id, apply))
        return reached

    def spent(self, index: int, seconds: float) -> None:
        """A stage, or a step of it, took this long."""
        stage = self.spec.stages[index]
        self._nodes[stage.node_id].seconds += seconds
        self.seconds_by_op[stage.op] = self.seconds_by_op.get(stage.op, 0.0) + seconds

    def finished(self, index: int, outputs: Outputs) -> None:
        self._keep(index, outputs)
        self._settle(index)

    def failed(self, index: int, failure: Failure) -> None:
        node_id = self.spec.stages[index].node_id
        self._nodes[node_id].has_failed = True
        if self.failure is None:
            self.failure = (failure, node_id)
        event = NodeFailed(self.context.job_id, node_id, failure.code, failure.message)
        self.context.emit(event, b"")

    def timings(self) -> dict[str, float]:
        """Seconds per op, and in all."""
        rounded = {op: round(seconds, 4) for op, seconds in self.seconds_by_op.items()}
        return {**rounded, "total": round(time.perf_counter() - self.began_s, 4)}

    def close(self) -> None:
        """Let go of everything; unfinished files disappear."""
        for loop in (*self.loops.values(), *self._closed):
            loop.abandon()
        self.loops.clear()
        self._closed.clear()
        self._values.clear()

    def _keep(self, index: int, outputs: Outputs) -> None:
        self._values.update({name: outputs[port] for port, name in self.spec.stages[index].writes})

    def _settle(self, index: int) -> None:
        node_id = self.spec.stages[index].node_id
        node = self._nodes[node_id]
        node.left.discard(index)
        if node.left or node.has_failed:
            return
        job_id, is_cached = self.context.job_id, not node.has_run
        if is_cached:
            self.context.emit(NodeStarted(job_id, node_id), b"")
        self.context.emit(NodeFinished(job_id, node_id, round(node.seconds, 4), is_cached), b"")
