"""As much of JSON Schema 2020-12 as our schemas use. An unknown keyword fails, so that none is overlooked."""

from collections.abc import Iterator
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": (int, float),
    "integer": (int,),
}
WORDLESS = {"$schema", "title", "description", "default", "$defs", "then"}


def faults(value: Any, schema: Any, root: dict[str, Any], path: str = "") -> Iterator[str]:
    """Where a value breaks a schema, as `path: keyword`."""
    if isinstance(schema, bool):
        if not schema:
            yield f"{path}: false"
        return
    for keyword, rule in schema.items():
        if keyword not in WORDLESS:
            yield from KEYWORDS[keyword](value, rule, schema, root, path)


def _ref(value, rule, schema, root, path):
    yield from faults(value, root["$defs"][rule.removeprefix("#/$defs/")], root, path)


def _type(value, rule, schema, root, path):
    kinds = [rule] if isinstance(rule, str) else rule
    fits = any(
        isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
        for kind in kinds
    )
    if not fits:
        yield f"{path}: type"


def _simple(test):
    def check(value, rule, schema, root, path):
        if not test(value, rule):
            yield f"{path}: {test.__name__}"

    return check


def const(value, rule):
    return value == rule


def enum(value, rule):
    return value in rule


def minimum(value, rule):
    return not isinstance(value, int | float) or value >= rule


def maximum(value, rule):
    return not isinstance(value, int | float) or value <= rule


def min_items(value, rule):
    return not isinstance(value, list) or len(value) >= rule


def sized(kind, compare):
    return lambda value, rule: not isinstance(value, kind) or compare(len(value), rule)


def _required(value, rule, schema, root, path):
    yield from (f"{path}/{key}: required" for key in rule if isinstance(value, dict) and key not in value)


def _properties(value, rule, schema, root, path):
    for key, inner in rule.items():
        if isinstance(value, dict) and key in value:
            yield from faults(value[key], inner, root, f"{path}/{key}")


def _additional(value, rule, schema, root, path):
    if isinstance(value, dict):
        for key in value.keys() - schema.get("properties", {}).keys():
            yield from faults(value[key], rule, root, f"{path}/{key}")


def _names(value, rule, schema, root, path):
    if isinstance(value, dict):
        for key in value:
            yield from faults(key, rule, root, f"{path}/{key}")


def _items(value, rule, schema, root, path):
    if isinstance(value, list):
        for index, item in enumerate(value[len(schema.get("prefixItems", ())) :]):
            yield from faults(item, rule, root, f"{path}/{index}")


def _prefix(value, rule, schema, root, path):
    if isinstance(value, list):
        for index, (item, inner) in enumerate(zip(value, rule, strict=False)):
            yield from faults(item, inner, root, f"{path}/{index}")


def _all_of(value, rule, schema, root, path):
    for inner in rule:
        yield from faults(value, inner, root, path)


def _if(value, rule, schema, root, path):
    if not list(faults(value, rule, root, path)):
        yield from faults(value, schema["then"], root, path)


KEYWORDS = {
    "$ref": _ref,
    "type": _type,
    "const": _simple(const),
    "enum": _simple(enum),
    "minimum": _simple(minimum),
    "maximum": _simple(maximum),
    "minLength": _simple(sized(str, lambda length, rule: length >= rule)),
    "maxLength": _simple(sized(str, lambda length, rule: length <= rule)),
    "minItems": _simple(min_items),
    "maxProperties": _simple(sized(dict, lambda length, rule: length <= rule)),
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "propertyNames": _names,
    "items": _items,
    "prefixItems": _prefix,
    "allOf": _all_of,
    "if": _if,
}
