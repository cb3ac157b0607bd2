"""Rushes inside ComfyUI: link this folder into `custom_nodes`. README.md beside this file says how."""

from __future__ import annotations

from . import labels
from .choices import Choices
from .declarations import read_declarations
from .graph_nodes import graph_node
from .output_nodes import RENDERERS, output_node, render_node
from .settings import read_settings
from .together import Together

__all__ = ["NODE_CLASS_MAPPINGS", "NODE_DISPLAY_NAME_MAPPINGS", "WEB_DIRECTORY"]

LEFT_OUT = frozenset({"live_actions"})
"""Node types that could not do their work here: ComfyUI sends no live keys yet."""


def _make_nodes() -> dict[str, tuple[type, str]]:
    """Class and title by class name."""
    catalog, choices = read_declarations(), Choices(read_settings)
    together = Together(catalog)
    made: list[tuple[type, str]] = []
    for declaration in catalog.values():
        if declaration.type_id in LEFT_OUT:
            continue
        if declaration.is_output:
            node: type = output_node(declaration, catalog, choices, together)
        else:
            node = graph_node(declaration, catalog, choices)
        made.append((node, declaration.title))
    for title, base in RENDERERS.items():
        made.append((render_node(base, catalog, choices, together), title))
    return {node.__name__: (node, labels.display_name(title)) for node, title in made}


_NODES = _make_nodes()
NODE_CLASS_MAPPINGS = {name: node for name, (node, _) in _NODES.items()}
NODE_DISPLAY_NAME_MAPPINGS = {name: title for name, (_, title) in _NODES.items()}
WEB_DIRECTORY = "./web"
