"""What ends a node's run with a message for a person."""

from __future__ import annotations


class RushesError(Exception):
    """ComfyUI shows its text on the node, under the name of its class."""

    __module__ = "rushes"
