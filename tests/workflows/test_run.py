"""Every template runs on the shipped model, through the real worker."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rushes.backend.models.content_id import content_id
from rushes.backend.models.registry import find_adapters, find_checkpoints
from rushes.backend.workers.worker import Worker, WorkerConfig
from rushes.compiler.compile import compile_workflow
from rushes.compiler.ir.facts import AdapterFacts, AssetFacts, Target
from rushes.compiler.ir.spec import PipelineSpec
from rushes.nodes.catalog import load_catalog
from tests.backend.workers.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

MADE: Mapping[str, Mapping[str, int]] = {
    "generate-shapes": {"save": 45},
    "mask-edit-shapes": {"save": 45, "look": 45},
    "extend-shapes": {"save": 81},
    "lora-shapes": {"save": 45},
    "rollout-shapes": {"save": 237},
    "rollout-live": {"save": 33},
    "all-five": {},
}
"""Frames of each output, by template and node."""


@pytest.fixture(scope="module")
def roots(root: Path) -> list[Path]:
    """Where the shipped checkpoint lies; before it is committed, where its training left one."""
    for folder in (root / "backend" / "checkpoints", root / ".scratch" / "checkpoints"):
        if "shapes" in find_checkpoints([folder]):
            return [folder]
    pytest.skip("there is no checkpoint called shapes yet")


@pytest.fixture(scope="module")
def assets(root: Path) -> dict[str, Path]:
    return {path.name: path for path in (root / "workflows" / "assets").iterdir()}


@pytest.fixture(scope="module")
def target(roots: list[Path]) -> Target:
    checkpoints = {name: facts for name, (_, _, facts) in find_checkpoints(roots).items()}
    adapters = {
        name: AdapterFacts(name, content_id(path.parent, [path]), path.stat().st_size)
        for name, path in find_adapters(roots).items()
    }
    assets = {
        "shapes-source.mp4": AssetFacts("shapes-source.mp4", "video", 96, 96, 45, 16.0, "source"),
        "shapes-start.png": AssetFacts("shapes-start.png", "image", 96, 96, 1, 0.0, "start"),
    }
    return Target(checkpoints, adapters, assets)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(
    roots: list[Path], assets: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Client]:
    worker = Worker(WorkerConfig(roots, device="cpu"))
    reader = Client(worker, tmp_path_factory.mktemp("jobs"), assets)
    await worker.start()
    yield reader
    await reader.close()


def compiled(root: Path, name: str, target: Target) -> PipelineSpec:
    document: dict[str, Any] = json.loads((root / "workflows" / f"{name}.json").read_text(encoding="utf-8"))
    needed = {
        node["params"]["file"] for node in document["graph"]["nodes"].values() if node["type"] == "lora"
    }
    if missing := needed - target.adapters.keys():
        pytest.skip(f"the checkpoint has no adapter {', '.join(missing)} yet")
    result = compile_workflow(document, load_catalog(), target)
    assert result.spec is not None, [str(found) for found in result.diagnostics]
    return result.spec


@pytest.mark.parametrize("name", MADE)
async def test_a_template_runs(client: Client, root: Path, target: Target, name: str) -> None:
    spec = compiled(root, name, target)
    await client.submit(name, spec)
    if name == "rollout-live":
        await client.worker.control(name, "rollout", seq=1, keys=["d"])
        await client.worker.control(name, "rollout", seq=2, wanted_chunk=3, stop=True)

    end = await client.end_of(name)

    assert end["type"] == "job.completed", end
    artifacts = {event.header["node_id"]: event.header for event in client.of(name, "artifact.created")}
    assert artifacts.keys() == {output.node_id for output in spec.outputs}
    counts = {node: header["frame_count"] for node, header in artifacts.items()}
    assert {node: counts[node] for node in MADE[name]} == MADE[name]
    assert {(header["width_px"], header["height_px"]) for header in artifacts.values()} == {(96, 96)}


async def test_every_template_is_run(root: Path) -> None:
    assert MADE.keys() == {path.stem for path in (root / "workflows").glob("*.json")}
