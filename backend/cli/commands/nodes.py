"""`rushes nodes`: what can be wired."""

from __future__ import annotations

import argparse
import asyncio

from ...client import ClientError
from ...wire.v1.catalog import CatalogReply, NodeType
from ..refusal import refuse
from ..report import as_refusal, print_json, print_lines, table
from ..server_choice import open_client


def execute(arguments: argparse.Namespace) -> int:
    """Errors: CommandRefused for a type that is not there."""
    catalog = asyncio.run(_read(arguments))
    if arguments.type is not None and arguments.type not in catalog.nodes:
        known = ", ".join(sorted(catalog.nodes))
        raise refuse("E_UNKNOWN_NODE_TYPE", f"expected a node type ({known}), got {arguments.type!r}")
    if arguments.json:
        shown = catalog if arguments.type is None else catalog.nodes[arguments.type]
        print_json(shown.model_dump(mode="json"))
    elif arguments.type is not None:
        print_lines(_describe(catalog.nodes[arguments.type]))
    else:
        nodes = sorted(catalog.nodes.values(), key=lambda node: (node.category, node.type_id))
        print_lines(table([(node.category, node.type_id, node.doc.splitlines()[0]) for node in nodes]))
    return 0


async def _read(arguments: argparse.Namespace) -> CatalogReply:
    try:
        async with open_client(arguments, computes=False) as client:
            return await client.nodes()
    except ClientError as error:
        raise as_refusal(error) from error


def _describe(node: NodeType) -> list[str]:
    lines = [f"{node.type_id}  {node.title}", "", node.doc]
    inputs = [
        (f"  {socket.name}{'?' if socket.optional else ''}", " or ".join(socket.types), socket.doc)
        for socket in node.inputs
    ]
    params = [
        (f"  {param.name}", param.kind, f"{param.doc} Default: {param.default!r}.") for param in node.params
    ]
    outputs = [(f"  {socket.name}", socket.type, socket.doc) for socket in node.outputs]
    for title, rows in (("inputs", inputs), ("params", params), ("outputs", outputs)):
        if rows:
            lines += ["", title, *table(rows)]
    return lines
