"""The Python client against a real server; the test plays the worker."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from rushes.backend.client import AsyncClient, Client, ClientError
from rushes.backend.wire.v1.events import ChunkFrames, Hello, JobProgress, PreviewFrame
from tests.backend.artifacts.media_files import png
from tests.backend.serving import ScriptedWorker, run_to_the_end, serving, template, until_true


async def test_submit_wait_and_download(tmp_path: Path):
    async with (
        serving(tmp_path, ScriptedWorker(on_submit=run_to_the_end)) as serve,
        AsyncClient(serve.server.url) as client,
    ):
        reply = await client.submit(template("generate-shapes"))
        detail = await client.wait(reply.job.job_id)
        assert detail.job.state == "completed"
        await client.download(detail.artifacts[0], tmp_path / "out.mp4")
        assert (tmp_path / "out.mp4").read_bytes() == b"bytes of a video"
        assert list(tmp_path.glob("*.part")) == []
        assert (await client.wait(reply.job.job_id)).job == detail.job


async def test_waiting_begins_before_the_job_ends(tmp_path: Path):
    async with serving(tmp_path) as serve, AsyncClient(serve.server.url) as client:
        job_id = (await client.submit(template("generate-shapes"))).job.job_id
        waiting = asyncio.create_task(client.wait(job_id))
        await serve.until_state(job_id, "running")
        await client.cancel(job_id)
        await until_true(lambda: serve.worker.cancelled == [job_id])
        serve.worker.say("job.cancelled", job_id=job_id)
        assert (await waiting).job.state == "cancelled"


async def test_a_workflow_that_does_not_compile_brings_its_diagnostics(tmp_path: Path):
    async with serving(tmp_path) as serve, AsyncClient(serve.server.url) as client:
        document = template("generate-shapes")
        document["graph"]["nodes"]["generate"]["params"]["frame_count"] = 44
        with pytest.raises(ClientError) as caught:
            await client.submit(document)
        assert caught.value.status == 422
        assert [found.code for found in caught.value.diagnostics] == ["E_OFF_LATTICE"]
        assert not (await client.compile(document)).ok


async def test_previews_and_chunks_come_as_pictures(tmp_path: Path):
    async with serving(tmp_path) as serve, AsyncClient(serve.server.url) as client, client.stream() as stream:
        job_id = (await client.submit(template("rollout-live"))).job.job_id
        await stream.subscribe(job_id, acks=True)
        await serve.until_state(job_id, "running")
        serve.worker.preview(job_id, "rollout", step=2, size=5)
        serve.worker.chunk(job_id, 0, size=7)
        received = await anext(stream)
        while not isinstance(received.message, PreviewFrame):
            received = await anext(stream)
        assert received.frames == (b"\x02" * 5,)
        received = await anext(stream)
        assert isinstance(received.message, ChunkFrames)
        assert received.frames == (bytes(7),)
        await stream.ack(received.message)
        await until_true(lambda: serve.worker.acks == [(job_id, "rollout", 0)])
        await stream.control(job_id, "rollout", seq=1, keys=["a"], prompt="at night")
        await until_true(lambda: len(serve.worker.controls) == 1)
        assert serve.worker.controls[0]["keys"] == ("a",)


async def test_a_stream_that_breaks_goes_on_where_it_was(tmp_path: Path):
    async with serving(tmp_path) as serve, AsyncClient(serve.server.url) as client, client.stream() as stream:
        job_id = (await client.submit(template("generate-shapes"))).job.job_id
        await stream.subscribe(job_id)
        await serve.until_state(job_id, "running")
        serve.worker.progress(job_id, step=1)
        while not isinstance((await anext(stream)).message, JobProgress):
            pass
        await stream.close()
        serve.worker.progress(job_id, step=2)
        received = [await anext(stream), await anext(stream)]
        assert isinstance(received[0].message, Hello)
        assert isinstance(received[1].message, JobProgress)
        assert received[1].message.step == 2


async def test_an_upload_keeps_its_name_whatever_the_letters(tmp_path: Path):
    path = tmp_path / 'my "Ünïcode" picture.png'
    path.write_bytes(png())
    async with serving(tmp_path) as serve, AsyncClient(serve.server.url) as client:
        with pytest.raises(ClientError) as caught:
            await client.upload(path)
        assert caught.value.code == "E_ASSET_NAME"
        reply = await client.upload(path, "my Ünïcode picture.png")
        assert reply.asset.asset == "my Ünïcode picture.png"
        assert "my Ünïcode picture.png" in [each.asset for each in (await client.assets()).assets]


async def test_a_broken_worker_ends_the_wait(tmp_path: Path):
    worker = ScriptedWorker(is_ready_at_start=False)
    async with serving(tmp_path, worker) as serve, AsyncClient(serve.server.url) as client:
        job_id = (await client.submit(template("generate-shapes"))).job.job_id
        waiting = asyncio.create_task(client.wait(job_id))
        await asyncio.sleep(0.05)
        await worker.stop()
        with pytest.raises(ClientError) as caught:
            await waiting
        assert caught.value.code == "E_WORKER_BROKEN"


async def test_a_server_that_is_not_there_is_one_clear_error():
    async with AsyncClient("http://127.0.0.1:9") as client:
        for call in (client.system(), client.submit({}), client.wait("job_0123456789ab")):
            with pytest.raises(ClientError) as caught:
                await call
            assert caught.value.code == "E_CONNECTION"


async def test_the_token_is_sent(tmp_path: Path):
    async with serving(tmp_path, token="s3cret") as serve:
        async with AsyncClient(serve.server.url, token="s3cret") as client, client.stream() as stream:
            assert (await client.system()).worker.state == "ready"
            assert stream.hello.jobs == ()
        async with AsyncClient(serve.server.url) as client:
            with pytest.raises(ClientError) as caught:
                await client.system()
            assert caught.value.code == "E_UNAUTHORIZED"


async def test_the_plain_client_does_the_same_from_another_thread(tmp_path: Path):
    def work(url: str) -> tuple[str, list[str]]:
        with Client(url) as client:
            job_id = client.submit(template("rollout-shapes")).job.job_id
            kinds = []
            for received in client.events(job_id, since=0, acks=True):
                kinds.append(received.message.type)
                if received.message.type == "job.completed":
                    break
            return client.wait(job_id).job.state, kinds

    def run(worker, job) -> None:
        for index in range(3):
            worker.chunk(job.job_id, index, parts=2)
        worker.complete(job.job_id)

    async with serving(tmp_path, ScriptedWorker(on_submit=run)) as serve:
        state, kinds = await asyncio.to_thread(work, serve.server.url)
        assert state == "completed"
        assert kinds.count("chunk.frames") == 6


def test_the_client_needs_no_torch_no_database_and_no_compiler():
    code = (
        "import sys, rushes.backend.client\n"
        "heavy = ('torch', 'numpy', 'sqlalchemy', 'av', 'rushes.compiler')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
