"""The notepad a node lowers itself onto: stages, outputs and findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rushes.compiler.ir.diagnostics import Diagnostic, Json, Severity
from rushes.compiler.ir.facts import Target
from rushes.compiler.ir.ops import OPS
from rushes.compiler.ir.spec import Attr, LoopSpec, OutputKind, OutputSpec, Ports, StageSpec, sorted_attrs


class LoweringError(Exception):
    """A node cannot be lowered; its diagnostic is already on the notepad."""


@dataclass(slots=True)
class Program:
    """What has been lowered so far. The only thing in the compiler that grows in place."""

    stages: list[StageSpec | LoopSpec] = field(default_factory=list)
    outputs: list[OutputSpec] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Lowering:
    """Writes for one node. Optional reads may be given as None and are left out."""

    program: Program
    target: Target
    node_id: str

    def at(self, node_id: str) -> Lowering:
        """The same notepad, writing on behalf of another node."""
        return Lowering(self.program, self.target, node_id)

    def stage(
        self, op: str, reads: Mapping[str, str | None], attrs: Mapping[str, Attr], *, label: str | None = None
    ) -> dict[str, str]:
        """Emit a stage; returns the name of each value it writes, by port.

        `label` names what it writes where the port's own name would not tell the values of a node apart.
        """
        writes = self._fresh(op, label)
        stage = StageSpec(op, self.node_id, _connected(reads), writes, sorted_attrs(attrs))
        self.program.stages.append(stage)
        return dict(writes)

    def loop(
        self,
        op: str,
        trip_count: int,
        body: tuple[str, ...],
        reads: Mapping[str, str | None],
        attrs: Mapping[str, Attr],
    ) -> dict[str, str]:
        """Emit a loop; `trip_count` 0 is endless."""
        writes = self._fresh(op)
        self.program.stages.append(
            LoopSpec(
                op,
                self.node_id,
                _connected(reads),
                writes,
                sorted_attrs(attrs),
                trip_count=trip_count,
                body=body,
            )
        )
        return dict(writes)

    def output(self, kind: OutputKind, value: str) -> None:
        """Say that a value is a result of this node."""
        self.program.outputs.append(OutputSpec(self.node_id, value, kind))

    def error(
        self,
        code: str,
        message: str,
        *,
        param: str | None = None,
        expected: str | None = None,
        given: str | None = None,
        suggestion: Json = None,
    ) -> LoweringError:
        """Record an error; raise what comes back to give up on this node."""
        self._report("error", code, message, param, (expected, given, suggestion))
        return LoweringError(message)

    def note(self, code: str, message: str, *, param: str | None = None) -> None:
        self._report("note", code, message, param, (None, None, None))

    def _report(
        self,
        severity: Severity,
        code: str,
        message: str,
        param: str | None,
        detail: tuple[str | None, str | None, Json],
    ) -> None:
        expected, given, suggestion = detail
        self.program.diagnostics.append(
            Diagnostic(code, severity, message, self.node_id, param, expected, given, suggestion)
        )

    def _fresh(self, op: str, label: str | None = None) -> Ports:
        return tuple((port.name, self._name(label or port.name)) for port in OPS[op].writes)

    def _name(self, label: str) -> str:
        name = f"{self.node_id}.{label}"
        attempt = 1
        while name in self.program.names:
            attempt += 1
            name = f"{self.node_id}.{label}.{attempt}"
        self.program.names.add(name)
        return name


def _connected(reads: Mapping[str, str | None]) -> Ports:
    return tuple((port, value) for port, value in reads.items() if value is not None)
