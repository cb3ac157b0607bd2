"""The catalog: every node type found in the category folders, listed, never registered by hand."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from rushes.compiler.ir.declaration import NodeDeclaration
from rushes.nodes.declare import Catalog, NodeType, declare


def load_catalog() -> Catalog:
    """Read the folders. ValueError if two node types carry one id."""
    nodes: dict[str, NodeDeclaration] = {}
    for declared in _declarations():
        if declared.type_id in nodes:
            raise ValueError(f"two node types carry the id {declared.type_id!r}")
        nodes[declared.type_id] = declared
    return Catalog(nodes)


def _declarations() -> Iterator[NodeDeclaration]:
    for category in sorted(found.name for found in pkgutil.iter_modules(__path__) if found.ispkg):
        package = import_module(f"{__name__}.{category}")
        for name in sorted(found.name for found in pkgutil.iter_modules(package.__path__)):
            module = import_module(f"{package.__name__}.{name}")
            yield from (declare(node_type, category) for node_type in _node_types(module.__dict__))


def _node_types(names: dict[str, object]) -> Iterator[type[NodeType]]:
    for value in names.values():
        if isinstance(value, type) and issubclass(value, NodeType) and value.__module__ == names["__name__"]:
            yield value
