"""Declare a node type: one frozen dataclass gives the form, the schema, the docs page and the check.

@dataclass(frozen=True, kw_only=True)
class Blur(NodeType):
    '''Blur every frame.'''

    type_id = "blur"
    title = "Blur"
    inputs = {"video": Socket((SocketType.VIDEO,), "What to blur.")}
    outputs = {"video": Socket((SocketType.VIDEO,), "The blurred clip.")}

    radius_px: int = param(4, ge=1, le=64, unit="px", doc="Radius.")

    def lower(self, to, inputs): ...
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, TypedDict, Unpack

from rushes.compiler.ir.declaration import (
    Catalog,
    ChoicesFrom,
    NodeDeclaration,
    ParamKind,
    ParamRule,
    ParamValue,
    Socket,
    SocketType,
    Widget,
)
from rushes.compiler.ir.inputs import Inputs
from rushes.compiler.ir.lowering import Lowering
from rushes.compiler.ir.values import Value

__all__ = ["Catalog", "Inputs", "Lowering", "NodeType", "Socket", "SocketType", "Value", "param"]

_KINDS: Mapping[str, ParamKind] = {"int": "INT", "float": "FLOAT", "str": "TEXT", "bool": "BOOL"}
_RULE = "rushes.param"


class ParamOptions(TypedDict, total=False):
    ge: float
    le: float
    step: float
    unit: str
    multiline: bool
    max_length: int
    choices: tuple[str, ...]
    choices_from: ChoicesFrom
    widget: Widget
    live: bool


def param(default: ParamValue, *, doc: str, **options: Unpack[ParamOptions]) -> Any:
    """A dataclass field that is a param of the node. Its kind follows from the annotation.

    `ge`, `le`: inclusive bounds. `choices`: a closed list; `choices_from`: a list the machine knows.
    `live`: may be changed while a rollout runs. `widget` is chosen by kind unless given.
    """
    return dataclasses.field(default=default, metadata={_RULE: {"doc": doc, **options}})


class NodeType:
    """Base of every node type. Subclasses are frozen dataclasses whose fields are params."""

    type_id: ClassVar[str]
    title: ClassVar[str]
    version: ClassVar[int] = 1
    is_output: ClassVar[bool] = False
    inputs: ClassVar[Mapping[str, Socket]] = {}
    outputs: ClassVar[Mapping[str, Socket]] = {}

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        """Emit stages that name ops, never kernels, devices or batch sizes."""
        raise NotImplementedError(f"{type(self).__name__} declares no lowering")


def declare(node_type: type[NodeType], category: str) -> NodeDeclaration:
    """The declaration of a node type. ValueError if it is not a frozen dataclass with a docstring."""
    if not dataclasses.is_dataclass(node_type) or not node_type.__doc__:
        raise ValueError(f"{node_type.__name__} must be a dataclass with a docstring")
    rules = [_rule(field) for field in dataclasses.fields(node_type)]
    return NodeDeclaration(
        type_id=node_type.type_id,
        version=node_type.version,
        category=category,
        title=node_type.title,
        doc=inspect.cleandoc(node_type.__doc__),
        inputs=node_type.inputs,
        outputs=node_type.outputs,
        params={rule.name: rule for rule in rules},
        is_output=node_type.is_output,
        make=node_type,
    )


def _rule(field: dataclasses.Field[Any]) -> ParamRule:
    options: dict[str, Any] = dict(field.metadata[_RULE])
    is_choice = "choices" in options or "choices_from" in options
    annotation = field.type.__name__ if isinstance(field.type, type) else str(field.type)
    kind: ParamKind = "CHOICE" if is_choice else _KINDS[annotation]
    options["minimum"] = options.pop("ge", None)
    options["maximum"] = options.pop("le", None)
    options.setdefault("widget", _widget(field.name, kind, options))
    default: Any = field.default
    return ParamRule(name=field.name, kind=kind, default=default, **options)


def _widget(name: str, kind: ParamKind, options: Mapping[str, Any]) -> Widget:
    if kind == "CHOICE":
        return "choice"
    if kind == "BOOL":
        return "toggle"
    if kind == "TEXT":
        return "textarea" if options.get("multiline") else "text"
    if name == "seed":
        return "seed"
    bounded = options["minimum"] is not None and options["maximum"] is not None
    return "slider" if kind == "FLOAT" and bounded else "number"
