"""The pack against a real server with the shipped model, inside the stand-in ComfyUI."""

import json
from pathlib import Path
from typing import Any

import av
import pytest
import torch
from PIL import Image

from tests.nodes.comfy.conftest import RealServer
from tests.nodes.comfy.standin import (
    PACK,
    ComfyUI,
    Given,
    InterruptProcessingException,
    VideoFromFile,
    prompt_of,
)

EXAMPLES = sorted((PACK / "example_workflows").glob("*.json"))


@pytest.fixture
def comfy(comfyui: ComfyUI, server: RealServer) -> ComfyUI:
    """A ComfyUI that knows the server."""
    comfyui.settings(url=server.url)
    return comfyui


def node(class_type: str, **inputs: Any) -> dict[str, Any]:
    return {"class_type": class_type, "inputs": inputs}


def generating(seed: int, **outputs: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": node("RushesLoadModel", checkpoint="shapes"),
        "prompt": node("RushesPrompt", text="a large red circle moves left over a blue ground"),
        "video": node("RushesGenerateVideo", model=["model", 0], prompt=["prompt", 0], seed=seed),
        **outputs,
    }


def rolling(chunk_count: int, seed: int) -> dict[str, Any]:
    return {
        "model": node("RushesLoadModel"),
        "prompt": node("RushesPrompt"),
        "video": node(
            "RushesStreamingRollout",
            model=["model", 0],
            prompt=["prompt", 0],
            chunk_count=chunk_count,
            seed=seed,
        ),
        "look": node("RushesPreview", video=["video", 0]),
    }


def newest_job(server: RealServer) -> dict[str, Any]:
    job: dict[str, Any] = server.get("/jobs")["jobs"][0]
    return job


def job_ids(server: RealServer) -> set[str]:
    return {job["job_id"] for job in server.get("/jobs")["jobs"]}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
async def test_an_example_workflow_runs(comfy: ComfyUI, path: Path):
    prompt = prompt_of(json.loads(path.read_text()), comfy.classes)
    results = await comfy.run(prompt)
    made = [results[node_id][0] for node_id, each in prompt.items() if each["class_type"] in SHOWN]
    assert made
    for value in made:
        frames = value if isinstance(value, torch.Tensor) else value.get_components().images
        assert frames.shape == (45, 96, 96, 3)
    assert comfy.shown.previews, "no live preview was shown"
    assert comfy.shown.progress[-1] == (1000, 1000)


SHOWN = ("PreviewImage", "SaveVideo", "RushesSaveVideo")


def test_there_are_two_examples_and_they_use_every_way_out():
    types = {each["type"] for path in EXAMPLES for each in json.loads(path.read_text())["nodes"]}
    assert len(EXAMPLES) == 2
    assert {"RushesPreview", "RushesSaveVideo", "RushesRenderVideo", "RushesRenderImage"} <= types


async def test_nodes_that_are_ready_together_are_one_job(comfy: ComfyUI, server: RealServer):
    before = job_ids(server)
    prompt = generating(
        101,
        save=node("RushesSaveVideo", video=["video", 0], name="one"),
        look=node("RushesPreview", video=["video", 0]),
        frames=node("RushesRenderImage", video=["video", 0]),
        show=node("PreviewImage", images=["frames", 0]),
    )
    results = await comfy.run(prompt)
    (job_id,) = job_ids(server) - before
    types = [
        each["type"] for each in server.get(f"/jobs/{job_id}/workflow")["document"]["graph"]["nodes"].values()
    ]
    assert sorted(types) == ["generate_video", "load_model", "preview", "prompt", "save_video", "save_video"]
    assert results["show"][0].shape == (45, 96, 96, 3)
    assert results["frames"][1:] == (16.0, 45)


async def test_a_saved_clip_opens_in_both(comfy: ComfyUI):
    """ComfyUI's workflow lies beside ours in the file."""
    results = await comfy.run(generating(102, save=node("RushesSaveVideo", video=["video", 0], name="both")))
    path = results["save"][0].file
    assert comfy.shown.ui["save"] == {
        "images": [{"filename": Path(path).name, "subfolder": "", "type": "output"}],
        "animated": (True,),
    }
    with av.open(path) as container:
        tags = dict(container.metadata)
    assert json.loads(tags["prompt"])["video"]["class_type"] == "RushesGenerateVideo"
    assert json.loads(tags["workflow"]) == {"nodes": []}
    assert "generate_video-" in tags["comment"]


async def test_an_unchanged_prompt_asks_the_server_nothing(comfy: ComfyUI, server: RealServer):
    prompt = generating(103, look=node("RushesPreview", video=["video", 0]))
    await comfy.run(prompt)
    before = job_ids(server)
    await comfy.run(prompt)
    assert job_ids(server) == before


async def test_picture_clip_and_mask_of_other_packs_come_in(comfy: ComfyUI, server: RealServer, root: Path):
    mask = torch.zeros(1, 96, 96)
    mask[:, 24:72] = 1.0
    clip = VideoFromFile(str(root / "workflows" / "assets" / "shapes-source.mp4"))
    with Image.open(root / "workflows" / "assets" / "shapes-start.png") as image:
        pixels = torch.frombuffer(bytearray(image.convert("RGB").tobytes()), dtype=torch.uint8)
    Given.values = {"mask": mask, "clip": clip, "picture": pixels.reshape(1, 96, 96, 3).float() / 255.0}
    prompt = {
        "model": node("RushesLoadModel"),
        "prompt": node("RushesPrompt", text="a large yellow star moves right over a blue ground"),
        **{name: node("Given", name=name) for name in Given.values},
        "edit": node(
            "RushesEditVideo",
            model=["model", 0],
            prompt=["prompt", 0],
            source=["clip", 0],
            mask=["mask", 0],
            seed=1,
        ),
        "edited": node("RushesPreview", video=["edit", 0]),
        "rollout": node(
            "RushesStreamingRollout",
            model=["model", 0],
            prompt=["prompt", 0],
            start=["picture", 0],
            chunk_count=1,
            seed=2,
        ),
        "rolled": node("RushesPreview", video=["rollout", 0]),
        "still": node("RushesSaveImage", image=["picture", 0], name="still"),
    }
    results = await comfy.run(prompt)
    assert torch.equal(results["still"][0], Given.values["picture"])
    assets = server.get("/assets")["assets"]
    assert sorted(asset["kind"] for asset in assets if asset["asset"].startswith("comfyui-")) == [
        "image",
        "video",
    ]
    prompt["edit"]["inputs"]["seed"] = 3
    await comfy.run(prompt)
    assert server.get("/assets")["assets"] == assets


async def test_an_interrupt_cancels_the_job_and_is_passed_on(comfy: ComfyUI, server: RealServer):
    comfy.after_preview = comfy.interrupt
    with pytest.raises(InterruptProcessingException):
        await comfy.run(rolling(200, seed=104))
    server.until_state(newest_job(server)["job_id"], "cancelled")


async def test_an_interrupt_of_one_node_of_two_ends_both(comfy: ComfyUI, server: RealServer):
    comfy.after_preview = comfy.interrupt
    prompt = rolling(200, seed=105)
    prompt["save"] = node("RushesSaveVideo", video=["video", 0], name="never")
    with pytest.raises(InterruptProcessingException):
        await comfy.run(prompt)
    server.until_state(newest_job(server)["job_id"], "cancelled")
    assert list((comfy.folder / "output").iterdir()) == []


async def test_a_rollout_without_end_is_refused_and_left_running_nowhere(comfy: ComfyUI, server: RealServer):
    with pytest.raises(comfy.part("failure").RushesError, match="Set its chunk_count above 0"):
        await comfy.run(rolling(0, seed=106))
    server.until_state(newest_job(server)["job_id"], "cancelled")


async def test_what_does_not_compile_names_the_node_and_a_value_that_works(comfy: ComfyUI):
    prompt = generating(107, look=node("RushesPreview", video=["video", 0]))
    prompt["video"]["inputs"]["frame_count"] = 44
    with pytest.raises(comfy.part("failure").RushesError) as caught:
        await comfy.run(prompt)
    assert "Rushes Generate video, frame_count: " in str(caught.value)
    assert "Try 45" in str(caught.value)


async def test_the_menus_offer_what_the_server_has(comfy: ComfyUI):
    choices, _ = comfy.classes["RushesLoadVideo"].INPUT_TYPES()["optional"]["file"]
    assert "shapes-source.mp4" in choices
    checkpoints, _ = comfy.classes["RushesLoadModel"].INPUT_TYPES()["optional"]["checkpoint"]
    assert checkpoints == ["shapes"]


async def test_a_server_that_dies_at_work_is_told_on_the_node(
    comfyui: ComfyUI, mortal_server: RealServer, monkeypatch: pytest.MonkeyPatch
):
    comfyui.settings(url=mortal_server.url)
    monkeypatch.setattr(comfyui.part("events"), "RETRY_S", (0.05, 0.05))
    comfyui.after_preview = mortal_server.kill
    with pytest.raises(
        comfyui.part("failure").RushesError, match="stopped answering while it was at work"
    ) as caught:
        await comfyui.run(rolling(200, seed=108))
    assert "rushes serve" in str(caught.value)
