"""The node types, read from the copy of the catalog beside this file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ParamValue = str | int | float | bool

CATALOG_PATH = Path(__file__).parent / "catalog.json"


@dataclass(frozen=True, slots=True)
class Socket:
    name: str
    types: tuple[str, ...]
    optional: bool
    doc: str


@dataclass(frozen=True, slots=True)
class Output:
    name: str
    type: str
    doc: str


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    kind: str
    default: ParamValue
    minimum: float | None
    maximum: float | None
    step: float | None
    choices: tuple[str, ...] | None
    choices_from: str | None
    unit: str | None
    multiline: bool
    widget: str
    doc: str


@dataclass(frozen=True, slots=True)
class Declaration:
    type_id: str
    version: int
    category: str
    title: str
    doc: str
    inputs: tuple[Socket, ...]
    outputs: tuple[Output, ...]
    params: tuple[Param, ...]
    is_output: bool

    def socket(self, name: str) -> Socket:
        return next(socket for socket in self.inputs if socket.name == name)


def read_declarations(path: Path = CATALOG_PATH) -> Mapping[str, Declaration]:
    """By type id, in the order of the catalog."""
    with path.open(encoding="utf-8") as file:
        nodes: Mapping[str, Mapping[str, Any]] = json.load(file)["nodes"]
    return {type_id: _declaration(node) for type_id, node in nodes.items()}


def _declaration(node: Mapping[str, Any]) -> Declaration:
    return Declaration(
        type_id=node["type_id"],
        version=node["version"],
        category=node["category"],
        title=node["title"],
        doc=node["doc"],
        inputs=tuple(_socket(socket) for socket in node["inputs"]),
        outputs=tuple(Output(out["name"], out["type"], out["doc"]) for out in node["outputs"]),
        params=tuple(_param(param) for param in node["params"]),
        is_output=node["is_output"],
    )


def _socket(socket: Mapping[str, Any]) -> Socket:
    return Socket(socket["name"], tuple(socket["types"]), socket["optional"], socket["doc"])


def _param(param: Mapping[str, Any]) -> Param:
    choices = param["choices"]
    return Param(
        name=param["name"],
        kind=param["kind"],
        default=param["default"],
        minimum=param["minimum"],
        maximum=param["maximum"],
        step=param["step"],
        choices=None if choices is None else tuple(choices),
        choices_from=param["choices_from"],
        unit=param["unit"],
        multiline=param["multiline"],
        widget=param["widget"],
        doc=param["doc"],
    )
