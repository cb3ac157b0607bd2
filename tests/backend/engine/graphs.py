"""Workflows of the tests, compiled as the server compiles them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from rushes.backend.engine.media.reading import read_video
from rushes.backend.engine.media.resizing import held_to, resized
from rushes.backend.engine.stages.decode import latent_sha256
from rushes.backend.models.content_id import content_id
from rushes.backend.models.registry import find_adapters, find_checkpoints
from rushes.compiler.compile import compile_workflow
from rushes.compiler.ir.facts import AdapterFacts, AssetFacts, Target
from rushes.compiler.ir.spec import PipelineSpec, StageSpec
from rushes.nodes.catalog import load_catalog

CLIP = "shapes-source.mp4"
PICTURE = "shapes-start.png"
GONE = "gone.mp4"
"""A clip the compiler knows of and no job is given."""
Node = tuple[str, Mapping[str, Any]]


def target_of(root: Path, device_kind: str = "cpu") -> Target:
    checkpoints = {name: facts for name, (_, _, facts) in find_checkpoints([root]).items()}
    adapters = {
        name: AdapterFacts(name, content_id(path.parent, [path]), path.stat().st_size)
        for name, path in find_adapters([root]).items()
    }
    assets = {
        CLIP: AssetFacts(CLIP, "video", 96, 96, 45, 16.0, "clip"),
        GONE: AssetFacts(GONE, "video", 96, 96, 45, 16.0, "gone"),
        PICTURE: AssetFacts(PICTURE, "image", 96, 96, 1, 0.0, "picture"),
    }
    return Target(checkpoints, adapters, assets, device_kind)


def compiled(root: Path, nodes: Mapping[str, Node], edges: Sequence[str], **options: Any) -> PipelineSpec:
    """Edges as `prompt.prompt > generate.prompt`. Fails when the compiler has a word against it."""
    document = {
        "schema": "rushes.workflow/1",
        "graph": {
            "nodes": {
                name: {"type": type_id, "version": 1, "params": dict(params)}
                for name, (type_id, params) in nodes.items()
            },
            "edges": {f"e{index}": _edge(text) for index, text in enumerate(edges)},
        },
    }
    result = compile_workflow(document, load_catalog(), target_of(root), **options)
    errors = [str(found) for found in result.diagnostics if found.severity == "error"]
    assert not errors, errors
    assert result.spec is not None
    return result.spec


def _edge(text: str) -> dict[str, list[str]]:
    start, _, end = text.partition(" > ")
    return {"from": start.split("."), "to": end.split(".")}


MODEL: Node = ("load_model", {"checkpoint": "tiny"})
PROMPT: Node = ("prompt", {"text": "a red circle"})
SAVE: Node = ("save_video", {"name": "made"})


def generate(
    root: Path, *, seed: int = 0, frame_count: int = 9, step_count: int = 3, guidance: float = 1.0
) -> PipelineSpec:
    nodes = {
        "model": MODEL,
        "prompt": PROMPT,
        "sampler": ("sampler_settings", {"step_count": step_count, "guidance_scale": guidance}),
        "generate": (
            "generate_video",
            {"width_px": 48, "height_px": 32, "frame_count": frame_count, "seed": seed},
        ),
        "save": SAVE,
    }
    edges = [
        "model.model > generate.model",
        "prompt.prompt > generate.prompt",
        "sampler.sampler > generate.sampler",
        "generate.video > save.video",
    ]
    return compiled(root, nodes, edges)


def edit(
    root: Path, *, box: tuple[float, float, float, float] = (0.0, 0.0, 0.5, 1.0), clip: str = CLIP
) -> PipelineSpec:
    """Make the left of a clip anew."""
    x, y, width, height = box
    nodes = {
        "model": MODEL,
        "prompt": PROMPT,
        "source": ("load_video", {"file": clip}),
        "region": ("latent_mask", {"x": x, "y": y, "width": width, "height": height}),
        "edit": ("edit_video", {"frame_count": 9}),
        "save": SAVE,
    }
    edges = [
        "model.model > edit.model",
        "prompt.prompt > edit.prompt",
        "source.video > edit.source",
        "region.mask > edit.mask",
        "edit.video > save.video",
    ]
    return compiled(root, nodes, edges)


def rollout(
    root: Path,
    *,
    chunk_count: int = 3,
    actions: Node | None = None,
    start: Node | None = None,
    window_frames: int = 6,
) -> PipelineSpec:
    nodes: dict[str, Node] = {
        "model": MODEL,
        "prompt": PROMPT,
        "rollout": ("streaming_rollout", {"chunk_count": chunk_count, "window_frames": window_frames}),
        "save": SAVE,
    }
    edges = [
        "model.model > rollout.model",
        "prompt.prompt > rollout.prompt",
        "rollout.video > save.video",
    ]
    if actions is not None:
        nodes["actions"] = actions
        edges.append("actions.actions > rollout.actions")
    if start is not None:
        nodes["start"] = start
        socket = "image" if start[0] == "load_image" else "video"
        edges.append(f"start.{socket} > rollout.start")
    return compiled(root, nodes, edges)


SCRIPT: Node = ("action_script", {"script": "w*3, w+d*2, d*4"})
LIVE: Node = ("live_actions", {})
EMPTY = PipelineSpec(stages=(), outputs=())


def two_outputs(root: Path) -> PipelineSpec:
    """A generated clip that is saved, and an edit of a clip that is saved too."""
    generated, edited = generate(root, seed=77), edit(root, clip=GONE)
    renamed = [replace(stage, node_id=f"edit-{stage.node_id}") for stage in edited.stages]
    names = {value: f"edited-{value}" for stage in edited.stages for _, value in stage.writes}

    def apart(stage: StageSpec) -> StageSpec:
        reads = tuple((port, names[value]) for port, value in stage.reads)
        writes = tuple((port, names[value]) for port, value in stage.writes)
        return replace(stage, reads=reads, writes=writes)

    return PipelineSpec((*(apart(stage) for stage in renamed), *generated.stages), generated.outputs)


def encoded_source(components: Any, path: Path, frame_count: int) -> str:
    """The latent hash of the first frames of a clip, at the checkpoint's size."""
    frames = resized(held_to(read_video(path).frames, frame_count), 48, 32)
    return latent_sha256(components.encode_video(torch.tensor(frames)))


def rollout_into_overlay(root: Path) -> PipelineSpec:
    """A counted rollout painted over by a mask, which needs it whole."""
    nodes = {
        "model": MODEL,
        "prompt": PROMPT,
        "rollout": ("streaming_rollout", {"chunk_count": 2}),
        "region": ("latent_mask", {}),
        "overlay": ("mask_overlay", {}),
        "save": SAVE,
    }
    edges = [
        "model.model > rollout.model",
        "prompt.prompt > rollout.prompt",
        "rollout.video > overlay.video",
        "region.mask > overlay.mask",
        "overlay.video > save.video",
    ]
    return compiled(root, nodes, edges)
