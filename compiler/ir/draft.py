"""What the passes hand on: first a graph that gets checked, then a spec that gets better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rushes.compiler.ir.declaration import Catalog, NodeDeclaration, ParamValue
from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.facts import Target
from rushes.compiler.ir.graph import Edge, Graph
from rushes.compiler.ir.spec import Level, PipelineSpec


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. `targets` None: every output node. `level` is the least that will do."""

    catalog: Catalog
    target: Target
    targets: tuple[str, ...] | None = None
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A graph on its way to a spec.

    `refused`: edges that cannot be; their ends count as connected, so that one mistake is reported
    once. `needed`: the nodes the targets need, inputs first. `params`: typed and complete, for nodes
    whose params are all right. `every`: all nodes the workflow stands for, muted ones too. `insides`:
    for an instance of a subgraph the nodes that make its outputs.
    """

    graph: Graph
    diagnostics: tuple[Diagnostic, ...] = ()
    refused: tuple[Edge, ...] = ()
    needed: tuple[str, ...] = ()
    params: Mapping[str, Mapping[str, ParamValue]] = field(default_factory=dict)
    spec: PipelineSpec | None = None
    every: frozenset[str] = frozenset()
    insides: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def reporting(self, found: list[Diagnostic]) -> Draft:
        """This draft with more findings."""
        return replace(self, diagnostics=(*self.diagnostics, *found)) if found else self

    def declaration(self, node_id: str, catalog: Catalog) -> NodeDeclaration | None:
        """The declaration of a node's type, None where the type is unknown."""
        return catalog.nodes.get(self.graph.nodes[node_id].type_id)
