"""The real worker process, through the class the server uses."""

import asyncio
import contextlib
import io
import json
import os
import signal
from collections import Counter

import av
import numpy as np
import pytest
import pytest_asyncio
from PIL import Image

from rushes.backend.engine.protocol import TERMINAL_TYPES
from rushes.backend.workers.worker import Worker, WorkerConfig, WorkerError
from tests.backend.engine import graphs
from tests.backend.workers.client import METADATA, Client

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(checkpoint_root, tmp_path_factory, shipped_assets):
    worker = Worker(WorkerConfig([checkpoint_root], device="cpu"))
    reader = Client(worker, tmp_path_factory.mktemp("jobs"), shipped_assets)
    await worker.start()
    yield reader
    await reader.close()


def frames_of(path):
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.pix_fmt == "yuv420p"
        return np.stack([f.to_ndarray(format="rgb24") for f in container.decode(stream)]), container.metadata


def raw_frames(events):
    """The frames of `rgb24` chunks, in the order they came."""
    parts = []
    for event in events:
        header = event.header
        assert sum(header["frame_bytes"]) == len(event.payload)
        shape = (header["frame_count"], header["height_px"], header["width_px"], 3)
        parts.append(np.frombuffer(event.payload, np.uint8).reshape(shape))
    return np.concatenate(parts)


async def test_ready_says_what_the_device_is(client):
    ready = client.events[0].header

    assert ready["type"] == "worker.ready"
    assert ready["device"] == "cpu"
    assert client.worker.state == "ready"


async def test_generate_writes_the_video_it_reports(client, checkpoint_root):
    end = await client.run("generate", graphs.generate(checkpoint_root))

    assert end["type"] == "job.completed"
    artifact = client.artifact("generate")
    frames, metadata = frames_of(artifact["path"])
    assert frames.shape == (artifact["frame_count"], artifact["height_px"], artifact["width_px"], 3)
    assert frames.shape == (9, 32, 48, 3)
    assert artifact["fps"] == 16.0
    assert json.loads(metadata["comment"]) == METADATA
    assert {"denoise", "decode", "total"} <= end["timings"].keys()


async def test_a_generate_reports_each_step_and_shows_it(client, checkpoint_root):
    await client.run("steps", graphs.generate(checkpoint_root, seed=50, step_count=4))

    steps = [event.header["step"] for event in client.of("steps", "job.progress")]
    assert steps == [1, 2, 3, 4]
    preview = client.of("steps", "preview.frame")[-1]
    first_bytes = preview.payload[: preview.header["frame_bytes"][0]]
    assert Image.open(io.BytesIO(first_bytes)).size == (48, 32)
    assert len(preview.payload) == sum(preview.header["frame_bytes"])
    assert preview.header["node_id"] == "generate"


async def test_nodes_start_and_finish_once_and_in_order(client, checkpoint_root):
    await client.run("nodes", graphs.generate(checkpoint_root, seed=60))

    kinds = [
        (e.header["type"], e.header["node_id"]) for e in client.of("nodes") if "node." in e.header["type"]
    ]
    assert max(Counter(kinds).values()) == 1
    for node in ("model", "prompt", "generate", "save"):
        assert kinds.index(("node.started", node)) < kinds.index(("node.finished", node))


async def test_the_same_seed_gives_the_same_latent_and_another_seed_another(client, checkpoint_root):
    hashes = []
    for job_id, seed in (("seed-a", 1), ("seed-b", 2)):
        await client.run(job_id, graphs.generate(checkpoint_root, seed=seed))
        hashes.append(client.artifact(job_id)["latent_sha256"])
    await client.run("seed-c", graphs.generate(checkpoint_root, seed=1, frame_count=9))

    assert client.artifact("seed-c")["latent_sha256"] == hashes[0]
    assert hashes[0] != hashes[1]


async def test_an_unchanged_part_of_a_job_is_not_computed_again(client, checkpoint_root):
    spec = graphs.generate(checkpoint_root, seed=70)
    await client.run("first", spec)
    await client.run("again", spec)

    cached = {e.header["node_id"]: e.header["is_cached"] for e in client.of("again", "node.finished")}
    assert cached == {"model": True, "prompt": True, "generate": True, "save": False}
    assert client.of("again", "job.progress") == []
    assert client.artifact("again")["latent_sha256"] == client.artifact("first")["latent_sha256"]


async def test_an_edit_runs_from_a_clip_and_a_mask(client, checkpoint_root):
    end = await client.run("edit", graphs.edit(checkpoint_root))

    assert end["type"] == "job.completed"
    assert client.artifact("edit")["frame_count"] == 9


async def test_an_edit_that_keeps_all_has_the_latent_of_its_source(client, checkpoint_root, tiny):
    await client.run("kept", graphs.edit(checkpoint_root, box=(1.0, 1.0, 0.01, 0.01)))
    await client.run("none-kept", graphs.edit(checkpoint_root, box=(0.0, 0.0, 1.0, 1.0)))

    source = graphs.encoded_source(tiny, client.assets[graphs.CLIP], frame_count=9)
    assert client.artifact("kept")["latent_sha256"] == source
    assert client.artifact("none-kept")["latent_sha256"] != source


async def test_a_scripted_rollout_sends_its_frames_in_parts_and_writes_them(client, checkpoint_root):
    spec = graphs.rollout(checkpoint_root, chunk_count=3, actions=graphs.SCRIPT)
    end = await client.run("rollout", spec, chunk_encoding="rgb24")

    assert end["type"] == "job.completed"
    chunks = client.of("rollout", "chunk.frames")
    assert [(c.header["chunk_index"], c.header["part_index"]) for c in chunks] == [
        (chunk, part) for chunk in range(3) for part in range(3)
    ]
    assert [c.header["frame_count"] for c in chunks] == [1, 4, 4, 4, 4, 4, 4, 4, 4]
    assert chunks[3].header["keys"] == [["d", "w"], ["d", "w"], ["d"]]
    written, _ = frames_of(client.artifact("rollout")["path"])
    assert written.shape[0] == raw_frames(chunks).shape[0] == 33


async def test_a_rollout_is_the_same_each_time(client, checkpoint_root):
    spec = graphs.rollout(checkpoint_root, chunk_count=2, actions=graphs.SCRIPT)
    frames = []
    for job_id in ("once", "twice"):
        await client.run(job_id, spec, chunk_encoding="rgb24")
        frames.append(raw_frames(client.of(job_id, "chunk.frames")))

    assert np.array_equal(*frames)
    assert client.artifact("once")["latent_sha256"] == client.artifact("twice")["latent_sha256"]


async def test_chunks_travel_as_jpeg_unless_asked_otherwise(client, checkpoint_root):
    await client.run("jpeg", graphs.rollout(checkpoint_root, chunk_count=1))

    chunk = client.of("jpeg", "chunk.frames")[1]
    sizes = chunk.header["frame_bytes"]
    second = chunk.payload[sizes[0] : sizes[0] + sizes[1]]
    assert Image.open(io.BytesIO(second)).size == (48, 32)


@pytest.mark.parametrize(
    "start",
    [("load_image", {"file": graphs.PICTURE}), ("load_video", {"file": graphs.CLIP})],
    ids=["picture", "clip"],
)
async def test_a_rollout_from_a_start_sends_only_what_comes_after_it(client, checkpoint_root, start):
    job_id = f"start-{start[0]}"
    end = await client.run(job_id, graphs.rollout(checkpoint_root, chunk_count=2, start=start))

    assert end["type"] == "job.completed"
    assert [c.header["frame_count"] for c in client.of(job_id, "chunk.frames")] == [4] * 6
    assert client.artifact(job_id)["frame_count"] == 24


async def test_cancel_during_generate_ends_the_job_early(client, checkpoint_root):
    await client.submit("cancel-g", graphs.generate(checkpoint_root, seed=80, frame_count=81, step_count=200))
    await client.until(lambda: client.of("cancel-g", "job.progress"))
    await client.worker.cancel("cancel-g")

    end = await client.end_of("cancel-g")

    assert end["type"] == "job.cancelled"
    assert len(client.of("cancel-g", "job.progress")) < 200


async def test_cancel_during_a_rollout_ends_it_with_one_terminal_event(client, checkpoint_root):
    await client.submit("cancel-r", graphs.rollout(checkpoint_root, chunk_count=0))
    await client.until(lambda: client.of("cancel-r", "chunk.frames"))
    await client.worker.cancel("cancel-r")
    await client.worker.cancel("cancel-r")

    assert (await client.end_of("cancel-r"))["type"] == "job.cancelled"
    await client.run("after", graphs.generate(checkpoint_root, seed=81))
    kinds = Counter(event.header["type"] for event in client.of("cancel-r"))
    assert sum(kinds[kind] for kind in TERMINAL_TYPES) == 1
    assert client.of("cancel-r")[-1].header["type"] == "job.cancelled"
    assert list((client.tmp_path / "cancel-r").iterdir()) == []


async def test_a_stopped_rollout_keeps_what_it_made(client, checkpoint_root):
    await client.submit("stop", graphs.rollout(checkpoint_root, chunk_count=0))
    await client.worker.control("stop", "rollout", seq=1, wanted_chunk=3, stop=True)

    assert (await client.end_of("stop"))["type"] == "job.completed"
    assert client.artifact("stop")["frame_count"] == 33


async def test_live_keys_and_prompts_take_effect_and_say_so(client, checkpoint_root):
    await client.submit("live", graphs.rollout(checkpoint_root, chunk_count=0, actions=graphs.LIVE))
    await client.until(lambda: client.of("live", "chunk.frames"))
    await client.worker.control("live", "rollout", seq=7, keys=["d", "w", "unheard of"])
    await client.worker.control("live", "rollout", seq=8, prompt="night")
    await client.worker.control("live", "rollout", seq=7, keys=["s"])
    await client.until(lambda: any(c.header["control_seq"] == 8 for c in client.of("live", "chunk.frames")))
    await client.worker.control("live", "rollout", seq=9, stop=True)
    await client.end_of("live")

    applied = [e.header for e in client.of("live", "control.applied")]
    assert {e["seq"] for e in applied} == {7, 8}
    steered = [c.header for c in client.of("live", "chunk.frames") if c.header["control_seq"] == 8]
    assert steered[0]["keys"] == [["w", "d"]] * 3
    assert steered[0]["chunk_index"] == max(e["chunk_index"] for e in applied)


async def test_jobs_beside_each_other_come_out_as_alone(client, checkpoint_root):
    specs = {f"beside-{seed}": graphs.generate(checkpoint_root, seed=seed, step_count=6) for seed in (90, 91)}
    for job_id, spec in specs.items():
        await client.submit(job_id, spec)
    for job_id in specs:
        assert (await client.end_of(job_id))["type"] == "job.completed"


async def test_a_missing_asset_fails_its_job_by_name(client, checkpoint_root):
    end = await client.run("lost", graphs.edit(checkpoint_root, clip=graphs.GONE))

    assert (end["type"], end["code"], end["node_id"]) == ("job.failed", "E_ASSET_MISSING", "source")
    failed = client.of("lost", "node.failed")
    assert [event.header["node_id"] for event in failed] == ["source"]


async def test_a_job_whose_branch_fails_delivers_the_other_branch(client, checkpoint_root):
    await client.worker.submit(
        "half",
        graphs.two_outputs(checkpoint_root),
        assets={},
        output_dir=client.tmp_path / "half",
        metadata={},
    )

    end = await client.end_of("half")

    assert end["type"] == "job.failed"
    assert [e.header["node_id"] for e in client.of("half", "artifact.created")] == ["save"]


async def test_a_killed_worker_names_its_jobs_and_comes_back(client, checkpoint_root):
    await client.submit("victim", graphs.rollout(checkpoint_root, chunk_count=0))
    await client.until(lambda: client.of("victim", "chunk.frames"))
    ready_before = sum(e.header["type"] == "worker.ready" for e in client.events)
    os.kill(client.worker.pid, signal.SIGKILL)

    await client.until(lambda: any(e.header["type"] == "worker.died" for e in client.events))
    died = next(e.header for e in client.events if e.header["type"] == "worker.died")
    assert died == {"type": "worker.died", "exit_code": -9, "job_ids": ["victim"]}
    with contextlib.suppress(WorkerError):
        await client.submit("too-early", graphs.generate(checkpoint_root))
    await client.until(
        lambda: sum(e.header["type"] == "worker.ready" for e in client.events) == ready_before + 1
    )
    assert (await client.run("reborn", graphs.generate(checkpoint_root)))["type"] == "job.completed"


async def test_a_process_that_cannot_start_is_given_up(tmp_path):
    config = WorkerConfig([tmp_path], python="/bin/false", backoff_s=(0.0,), starts_max=2)
    worker = Worker(config)

    with pytest.raises(WorkerError, match="broken"):
        await worker.start()

    kinds = [event.header["type"] async for event in worker.events()]
    assert kinds == ["worker.died", "worker.died"]
    with pytest.raises(WorkerError, match="broken"):
        await worker.submit("x", graphs.EMPTY, assets={}, output_dir=tmp_path, metadata={})


async def test_a_worker_that_is_still_loading_can_be_stopped(checkpoint_root):
    worker = Worker(WorkerConfig([checkpoint_root]))
    starting = asyncio.create_task(worker.start())
    while worker.pid is None:
        await asyncio.sleep(0.01)

    await worker.stop()

    with pytest.raises(WorkerError, match="stop"):
        await starting
    assert [event async for event in worker.events()] == []


async def test_a_worker_without_checkpoints_is_ready_and_drains_on_stop(tmp_path):
    worker = Worker(WorkerConfig([tmp_path], device="cpu"))
    await worker.start()
    pid = worker.pid
    await worker.stop()

    assert worker.state == "stopped"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
