"""One who submits jobs to a worker and reads its events, as the server does."""

import asyncio

from rushes.backend.engine.protocol import TERMINAL_TYPES

METADATA = {"workflow": {"title": "a <test> & more"}}


class Client:
    """Submits jobs to one worker and sorts what comes back by job."""

    def __init__(self, worker, tmp_path, assets):
        self.worker = worker
        self.tmp_path = tmp_path
        self.assets = assets
        self.events = []
        self._changed = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    async def _read(self):
        async for event in self.worker.events():
            async with self._changed:
                self.events.append(event)
                self._changed.notify_all()
            header = event.header
            if header["type"] == "chunk.frames" and header["part_index"] == header["part_count"] - 1:
                await self.worker.ack(header["job_id"], header["node_id"], header["chunk_index"])

    async def submit(self, job_id, spec, **options):
        folder = self.tmp_path / job_id
        await self.worker.submit(
            job_id, spec, assets=self.assets, output_dir=folder, metadata=METADATA, **options
        )

    def of(self, job_id, kind=None):
        return [
            event
            for event in self.events
            if event.header.get("job_id") == job_id and kind in (None, event.header["type"])
        ]

    async def until(self, found):
        """Wait until `found()` is true; a test that hangs fails after a minute."""
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(found)

    async def end_of(self, job_id):
        """The job's terminal event, waited for."""
        await self.until(lambda: any(e.header["type"] in TERMINAL_TYPES for e in self.of(job_id)))
        return self.of(job_id)[-1].header

    async def run(self, job_id, spec, **options):
        await self.submit(job_id, spec, **options)
        return await self.end_of(job_id)

    def artifact(self, job_id):
        return self.of(job_id, "artifact.created")[-1].header

    async def close(self):
        await self.worker.stop()
        await self._reader
