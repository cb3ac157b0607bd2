"""All models of the protocol as one JSON Schema, for the OpenAPI document and the generated types."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Literal

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import models_json_schema

from . import bodies, catalog, commands, diagnostics, events, records
from .model import WireModel

PREFIX = "#/components/schemas/"
_MODULES: tuple[ModuleType, ...] = (diagnostics, records, catalog, bodies, events, commands)


def wire_models() -> tuple[type[WireModel], ...]:
    """Every public message and part, in the order of the files."""
    return tuple(model for module in _MODULES for model in _own_models(module))


def json_schema() -> dict[str, dict[str, JsonValue]]:
    """Name -> JSON Schema of each model. References read `#/components/schemas/<name>`."""
    modes: list[tuple[type[BaseModel], Literal["validation"]]] = [(m, "validation") for m in wire_models()]
    _, document = models_json_schema(modes, ref_template=PREFIX + "{model}")
    definitions: dict[str, dict[str, JsonValue]] = document["$defs"]
    return definitions


def _own_models(module: ModuleType) -> Iterator[type[WireModel]]:
    for name, value in vars(module).items():
        is_model = isinstance(value, type) and issubclass(value, WireModel)
        if is_model and value.__module__ == module.__name__ and not name.startswith("_"):
            yield value
