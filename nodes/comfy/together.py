"""Orders that come at the same moment run as one job, so that what they share is computed once.

ComfyUI starts every node that is ready before it waits for any. A preview, a file and frames of one video are
three nodes there; here they are three outputs of one workflow.
"""

from __future__ import annotations

import asyncio

from . import job
from .settings import Settings

GATHER_S = 0.03
END_S = 5.0


class Together:
    """Gathers orders for a moment, then runs them."""

    def __init__(self, catalog: job.Catalog) -> None:
        self._catalog = catalog
        self._open: dict[tuple[asyncio.AbstractEventLoop, Settings], _Group] = {}

    async def run(self, order: job.Order, settings: Settings) -> job.Made:
        """The order's file. When every order of a job is cancelled, so is the job. Errors: RushesError."""
        key = (asyncio.get_running_loop(), settings)
        group = self._open.get(key)
        if group is None or group.task.done():
            group = _Group()
            group.task = asyncio.create_task(self._work(key, group))
            self._open[key] = group
        outcome = await group.join(order)
        title = job.placed(order.fragment, self._catalog)(order.node_id)
        return outcome.of(order.node_id, title or order.node_id)

    async def _work(self, key: tuple[asyncio.AbstractEventLoop, Settings], group: _Group) -> job.Outcome:
        try:
            await asyncio.sleep(GATHER_S)
        finally:
            self._open.pop(key, None)
        return await job.run(tuple(group.orders), key[1], self._catalog)


class _Group:
    """Orders of one job, and how many still wait for it."""

    def __init__(self) -> None:
        self.task: asyncio.Task[job.Outcome]
        self.orders: list[job.Order] = []
        self._waiting = 0

    async def join(self, order: job.Order) -> job.Outcome:
        self.orders.append(order)
        self._waiting += 1
        try:
            return await asyncio.shield(self.task)
        except asyncio.CancelledError:
            self._waiting -= 1
            if self._waiting == 0:
                await end(self.task)
            raise


async def end(task: asyncio.Task[job.Outcome]) -> None:
    """Cancel it, unless that is under way, and wait until it has cleaned up."""
    if not task.done() and not task.cancelling():
        task.cancel()
    await asyncio.wait({task}, timeout=END_S)
    if task.done() and not task.cancelled():
        task.exception()  # looked at, so that asyncio does not report it
