"""Every template compiles to its golden, and lies in the editor without overlaps."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rushes.compiler.compile import explain
from tests.compiler.target import CATALOG, compiling, spec_of, stage_of

TEMPLATES = (
    "all-five",
    "extend-shapes",
    "generate-shapes",
    "lora-shapes",
    "mask-edit-shapes",
    "rollout-live",
    "rollout-shapes",
)


def template(root: Path, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((root / "workflows" / f"{name}.json").read_text(encoding="utf-8"))
    return document


def height(type_id: str) -> int:
    """How tall the editor draws a node 256 wide: header, sockets, params, key pad, picture."""
    declared = CATALOG.nodes[type_id]
    sockets = {kind for socket in declared.outputs.values() for kind in socket.types}
    shown = (
        {kind for socket in declared.inputs.values() for kind in socket.types}
        if declared.is_output
        else set()
    )
    tall = [rule.widget in ("textarea", "script") for rule in declared.params.values()]
    rows = 41 + 24 * max(len(declared.inputs), len(declared.outputs)) + sum(76 if one else 24 for one in tall)
    key_pad = 90 if "CONTROL" in sockets and type_id == "live_actions" else 0
    return rows + key_pad + (186 if {"VIDEO", "IMAGE"} & (sockets | shown) else 0)


def test_the_templates_are_those_listed(root: Path) -> None:
    assert tuple(sorted(path.stem for path in (root / "workflows").glob("*.json"))) == TEMPLATES


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_compiles_to_its_golden_without_a_word(
    root: Path, golden: Callable[[str, str], None], name: str
) -> None:
    compiled = compiling(template(root, name))

    assert compiled.diagnostics == ()
    assert compiled.spec is not None
    golden(name, explain(compiled.spec))


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_node_and_param_of_a_template_is_written_out(root: Path, name: str) -> None:
    for node_id, node in template(root, name)["graph"]["nodes"].items():
        declared = CATALOG.nodes[node["type"]]
        assert node_id.isidentifier()
        assert node["version"] == declared.version
        assert list(node["params"]) == list(declared.params)


@pytest.mark.parametrize("name", TEMPLATES)
def test_nodes_of_a_template_stand_apart_and_edges_lead_to_the_right(root: Path, name: str) -> None:
    document = template(root, name)
    places = document["view"]["nodes"]
    assert set(places) == set(document["graph"]["nodes"])
    columns: dict[int, list[tuple[int, int]]] = {}
    for node_id, place in places.items():
        end = place["y"] + height(document["graph"]["nodes"][node_id]["type"])
        columns.setdefault(place["x"], []).append((place["y"], end))
    assert all(right - left >= 320 for left, right in pairwise(sorted(columns)))
    for spans in columns.values():
        assert all(above[1] + 16 <= below[0] for above, below in pairwise(sorted(spans)))
    for edge in document["graph"]["edges"].values():
        assert places[edge["from"][0]]["x"] < places[edge["to"][0]]["x"]


def test_the_scripted_rollout_has_237_frames(root: Path) -> None:
    rollout = stage_of(spec_of(template(root, "rollout-shapes")), "rollout")

    assert 9 + 12 * (rollout.trip_count - 1) == 237


def test_all_five_kinds_meet_in_one_graph(root: Path) -> None:
    ops = {stage.op for stage in spec_of(template(root, "all-five")).stages}

    assert {"denoise", "stack_adapters", "latent_mask", "temporal_mask", "combine_masks", "rollout"} <= ops


@pytest.mark.parametrize(("name", "target"), [("mask-edit-shapes", "look"), ("mask-edit-shapes", "region")])
def test_a_mask_of_a_template_is_seen_without_a_model(root: Path, name: str, target: str) -> None:
    spec = spec_of(template(root, name), targets=[target])

    assert "load_model" not in {stage.op for stage in spec.stages}
