"""The machine the compiler's tests compile for, as plain facts, and a short way to write workflows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rushes.compiler.compile import Compiled, compile_workflow
from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.facts import AdapterFacts, AssetFacts, CheckpointFacts, Target
from rushes.compiler.ir.spec import PipelineSpec, StageSpec
from rushes.nodes.catalog import load_catalog

CATALOG = load_catalog()

SHAPES = CheckpointFacts(
    checkpoint="shapes",
    family="wan",
    title="Shapes",
    latent_channels=16,
    spatial=8,
    temporal=4,
    patch=2,
    width_px=96,
    height_px=96,
    sizes_fixed=True,
    fps=16,
    frame_count_default=45,
    frame_count_max=93,
    chunk_latent_frames=3,
    step_count=4,
    flow_shift=3.0,
    guidance_scale=1.0,
    samplers=("euler", "unipc"),
    precisions=("fp32", "bf16"),
    control_keys=("w", "a", "s", "d"),
    capabilities=frozenset({"per_token_timesteps", "rollout", "edit", "adapters", "start_image"}),
    content_id="c" * 64,
)
# A large model of the same family: any size on its lattice, no keys, full precision only where asked.
WIDE = replace(
    SHAPES,
    checkpoint="wide",
    width_px=832,
    height_px=480,
    sizes_fixed=False,
    frame_count_max=121,
    step_count=50,
    flow_shift=5.0,
    guidance_scale=5.0,
    samplers=("unipc",),
    precisions=("bf16",),
    control_keys=(),
    capabilities=frozenset({"edit"}),
)
TARGET = Target(
    checkpoints={"shapes": SHAPES, "wide": WIDE},
    adapters={"neon": AdapterFacts("neon", "a" * 64, 900_000), "ink": AdapterFacts("ink", "b" * 64, 1)},
    assets={
        "shapes-source.mp4": AssetFacts("shapes-source.mp4", "video", 96, 96, 45, 16.0, "d" * 64),
        "long.mp4": AssetFacts("long.mp4", "video", 640, 360, 50, 25.0, "e" * 64),
        "photo.png": AssetFacts("photo.png", "image", 300, 200, 1, 0.0, "f" * 64),
    },
)

Nodes = Mapping[str, tuple[str, Mapping[str, object]]]


def workflow(nodes: Nodes, edges: Sequence[str], **more: object) -> dict[str, Any]:
    """A document. `nodes`: id to (type, params); `edges`: "model.model > generate.model"."""
    ends = [[end.split(".") for end in edge.split(" > ")] for edge in edges]
    return {
        "schema": "rushes.workflow/1",
        "graph": {
            "nodes": {node_id: {"type": kind, "params": params} for node_id, (kind, params) in nodes.items()},
            "edges": {f"e{index}": {"from": start, "to": end} for index, (start, end) in enumerate(ends)},
        },
        **more,
    }


def generating(**params: object) -> dict[str, Any]:
    """The smallest workflow that makes a video, `generate` with the params given."""
    return workflow(
        {
            "model": ("load_model", {}),
            "prompt": ("prompt", {"text": "a star"}),
            "generate": ("generate_video", params),
            "save": ("save_video", {}),
        },
        [
            "model.model > generate.model",
            "prompt.prompt > generate.prompt",
            "generate.video > save.video",
        ],
    )


def editing(mask: tuple[str, Mapping[str, object]] = ("latent_mask", {}), **params: object) -> dict[str, Any]:
    """A workflow that edits the shipped clip under one mask."""
    return workflow(
        {
            "model": ("load_model", {}),
            "prompt": ("prompt", {"text": "a star"}),
            "source": ("load_video", {}),
            "mask": mask,
            "edit": ("edit_video", params),
            "save": ("save_video", {}),
        },
        [
            "model.model > edit.model",
            "prompt.prompt > edit.prompt",
            "source.video > edit.source",
            "mask.mask > edit.mask",
            "edit.video > save.video",
        ],
    )


def rolling(
    actions: tuple[str, Mapping[str, object]] = ("action_script", {}), **params: object
) -> dict[str, Any]:
    """A workflow that rolls out under the given actions."""
    return workflow(
        {
            "model": ("load_model", {}),
            "prompt": ("prompt", {"text": "a star"}),
            "actions": actions,
            "rollout": ("streaming_rollout", params),
            "save": ("save_video", {}),
        },
        [
            "model.model > rollout.model",
            "prompt.prompt > rollout.prompt",
            "actions.actions > rollout.actions",
            "rollout.video > save.video",
        ],
    )


def compiling(document: object, *, targets: Sequence[str] | None = None, target: Target = TARGET) -> Compiled:
    return compile_workflow(document, CATALOG, target, targets=targets)  # type: ignore[arg-type]


def spec_of(
    document: object, *, targets: Sequence[str] | None = None, target: Target = TARGET
) -> PipelineSpec:
    """The spec of a workflow that must compile."""
    compiled = compiling(document, targets=targets, target=target)
    assert compiled.spec is not None, [str(found) for found in compiled.diagnostics]
    return compiled.spec


def stage_of(spec: PipelineSpec, op: str) -> StageSpec:
    """The only stage of an op."""
    (stage,) = [stage for stage in spec.stages if stage.op == op]
    return stage


def errors_of(document: object, *, targets: Sequence[str] | None = None) -> list[Diagnostic]:
    compiled = compiling(document, targets=targets)
    return [found for found in compiled.diagnostics if found.severity == "error"]


def only_error(document: object, *, targets: Sequence[str] | None = None) -> Diagnostic:
    """The one error of a workflow that must have exactly one."""
    errors = errors_of(document, targets=targets)
    assert len(errors) == 1, [str(found) for found in errors]
    return errors[0]


def codes_of(document: object, severity: str) -> list[str]:
    return [found.code for found in compiling(document).diagnostics if found.severity == severity]


def with_subgraphs(document: dict[str, Any], subgraphs: Mapping[str, object]) -> dict[str, Any]:
    """The document with definitions; its instances are nodes of type ("subgraph", params) by name."""
    document["graph"]["subgraphs"] = subgraphs
    return document


def definition(
    nodes: Nodes,
    edges: Sequence[str],
    *,
    inputs: Mapping[str, Sequence[str]] | None = None,
    outputs: Mapping[str, str] | None = None,
    params: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """A subgraph; a node ("subgraph:look", {}) stands for another. Ends are written "node.name"."""
    inner = workflow(nodes, edges)["graph"]
    return {
        "nodes": instances(inner["nodes"]),
        "edges": inner["edges"],
        "inputs": {name: {"to": [end.split(".") for end in ends]} for name, ends in (inputs or {}).items()},
        "outputs": {name: {"from": end.split(".")} for name, end in (outputs or {}).items()},
        "params": {name: {"to": [end.split(".") for end in ends]} for name, ends in (params or {}).items()},
    }


def instances(nodes: dict[str, Any]) -> dict[str, Any]:
    """Nodes with "subgraph:look" for a type made instances of look."""
    for node in nodes.values():
        kind, mark, subgraph = node["type"].partition(":")
        if mark:
            node |= {"type": kind, "subgraph": subgraph}
    return nodes
