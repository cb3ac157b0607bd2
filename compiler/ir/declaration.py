"""How a node type looks to the compiler: sockets, params, and a way to lower one instance.

Node types themselves live above this room; what arrives here is their declaration, as data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol

from rushes.compiler.ir.inputs import Inputs
from rushes.compiler.ir.lowering import Lowering
from rushes.compiler.ir.values import Value

ParamValue = bool | int | float | str
ParamKind = Literal["INT", "FLOAT", "TEXT", "BOOL", "CHOICE"]
ChoicesFrom = Literal["checkpoints", "adapters", "images", "videos"]
Widget = Literal["seed", "slider", "text", "textarea", "choice", "toggle", "number", "script"]

TEXT_LIMIT = 20_000  # characters of one text param, unless it declares fewer


class SocketType(StrEnum):
    MODEL = "MODEL"
    PROMPT = "PROMPT"
    ADAPTERS = "ADAPTERS"
    SAMPLER = "SAMPLER"
    IMAGE = "IMAGE"
    VIDEO = "VIDEO"
    MASK = "MASK"
    LATENT = "LATENT"
    CONTROL = "CONTROL"
    SESSION = "SESSION"


@dataclass(frozen=True, slots=True)
class Socket:
    """A typed input or output. Only an input may accept several types or stay unconnected."""

    types: tuple[SocketType, ...]
    doc: str
    optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamRule:
    """What a param may hold. `minimum` and `maximum` are inclusive; `choices` is None when open."""

    name: str
    kind: ParamKind
    default: ParamValue
    doc: str
    widget: Widget
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    multiline: bool = False
    choices: tuple[str, ...] | None = None
    choices_from: ChoicesFrom | None = None
    unit: str | None = None
    live: bool = False
    max_length: int = TEXT_LIMIT

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "default": self.default,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "step": self.step,
            "multiline": self.multiline,
            "choices": None if self.choices is None else list(self.choices),
            "choices_from": self.choices_from,
            "unit": self.unit,
            "doc": self.doc,
            "live": self.live,
            "widget": self.widget,
            "max_length": self.max_length if self.kind == "TEXT" else None,
        }


class Lowerable(Protocol):
    """One node with its params filled in."""

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        """Emit stages; return a value per output socket. Errors: raises `to.error(...)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDeclaration:
    type_id: str
    version: int
    category: str
    title: str
    doc: str
    inputs: Mapping[str, Socket]
    outputs: Mapping[str, Socket]
    params: Mapping[str, ParamRule]
    is_output: bool
    make: Callable[..., Lowerable] = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        return {
            "type_id": self.type_id,
            "version": self.version,
            "category": self.category,
            "title": self.title,
            "doc": self.doc,
            "inputs": [
                {
                    "name": name,
                    "types": [socket_type.value for socket_type in socket.types],
                    "optional": socket.optional,
                    "doc": socket.doc,
                }
                for name, socket in self.inputs.items()
            ],
            "outputs": [
                {"name": name, "type": socket.types[0].value, "doc": socket.doc}
                for name, socket in self.outputs.items()
            ],
            "params": [rule.to_json() for rule in self.params.values()],
            "is_output": self.is_output,
        }


@dataclass(frozen=True, slots=True)
class Catalog:
    """The node types known here, by type id."""

    nodes: Mapping[str, NodeDeclaration]

    def to_json(self) -> dict[str, Any]:
        """What GET /api/v1/nodes answers."""
        return {"nodes": {type_id: declared.to_json() for type_id, declared in self.nodes.items()}}
