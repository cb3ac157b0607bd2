"""A declaration gives the form, the schema and the check."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest

from rushes.compiler.ir.declaration import SocketType
from rushes.nodes.catalog import load_catalog
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, Value, declare, param


@dataclass(frozen=True, kw_only=True)
class Blur(NodeType):
    """Blur every frame.

    Twice.
    """

    type_id = "blur"
    title = "Blur"
    inputs: ClassVar = {"video": Socket((SocketType.VIDEO, SocketType.IMAGE), "What to blur.", optional=True)}
    outputs: ClassVar = {"video": Socket((SocketType.VIDEO,), "The blurred clip.")}

    radius_px: float = param(4.0, ge=1.0, le=64.0, step=0.5, unit="px", doc="Radius.")
    seed: int = param(0, ge=0, doc="Seed.")
    note: str = param("", multiline=True, max_length=9, live=True, doc="Note.")
    way: str = param("box", choices=("box", "round"), doc="Kind.")
    clip: str = param("", choices_from="videos", doc="Clip.")
    enabled: bool = param(True, doc="On.")

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        return {}


def test_a_declaration_becomes_the_json_of_the_catalog():
    document = declare(Blur, "video").to_json()

    assert document["type_id"] == "blur"
    assert document["category"] == "video"
    assert document["doc"] == "Blur every frame.\n\nTwice."
    assert document["inputs"] == [
        {"name": "video", "types": ["VIDEO", "IMAGE"], "optional": True, "doc": "What to blur."}
    ]
    assert document["outputs"] == [{"name": "video", "type": "VIDEO", "doc": "The blurred clip."}]
    radius = document["params"][0]
    assert (radius["kind"], radius["minimum"], radius["maximum"], radius["step"], radius["unit"]) == (
        "FLOAT",
        1.0,
        64.0,
        0.5,
        "px",
    )
    kinds = {rule["name"]: (rule["kind"], rule["widget"], rule["live"]) for rule in document["params"]}
    assert kinds == {
        "radius_px": ("FLOAT", "slider", False),
        "seed": ("INT", "seed", False),
        "note": ("TEXT", "textarea", True),
        "way": ("CHOICE", "choice", False),
        "clip": ("CHOICE", "choice", False),
        "enabled": ("BOOL", "toggle", False),
    }


def test_a_node_type_without_a_docstring_is_refused():
    class Silent(NodeType):
        type_id = "silent"

    with pytest.raises(ValueError, match="docstring"):
        declare(Silent, "video")


HEART = {
    "adapters": {"lora"},
    "conditioning": {"prompt"},
    "io": {"load_image", "load_video", "preview", "save_image", "save_video"},
    "mask": {"combine_masks", "latent_mask", "mask_overlay", "temporal_mask"},
    "model": {"load_model", "sampler_settings"},
    "rollout": {"action_script", "live_actions", "streaming_rollout"},
    "sampling": {"edit_video", "generate_video"},
}


def test_every_node_of_the_heart_is_found_by_listing_its_folder():
    found: dict[str, set[str]] = {}
    for declared in load_catalog().nodes.values():
        found.setdefault(declared.category, set()).add(declared.type_id)

    assert found == HEART


@pytest.mark.parametrize("type_id", sorted(load_catalog().nodes))
def test_every_default_is_a_value_its_own_rule_allows(type_id):
    for rule in load_catalog().nodes[type_id].params.values():
        assert rule.doc.endswith(".")
        if rule.choices is not None:
            assert rule.default in rule.choices
        if rule.kind in ("INT", "FLOAT"):
            assert rule.minimum is not None
            assert rule.maximum is not None
            assert rule.minimum <= rule.default <= rule.maximum
            assert type(rule.default) is (int if rule.kind == "INT" else float)


def test_a_seed_is_a_number_a_browser_can_hold():
    seeds = [node.params["seed"] for node in load_catalog().nodes.values() if "seed" in node.params]

    assert {rule.maximum for rule in seeds} == {2**53 - 1}
