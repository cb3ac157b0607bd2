"""What travels on a wire between our nodes: a piece of a workflow, not pixels.

A node's id is the hash of its type, params and everything before it. So two equal pieces have equal ids in
any process, merging is a union, and what two branches share is there once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .declarations import ParamValue

SCHEMA = "rushes.workflow/1"
Params = tuple[tuple[str, ParamValue], ...]


@dataclass(frozen=True, slots=True)
class Source:
    """An output socket of a node."""

    node_id: str
    socket: str


Links = tuple[tuple[str, Source], ...]


@dataclass(frozen=True, slots=True)
class Node:
    """One node with where its inputs come from. Both tuples are sorted by name."""

    type_id: str
    version: int
    params: Params
    links: Links

    @property
    def node_id(self) -> str:
        links = [[socket, source.node_id, source.socket] for socket, source in self.links]
        content = json.dumps([self.type_id, self.version, self.params, links], ensure_ascii=False)
        return f"{self.type_id}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class MediaFile:
    """A file a node names, to be on the server before the workflow runs. `name` is made from its content."""

    name: str
    sha256: str
    path: Path


@dataclass(frozen=True, slots=True)
class Fragment:
    """Nodes by id, with the files they name. Every link points into it."""

    nodes: tuple[tuple[str, Node], ...] = ()
    files: frozenset[MediaFile] = frozenset()

    def node(self, node_id: str) -> Node:
        return next(node for known, node in self.nodes if known == node_id)

    def with_node(self, node: Node, files: Iterable[MediaFile] = ()) -> Fragment:
        """This and one more node, whose links are in here."""
        return _union([*self.nodes, (node.node_id, node)], [*self.files, *files])

    def to_document(self, title: str) -> dict[str, Any]:
        """As rushes.workflow/1. The same fragment gives the same document."""
        nodes: dict[str, Any] = {}
        edges: dict[str, Any] = {}
        for node_id, node in self.nodes:
            nodes[node_id] = {"type": node.type_id, "version": node.version, "params": dict(node.params)}
            for socket, source in node.links:
                ends = {"from": [source.node_id, source.socket], "to": [node_id, socket]}
                edges[f"{node_id}.{socket}"] = ends
        return {"schema": SCHEMA, "title": title, "graph": {"nodes": nodes, "edges": edges}}


@dataclass(frozen=True, slots=True, repr=False)
class Wire:
    """One output of a fragment. `type` is the catalog's name of what it gives, as VIDEO."""

    fragment: Fragment
    source: Source
    type: str

    def __repr__(self) -> str:
        """Short: ComfyUI puts it into its error reports."""
        return f"<Rushes {self.type} of {self.source.node_id}, {len(self.fragment.nodes)} nodes>"


def make_node(
    type_id: str, version: int, params: Mapping[str, ParamValue], inputs: Mapping[str, Wire]
) -> tuple[Node, Fragment]:
    """A node fed by wires, and the fragment of all of them with it."""
    links = sorted(((socket, wire.source) for socket, wire in inputs.items()), key=lambda link: link[0])
    node = Node(type_id, version, tuple(sorted(params.items())), tuple(links))
    return node, merge(wire.fragment for wire in inputs.values()).with_node(node)


def merge(fragments: Iterable[Fragment]) -> Fragment:
    """All of them as one; equal nodes are there once."""
    nodes: list[tuple[str, Node]] = []
    files: list[MediaFile] = []
    for fragment in fragments:
        nodes.extend(fragment.nodes)
        files.extend(fragment.files)
    return _union(nodes, files)


def _union(nodes: Iterable[tuple[str, Node]], files: Iterable[MediaFile]) -> Fragment:
    return Fragment(tuple(sorted(dict(nodes).items(), key=lambda item: item[0])), frozenset(files))
