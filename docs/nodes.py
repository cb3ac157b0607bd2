"""The page of node types, from the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

HEAD = """# Node types

Written from the catalog by `python -m docs`; edit the declarations in `nodes/catalog`, not this page.

Params marked *live* may be changed while a rollout runs. A CHOICE of checkpoints, adapters, images or videos
offers what the server finds on its disk.
"""


def render(catalog: dict[str, Any]) -> str:
    """The page, from the JSON of the catalog: a chapter a category, a section a node type."""
    nodes = sorted(catalog["nodes"].values(), key=lambda node: (node["category"], node["type_id"]))
    lines = [HEAD, "| category | node types |", "|---|---|"]
    categories = sorted({node["category"] for node in nodes})
    for category in categories:
        links = [
            f"[`{node['type_id']}`](#{node['type_id']})" for node in nodes if node["category"] == category
        ]
        lines.append(f"| {category} | {' '.join(links)} |")
    for node in nodes:
        lines.extend(_node(node))
    return "\n".join(lines) + "\n"


def _node(node: dict[str, Any]) -> Iterator[str]:
    yield f"\n## {node['type_id']}\n"
    kind = "an output: it is run for its own sake" if node["is_output"] else node["category"]
    yield f"**{node['title']}**, version {node['version']}, {kind}.\n"
    yield node["doc"]
    sockets = [
        (
            "in",
            socket["name"],
            " or ".join(socket["types"]),
            "" if not socket["optional"] else "optional. ",
            socket["doc"],
        )
        for socket in node["inputs"]
    ]
    sockets += [("out", socket["name"], socket["type"], "", socket["doc"]) for socket in node["outputs"]]
    if sockets:
        yield "\n| | socket | type | |\n|---|---|---|---|"
        for way, name, types, optional, doc in sockets:
            yield f"| {way} | `{name}` | {types} | {_cell(optional + doc)} |"
    if node["params"]:
        yield "\n| param | kind | default | allowed | |\n|---|---|---|---|---|"
        for rule in node["params"]:
            doc = _cell(("*live*. " if rule["live"] else "") + rule["doc"])
            yield f"| `{rule['name']}` | {rule['kind']} | {_default(rule)} | {_allowed(rule)} | {doc} |"


def _default(rule: dict[str, Any]) -> str:
    value = rule["default"]
    if isinstance(value, bool):
        return "on" if value else "off"
    if value == "":
        return "empty"
    return f"`{_cell(str(value))}`"


def _allowed(rule: dict[str, Any]) -> str:
    if rule["choices_from"]:
        return str(rule["choices_from"])
    if rule["choices"] is not None:
        return " ".join(f"`{choice}`" for choice in rule["choices"])
    unit = f" {rule['unit']}" if rule["unit"] else ""
    low, high = rule["minimum"], rule["maximum"]
    if low is not None and high is not None:
        return f"{low:g} to {high:g}{unit}"
    if low is not None:
        return f"at least {low:g}{unit}"
    if high is not None:
        return f"at most {high:g}{unit}"
    return unit.strip()


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
