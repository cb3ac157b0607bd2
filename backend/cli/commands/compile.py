"""`rushes compile`: check a workflow, and show the program it becomes."""

from __future__ import annotations

import argparse
import asyncio

from ...client import ClientError
from ...wire.v1.bodies import CompileReply
from ..prepare import prepare_workflow
from ..report import as_refusal, describe, print_json, print_lines, warn_lines
from ..server_choice import open_client
from ..workflow_file import read_workflow_file


def execute(arguments: argparse.Namespace) -> int:
    """Errors: CommandRefused."""
    reply = asyncio.run(_compile(arguments))
    warn_lines(describe(found) for found in reply.diagnostics)
    if arguments.json:
        print_json(reply.model_dump(mode="json"))
    elif reply.ok:
        text = reply.explain if arguments.explain else f"valid  {reply.spec_hash}  level {reply.level}"
        print_lines([text or ""])
    return 0 if reply.ok else 2


async def _compile(arguments: argparse.Namespace) -> CompileReply:
    document = read_workflow_file(arguments.workflow)
    try:
        async with open_client(arguments, computes=False) as client:
            prepared = await prepare_workflow(document, arguments, client)
            return await client.compile(prepared.document, prepared.targets)
    except ClientError as error:
        raise as_refusal(error) from error
