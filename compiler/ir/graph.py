"""A workflow without its layout: nodes and edges as they were written, not yet checked against a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Mode = Literal["active", "muted", "bypassed"]


@dataclass(frozen=True, slots=True)
class Node:
    """`params` holds what the document held; `version` is None where the document names none."""

    node_id: str
    type_id: str
    version: int | None
    mode: Mode
    params: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Edge:
    edge_id: str
    from_node: str
    from_socket: str
    to_node: str
    to_socket: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by id, edges in order of the socket they end in. `unread`: nodes too broken to be here."""

    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]
    unread: frozenset[str] = frozenset()
