"""ComfyUI nodes that only build: each adds its node to the fragment on its wires. Nothing runs yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from . import forms, labels
from .choices import Choices
from .declarations import Declaration
from .failure import RushesError
from .fragment import Fragment, Node, Source, Wire, make_node
from .incoming import as_wire


class GraphNode:
    """A node type of the catalog."""

    declaration: ClassVar[Declaration]
    catalog: ClassVar[Mapping[str, Declaration]]
    choices: ClassVar[Choices]
    FUNCTION = "build"

    @classmethod
    def INPUT_TYPES(cls) -> forms.Form:
        return forms.form(cls.declaration, cls.choices)

    def build(self, **given: Any) -> tuple[Wire, ...]:
        node, fragment = added(self.declaration, given, self.catalog)
        return tuple(
            Wire(fragment, Source(node.node_id, output.name), output.type)
            for output in self.declaration.outputs
        )


def added(
    declaration: Declaration, given: Mapping[str, Any], catalog: Mapping[str, Declaration]
) -> tuple[Node, Fragment]:
    """The node with what is connected to it. Errors: RushesError."""
    wires = {}
    for socket in declaration.inputs:
        value = given.get(socket.name)
        if value is not None:
            wires[socket.name] = as_wire(value, socket, catalog)
        elif not socket.optional:
            raise RushesError(labels.missing_input(socket.name))
    params = forms.param_values(declaration.params, given)
    return make_node(declaration.type_id, declaration.version, params, wires)


def graph_node(
    declaration: Declaration, catalog: Mapping[str, Declaration], choices: Choices
) -> type[GraphNode]:
    """The class ComfyUI makes its node of."""
    content = {
        "declaration": declaration,
        "catalog": catalog,
        "choices": choices,
        "CATEGORY": f"{labels.MENU}/{declaration.category}",
        "DESCRIPTION": declaration.doc,
        "RETURN_TYPES": tuple(forms.wire_type(output.type) for output in declaration.outputs),
        "RETURN_NAMES": tuple(output.name for output in declaration.outputs),
        "OUTPUT_TOOLTIPS": tuple(output.doc for output in declaration.outputs),
        "VALIDATE_INPUTS": classmethod(forms.accept_unknown_choices(declaration)),
    }
    return type(class_name(declaration.type_id), (GraphNode,), content)


def class_name(type_id: str) -> str:
    """load_model -> RushesLoadModel."""
    return "Rushes" + "".join(word.capitalize() for word in type_id.split("_"))
