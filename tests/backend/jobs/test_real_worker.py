"""Server and worker process together, with the model that ships: cancel, death, live control, sharing."""

import os
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from rushes.backend.app import run_server
from rushes.backend.client import AsyncClient, EventStream
from rushes.backend.settings import Settings, Wishes, load_settings
from rushes.backend.wire.v1.events import TERMINAL_EVENTS, ChunkFrames, JobProgress, ServerEvent
from rushes.backend.workers.worker import Worker, WorkerConfig
from tests.backend.serving import template

pytestmark = pytest.mark.asyncio(loop_scope="module")
JPEG = b"\xff\xd8\xff"


@dataclass
class Stage:
    """A client with an open stream of all events, and the worker behind its server."""

    client: AsyncClient
    stream: EventStream
    worker: Worker

    async def submit(self, name: str, **changes: Any) -> str:
        document = template(name)
        for place, value in changes.items():
            node_id, param = place.split("__")
            document["graph"]["nodes"][node_id]["params"][param] = value
        return (await self.client.submit(document)).job.job_id

    async def hear(self, job_id: str, until: Callable[[ServerEvent], bool]) -> list[ServerEvent]:
        """Events of a job, up to the one that answers `until`."""
        heard: list[Any] = []
        async for received in self.stream:
            message = received.message
            if getattr(message, "job_id", None) == job_id:
                heard.append(message)
            if until(message):  # type: ignore[arg-type]
                return heard
        raise AssertionError("the events ended")

    async def hear_end(self, job_id: str) -> list[ServerEvent]:
        return await self.hear(
            job_id,
            lambda event: event.type in TERMINAL_EVENTS and event.job_id == job_id,  # type: ignore[union-attr]
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def serving(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[AsyncClient, Worker]]:
    """One server and worker for all tests here; a worker takes seconds to load."""
    folder = tmp_path_factory.mktemp("server")
    settings = load_settings(Wishes(data_dir=folder, port=0, device="cpu"))
    workers: list[Worker] = []

    def make_worker(settings: Settings) -> Worker:
        workers.append(Worker(WorkerConfig(settings.checkpoint_roots, device=settings.device)))
        return workers[0]

    async with run_server(settings, make_worker) as server, AsyncClient(server.url) as client:
        yield client, workers[0]


@pytest_asyncio.fixture(loop_scope="module")
async def stage(serving: tuple[AsyncClient, Worker]) -> AsyncIterator[Stage]:
    client, worker = serving
    async with client.stream() as stream:
        await stream.subscribe("*")
        yield Stage(client, stream, worker)


def is_end_of_chunk(event: ServerEvent, index: int) -> bool:
    return isinstance(event, ChunkFrames) and event.chunk_index == index and event.is_last_part


def progresses(events: list[ServerEvent]) -> list[JobProgress]:
    return [event for event in events if isinstance(event, JobProgress)]


@pytest.mark.parametrize(
    ("name", "node_id"), [("generate-shapes", "generate"), ("rollout-shapes", "rollout")]
)
async def test_a_cancelled_job_ends_within_a_step_with_one_last_word(stage: Stage, name: str, node_id: str):
    job_id = await stage.submit(name)
    before = await stage.hear(
        job_id, lambda event: isinstance(event, JobProgress) and event.node_id == node_id
    )
    assert progresses(before)[-1].step == 1
    await stage.client.cancel(job_id)
    after = await stage.hear_end(job_id)
    assert after[-1].type == "job.cancelled"
    assert len(progresses(after)) <= 2
    other = await stage.submit("generate-shapes")
    heard = await stage.hear_end(other)
    assert heard[-1].type == "job.completed"
    assert [event for event in heard if getattr(event, "job_id", "") == job_id] == []


async def test_a_killed_worker_comes_back_and_its_job_completes(stage: Stage):
    job_id = await stage.submit("rollout-shapes", rollout__chunk_count=4)
    await stage.hear(job_id, lambda event: isinstance(event, ChunkFrames))
    assert stage.worker.pid is not None
    os.kill(stage.worker.pid, signal.SIGKILL)
    heard = await stage.hear_end(job_id)
    kinds = [event.type for event in heard if event.type in ("job.queued", "job.started", "job.completed")]
    assert kinds == ["job.queued", "job.started", "job.completed"]
    detail = await stage.client.job(job_id)
    assert (detail.job.attempt, len(detail.artifacts)) == (2, 1)
    assert detail.artifacts[0].frame_count == 9 + 3 * 12


async def test_a_live_rollout_answers_to_keys_prompt_and_stop(stage: Stage):
    job_id = await stage.submit("rollout-live")
    await stage.hear(job_id, lambda event: isinstance(event, ChunkFrames))
    await stage.stream.control(job_id, "rollout", seq=1, keys=["w", "d"])
    heard = await stage.hear(job_id, lambda event: isinstance(event, ChunkFrames) and event.control_seq == 1)
    chunk = heard[-1]
    assert isinstance(chunk, ChunkFrames)
    assert set(chunk.keys[-1]) == {"w", "d"}
    await stage.stream.control(job_id, "rollout", seq=2, prompt="a small green star stays still over sand")
    await stage.hear(job_id, lambda event: isinstance(event, ChunkFrames) and event.control_seq == 2)
    await stage.stream.control(job_id, "rollout", seq=3, stop=True)
    heard = await stage.hear_end(job_id)
    assert heard[-1].type == "job.completed"
    (artifact,) = (await stage.client.job(job_id)).artifacts
    last = max(event.frame_index + event.frame_count for event in heard if isinstance(event, ChunkFrames))
    assert artifact.frame_count == last


async def test_chunks_are_whole_pictures_in_order_without_a_hole(stage: Stage):
    job_id = await stage.submit("rollout-shapes", rollout__chunk_count=3)
    next_frame = 0
    async for received in stage.stream:
        message = received.message
        if isinstance(message, ChunkFrames):
            assert message.frame_index == next_frame
            next_frame += message.frame_count
            assert len(received.frames) == message.frame_count
            assert all(frame.startswith(JPEG) for frame in received.frames)
        if message.type in TERMINAL_EVENTS:
            break
    assert next_frame == 9 + 2 * 12
    assert (await stage.client.job(job_id)).artifacts[0].frame_count == next_frame


async def test_raw_frames_are_rows_of_three_bytes(stage: Stage):
    document = template("rollout-shapes")
    document["graph"]["nodes"]["rollout"]["params"]["chunk_count"] = 1
    job_id = (await stage.client.submit(document, chunk_encoding="rgb24")).job.job_id
    async for received in stage.stream:
        if isinstance(received.message, ChunkFrames):
            assert {len(frame) for frame in received.frames} == {96 * 96 * 3}
            break
    await stage.hear_end(job_id)


async def test_a_rollout_waits_for_a_reader_that_does_not_acknowledge(stage: Stage):
    async with stage.client.stream() as slow:
        await slow.subscribe("*", acks=True)
        job_id = await stage.submit("rollout-shapes", rollout__chunk_count=10)
        await stage.hear(job_id, lambda event: is_end_of_chunk(event, 7))
        meanwhile = await stage.submit("generate-shapes")
        heard = await stage.hear(job_id, lambda event: event.type == "job.completed")
        assert (await stage.client.job(meanwhile)).job.state == "completed"
        assert [event for event in heard if isinstance(event, ChunkFrames)] == []
        async for received in slow:
            message = received.message
            if isinstance(message, ChunkFrames) and message.is_last_part:
                await slow.ack(message)
            if message.type in TERMINAL_EVENTS and message.job_id == job_id:
                break
        assert (await stage.client.job(job_id)).job.state == "completed"


async def test_jobs_submitted_together_run_together(stage: Stage):
    jobs = [await stage.submit("generate-shapes", generate__seed=seed) for seed in range(4)]
    waiting, order = set(jobs), []
    async for received in stage.stream:
        message = received.message
        if message.type in ("job.started", "job.completed"):
            order.append(message.type)
        if message.type in TERMINAL_EVENTS:
            waiting.discard(message.job_id)
        if not waiting:
            break
    assert order[:4] == ["job.started"] * 4
    assert order.count("job.completed") == 4
