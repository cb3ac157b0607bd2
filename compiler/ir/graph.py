"""A workflow without its layout: nodes and edges as they were written, not yet checked against a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["active", "muted", "bypassed"]
End = tuple[str, str]  # node id, name of a socket or param

PATH_MARK = "/"  # between an instance and a node inside it, in the id of the latter


@dataclass(frozen=True, slots=True)
class Node:
    """`params` holds what the document held; `version` is None where the document names none.

    `subgraph`: the definition an instance stands for; its params override what the definition exposes.
    """

    node_id: str
    type_id: str
    version: int | None
    mode: Mode
    params: Mapping[str, object]
    subgraph: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    edge_id: str
    from_node: str
    from_socket: str
    to_node: str
    to_socket: str


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A definition. Each exposed name leads to sockets or params of nodes inside."""

    subgraph_id: str
    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]
    unread: frozenset[str]
    inputs: Mapping[str, tuple[End, ...]]
    outputs: Mapping[str, End]
    params: Mapping[str, tuple[End, ...]]


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by id, edges in order of the socket they end in. `unread`: nodes too broken to be here."""

    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]
    unread: frozenset[str] = frozenset()
    subgraphs: Mapping[str, Subgraph] = field(default_factory=dict)
