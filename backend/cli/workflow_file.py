"""The workflow a command was given, with what the command line changes in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from rushes.compiler.read.text import parse_document

from ..wire.v1.catalog import CatalogReply, NodeParam
from .params import INSTANCE, find_rule, param_names
from .refusal import CommandRefused, refuse

Document = dict[str, Any]

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def read_workflow_file(path: Path) -> Document:
    """Errors: CommandRefused with diagnostics for a file that is missing or no JSON object."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise refuse("E_FILE", f"expected a workflow file, got {path}: {error.strerror}") from error
    document, diagnostics = parse_document(data)
    if document is None:
        raise CommandRefused([f"{found} ({path})" for found in diagnostics])
    return dict(document)


def apply_settings(document: Document, settings: Sequence[str], catalog: CatalogReply) -> Document:
    """`NODE.PARAM=VALUE`, each value read as its param's kind. Errors: CommandRefused."""
    changed = deepcopy(document)
    for setting in settings:
        place, equals, text = setting.partition("=")
        name, dot, param = place.rpartition(".")
        if not (equals and dot and name and param):
            raise refuse("E_INVALID", f"--set expected NODE.PARAM=VALUE, got {setting!r}")
        node_id = find_node(changed, name)
        value = _read_value(changed, node_id, param, text, catalog)
        _nodes(changed)[node_id].setdefault("params", {})[param] = value
    return changed


def find_node(document: Mapping[str, Any], name: str) -> str:
    """The id of a node named by id, or by a title or type that is unique. Errors: CommandRefused."""
    nodes = _nodes(document)
    if name in nodes:
        return name
    for field in ("title", "type"):
        found = [node_id for node_id, node in nodes.items() if node.get(field) == name]
        if len(found) == 1:
            return found[0]
        if found:
            choice = ", ".join(sorted(found))
            raise refuse("E_UNKNOWN_NODE", f"expected one node with the {field} {name!r}, got {choice}")
    choice = ", ".join(sorted(nodes))
    raise refuse("E_UNKNOWN_NODE", f"expected a node ({choice}), got {name!r}")


def find_target(document: Mapping[str, Any], name: str) -> str:
    """As `find_node`; `instance/node` names a node inside a subgraph. Errors: CommandRefused."""
    outer, slash, inner = name.partition("/")
    if slash and name not in _nodes(document):
        return f"{find_node(document, outer)}/{inner}"
    return find_node(document, name)


def _nodes(document: Mapping[str, Any]) -> dict[str, Any]:
    graph = document.get("graph")
    nodes = graph.get("nodes") if isinstance(graph, dict) else None
    if not isinstance(nodes, dict) or not all(isinstance(node, dict) for node in nodes.values()):
        raise refuse("E_MALFORMED", "expected a workflow with graph.nodes, got none")
    return nodes


def _read_value(
    document: Document, node_id: str, param: str, text: str, catalog: CatalogReply
) -> bool | int | float | str:
    node = _nodes(document)[node_id]
    if node.get("type") != INSTANCE and str(node.get("type")) not in catalog.nodes:
        raise refuse("E_UNKNOWN_NODE_TYPE", f"{node_id}: no node type {node.get('type')!r}")
    rule = find_rule(document, node, param, catalog)
    if rule is None:
        names = ", ".join(param_names(document, node, catalog))
        raise refuse("E_UNKNOWN_PARAM", f"{node_id}: expected a param ({names}), got {param!r}")
    try:
        return _as_kind(rule, text)
    except ValueError:
        raise refuse("E_PARAM_TYPE", f"{node_id}.{param}: expected {rule.kind}, got {text!r}") from None


def _as_kind(rule: NodeParam, text: str) -> bool | int | float | str:
    match rule.kind:
        case "INT":
            return int(text)
        case "FLOAT":
            return float(text)
        case "BOOL":
            if text.lower() not in _TRUE | _FALSE:
                raise ValueError(text)
            return text.lower() in _TRUE
        case _:
            return text
