"""The JSON Schema of rushes.workflow/1, made from the table the reader uses and from a catalog."""

from __future__ import annotations

from typing import Any

from rushes.compiler.ir.declaration import Catalog, NodeDeclaration, ParamRule
from rushes.compiler.read.shape import DOCUMENT, PARTS

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_JSON_TYPES = {"BOOL": "boolean", "FLOAT": "number", "INT": "integer", "TEXT": "string", "CHOICE": "string"}


def workflow_schema(catalog: Catalog | None = None) -> dict[str, Any]:
    """JSON Schema 2020-12 of a workflow document.

    With a catalog it also says, for each node type, which params it has and what they may hold. Types
    that are not in the catalog stay allowed: a document may come from a machine with more of them.
    Keys that are not listed stay allowed too, except among the params of a known type.

    Guarantees: same catalog, same bytes. A document that compiles without a diagnostic is valid; the
    compiler checks more (edges, sizes, files) than a schema can say.
    """
    definitions = {name: part.to_schema() for name, part in PARTS.items()}
    if catalog is not None:
        types = sorted(catalog.nodes)
        definitions["node"]["allOf"] = [_when(type_id) for type_id in types]
        definitions |= {f"params.{type_id}": _params(catalog.nodes[type_id]) for type_id in types}
    return {"$schema": DIALECT, "title": "rushes.workflow/1", **DOCUMENT.to_schema(), "$defs": definitions}


def _when(type_id: str) -> dict[str, Any]:
    params = {"$ref": f"#/$defs/params.{type_id}"}
    return {
        "if": {"properties": {"type": {"const": type_id}}, "required": ["type"]},
        "then": {"properties": {"params": params}},
    }


def _params(declared: NodeDeclaration) -> dict[str, Any]:
    return {
        "description": f"{declared.title}, version {declared.version}",
        "type": "object",
        "properties": {name: _param(rule) for name, rule in declared.params.items()},
        "additionalProperties": False,
    }


def _param(rule: ParamRule) -> dict[str, Any]:
    bounds = {
        "minimum": rule.minimum,
        "maximum": rule.maximum,
        "enum": None if rule.choices is None else list(rule.choices),
        "maxLength": rule.max_length if rule.kind == "TEXT" else None,
    }
    known = {name: value for name, value in bounds.items() if value is not None}
    return {"description": rule.doc, "type": _JSON_TYPES[rule.kind], "default": rule.default, **known}
