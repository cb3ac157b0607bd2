"""Checkpoints and adapters on this machine."""

from __future__ import annotations

import asyncio

from ...present import present_adapter, present_checkpoint
from ...wire.v1.bodies import AdaptersReply, CheckpointsReply
from ..route import Call, Route


async def list_models(call: Call) -> CheckpointsReply:
    shelf = await asyncio.to_thread(call.services.models.read)
    found = sorted(shelf.checkpoints.values(), key=lambda facts: facts.checkpoint)
    return CheckpointsReply(checkpoints=tuple(present_checkpoint(facts) for facts in found))


async def list_adapters(call: Call) -> AdaptersReply:
    shelf = await asyncio.to_thread(call.services.models.read)
    found = sorted(shelf.adapters.values(), key=lambda facts: facts.adapter)
    return AdaptersReply(adapters=tuple(present_adapter(facts) for facts in found))


ROUTES = (
    Route(
        method="GET",
        path="/models",
        handler=list_models,
        reply=CheckpointsReply,
        summary="Checkpoints with their facts.",
    ),
    Route(method="GET", path="/adapters", handler=list_adapters, reply=AdaptersReply, summary="Adapters."),
)
