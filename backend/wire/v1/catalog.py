"""The node types, as the editor builds its forms from them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from .model import WireModel

ParamKind = Literal["INT", "FLOAT", "TEXT", "BOOL", "CHOICE"]
Widget = Literal["seed", "slider", "text", "textarea", "choice", "toggle", "number", "script"]


class NodeInput(WireModel):
    name: str
    types: tuple[str, ...]
    optional: bool
    doc: str


class NodeOutput(WireModel):
    name: str
    type: str
    doc: str


class NodeParam(WireModel):
    name: str
    kind: ParamKind
    default: JsonValue
    minimum: float | None
    maximum: float | None
    step: float | None
    multiline: bool
    choices: tuple[str, ...] | None
    choices_from: Literal["checkpoints", "adapters", "images", "videos"] | None
    unit: str | None
    doc: str
    live: bool
    widget: Widget
    max_length: int | None = Field(description="Of a TEXT, in characters; null for other kinds.")


class NodeType(WireModel):
    type_id: str
    version: int
    category: str
    title: str
    doc: str
    inputs: tuple[NodeInput, ...]
    outputs: tuple[NodeOutput, ...]
    params: tuple[NodeParam, ...]
    is_output: bool


class CatalogReply(WireModel):
    nodes: dict[str, NodeType]
