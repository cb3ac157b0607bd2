"""A declaration as ComfyUI wants it: sockets and widgets with types and options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import labels
from .choices import Choices
from .declarations import Declaration, Param, ParamValue, Socket

OF_COMFYUI = frozenset({"IMAGE", "VIDEO", "MASK"})
"""Types that ComfyUI has too, and that our sockets take from other packs."""

_WIDGETS: Mapping[str, str] = {"INT": "INT", "FLOAT": "FLOAT", "TEXT": "STRING", "BOOL": "BOOLEAN"}
_PYTHON: Mapping[str, type] = {"INT": int, "FLOAT": float, "TEXT": str, "BOOL": bool, "CHOICE": str}

Form = dict[str, dict[str, tuple[Any, dict[str, Any]]]]


def wire_type(socket_type: str) -> str:
    """The name on ComfyUI's wires."""
    return f"RUSHES_{socket_type}"


def form(declaration: Declaration, choices: Choices) -> Form:
    """Params are optional for ComfyUI, so that a prompt written for an older catalog still runs."""
    required = {socket.name: socket_input(socket) for socket in declaration.inputs if not socket.optional}
    optional = {socket.name: socket_input(socket) for socket in declaration.inputs if socket.optional}
    widgets = {param.name: widget(param, choices) for param in declaration.params}
    return {"required": required, "optional": {**optional, **widgets}}


def socket_input(socket: Socket) -> tuple[str, dict[str, Any]]:
    ours = [wire_type(socket_type) for socket_type in socket.types]
    theirs = [socket_type for socket_type in socket.types if socket_type in OF_COMFYUI]
    return ",".join([*ours, *theirs]), {"tooltip": socket.doc}


def widget(param: Param, choices: Choices) -> tuple[Any, dict[str, Any]]:
    options: dict[str, Any] = {"default": param.default, "tooltip": labels.tooltip(param.doc, param.unit)}
    if param.kind == "CHOICE":
        return _choice(param, choices, options)
    bounds = {"min": param.minimum, "max": param.maximum, "step": param.step}
    options.update({name: bound for name, bound in bounds.items() if bound is not None})
    if param.kind == "FLOAT":
        options["round"] = False
    if param.widget == "slider":
        options["display"] = "slider"
    if param.widget == "seed":
        options["control_after_generate"] = True
    if param.kind == "TEXT":
        options["multiline"] = param.multiline
    return _WIDGETS[param.kind], options


def _choice(param: Param, choices: Choices, options: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    if param.choices_from is None:
        return list(param.choices or ()), options
    known = list(choices.known(param.choices_from))
    if param.default not in known:
        options["default"] = known[0] if known else param.default
    return known or [str(param.default)], options


def param_values(params: Iterable[Param], given: Mapping[str, Any]) -> dict[str, ParamValue]:
    """Every param with its value or default, of the type it was declared with."""
    return {param.name: _PYTHON[param.kind](given.get(param.name, param.default)) for param in params}


def accept_unknown_choices(declaration: Declaration) -> Callable[..., bool]:
    """ComfyUI would check a choice against the list it was given last; the server knows better."""

    def validate(cls: type, **values: Any) -> bool:
        return True

    names = [param.name for param in declaration.params if param.choices_from is not None]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in ("cls", *names)]
    validate.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return validate
