"""`rushes models`: checkpoints and adapters on this machine, or on a server."""

from __future__ import annotations

import argparse
import asyncio

from ...client import ClientError
from ...wire.v1.bodies import AdaptersReply, CheckpointsReply
from ..report import as_refusal, print_json, print_lines, table
from ..server_choice import open_client


def execute(arguments: argparse.Namespace) -> int:
    checkpoints, adapters = asyncio.run(_read(arguments))
    if arguments.json:
        print_json(checkpoints.model_dump(mode="json") | adapters.model_dump(mode="json"))
        return 0
    rows = [("checkpoint", "family", "size", "fps", "can")]
    rows += [
        (
            found.checkpoint,
            found.family,
            f"{found.width_px}x{found.height_px}",
            str(found.fps),
            " ".join(found.capabilities),
        )
        for found in checkpoints.checkpoints
    ]
    print_lines(table(rows))
    print_lines(["", *table([("adapter", "bytes"), *((a.adapter, str(a.bytes)) for a in adapters.adapters)])])
    return 0


async def _read(arguments: argparse.Namespace) -> tuple[CheckpointsReply, AdaptersReply]:
    try:
        async with open_client(arguments, computes=False) as client:
            return await client.models(), await client.adapters()
    except ClientError as error:
        raise as_refusal(error) from error
