"""What a person reads when there is no server, another one, a token too few, or a job that fails."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.backend.serving import ScriptedWorker, Submitted, run_to_the_end, serving, until_true
from tests.nodes.comfy.standin import ComfyUI

PROMPT: dict[str, Any] = {
    "1": {"class_type": "RushesLoadModel", "inputs": {}},
    "2": {"class_type": "RushesPrompt", "inputs": {}},
    "3": {"class_type": "RushesGenerateVideo", "inputs": {"model": ["1", 0], "prompt": ["2", 0]}},
    "4": {"class_type": "RushesPreview", "inputs": {"video": ["3", 0]}},
}


async def message(comfyui: ComfyUI) -> str:
    with pytest.raises(comfyui.part("failure").RushesError) as caught:
        await comfyui.run(PROMPT)
    return str(caught.value)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_no_server_tells_the_command_that_starts_one(comfyui: ComfyUI):
    url = f"http://127.0.0.1:{free_port()}"
    comfyui.settings(url=url)
    told = await message(comfyui)
    assert url in told
    assert "rushes serve" in told
    assert str(comfyui.pack_folder / "settings.json") in told


async def test_a_wrong_token_tells_where_the_right_one_goes(comfyui: ComfyUI, tmp_path: Path):
    async with serving(tmp_path / "rushes", token="sesame") as serve:
        comfyui.settings(url=serve.server.url, token="open")
        told = await message(comfyui)
        assert "refuses the token" in told
        assert "settings.json" in told
        assert "open" not in told.replace("again", "")


async def test_the_right_token_is_let_in(comfyui: ComfyUI, tmp_path: Path):
    async with serving(tmp_path / "rushes", ScriptedWorker(on_submit=made_preview), token="sesame") as serve:
        comfyui.settings(url=serve.server.url, token="sesame")
        await comfyui.run(PROMPT)
        assert [file["type"] for file in comfyui.shown.ui["4"]["images"]] == ["temp"]


async def test_something_else_at_the_address_is_named_so(comfyui: ComfyUI):
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="<h1>hello</h1>", status=404)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port := free_port())
    await site.start()
    comfyui.settings(url=f"http://127.0.0.1:{port}")
    assert "not as a Rushes server does (status 404)" in await message(comfyui)
    await runner.cleanup()


async def test_a_job_that_fails_names_the_node(comfyui: ComfyUI, tmp_path: Path):
    def fail(worker: ScriptedWorker, job: Submitted) -> None:
        node_id = next(output.node_id for output in job.spec.outputs)
        worker.say("job.failed", job_id=job.job_id, code="E_OOM", message="out of memory", node_id=node_id)

    async with serving(tmp_path / "rushes", ScriptedWorker(on_submit=fail)) as serve:
        comfyui.settings(url=serve.server.url)
        assert await message(comfyui) == "Rushes failed at Rushes Preview: out of memory"


async def test_a_job_cancelled_at_the_server_says_so(comfyui: ComfyUI, tmp_path: Path):
    def cancel(worker: ScriptedWorker, job: Submitted) -> None:
        worker.say("job.cancelled", job_id=job.job_id)

    async with serving(tmp_path / "rushes", ScriptedWorker(on_submit=cancel)) as serve:
        comfyui.settings(url=serve.server.url)
        assert "was cancelled at the Rushes server" in await message(comfyui)


async def test_a_job_that_made_no_file_says_so(comfyui: ComfyUI, tmp_path: Path):
    async with serving(tmp_path / "rushes", ScriptedWorker(on_submit=run_to_the_end)) as serve:
        comfyui.settings(url=serve.server.url)
        assert await message(comfyui) == "Rushes finished without a file of Rushes Preview."


def made_preview(worker: ScriptedWorker, job: Submitted) -> None:
    worker.artifact(job, node_id=next(output.node_id for output in job.spec.outputs))
    worker.complete(job.job_id)


async def test_a_server_that_comes_back_with_its_queue_finishes_the_job(comfyui: ComfyUI, tmp_path: Path):
    port = free_port()
    folder = tmp_path / "rushes"
    first = ScriptedWorker()
    comfyui.settings(url=f"http://127.0.0.1:{port}")
    async with serving(folder, first, port=port):
        running = asyncio.create_task(comfyui.run(PROMPT))
        await until_true(lambda: len(first.submitted) == 1)
    async with serving(folder, ScriptedWorker(on_submit=made_preview), port=port):
        await running
    assert comfyui.shown.ui["4"]["images"]


async def test_a_server_that_comes_back_without_its_queue_says_so(comfyui: ComfyUI, tmp_path: Path):
    port = free_port()
    first = ScriptedWorker()
    comfyui.settings(url=f"http://127.0.0.1:{port}")
    async with serving(tmp_path / "one", first, port=port):
        running = asyncio.create_task(message(comfyui))
        await until_true(lambda: len(first.submitted) == 1)
    async with serving(tmp_path / "another", port=port):
        assert "no longer knows this job" in await running


async def test_a_server_that_hangs_up_for_good_says_so(
    comfyui: ComfyUI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(comfyui.part("events"), "RETRY_S", (0.05,))
    worker = ScriptedWorker()
    async with serving(tmp_path / "rushes", worker) as serve:
        comfyui.settings(url=serve.server.url)
        running = asyncio.create_task(message(comfyui))
        await until_true(lambda: len(worker.submitted) == 1)
    assert "stopped answering while it was at work" in await running
