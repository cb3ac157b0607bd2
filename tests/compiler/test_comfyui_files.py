"""A saved ComfyUI file becomes the prompt that ComfyUI's page would send for it."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rushes.compiler.read.comfyui_classes import known_classes
from rushes.compiler.read.comfyui_file import read_saved_file
from rushes.compiler.read.comfyui_prompt import saved_to_prompt
from rushes.compiler.read.comfyui_widgets import settle_text, widgets_of
from tests.compiler.comfyui import as_objects, node, saved, subgraph

CLASSES = known_classes()
# What the page keeps to itself or draws in the browser: a 3D view, and a link to a node that is not there.
NOT_FROM_FILES = {"api_hunyuan3d_part.json", "29_link_from_absent_node.json"}

MASK = node(1, "SolidMask", [0.5, 64, 48], outputs="MASK")
PASTE = {"inputs": ["destination:MASK:1", "source:MASK:2"], "outputs": "MASK"}


def prompt_of(document: dict[str, Any]) -> dict[str, Any]:
    return saved_to_prompt(read_saved_file(document), CLASSES)


def inputs_of(document: dict[str, Any]) -> dict[str, Any]:
    """The inputs of every node of the prompt, by id."""
    return {node_id: entry["inputs"] for node_id, entry in prompt_of(document).items()}


def sampler(values, *inputs, **more):
    return node(9, "KSampler", values, inputs=inputs, outputs="LATENT", **more)


def test_widget_values_are_taken_by_position_and_control_takes_a_place():
    document = saved([sampler([42, "randomize", 8, 2.5, "euler", "simple", 0.5])])

    assert inputs_of(document)["9"] == {
        "seed": 42, "steps": 8, "cfg": 2.5, "sampler_name": "euler", "scheduler": "simple", "denoise": 0.5,
    }  # fmt: skip


def test_missing_values_are_defaults_and_extra_ones_are_ignored():
    short = inputs_of(saved([sampler([42, "fixed", 8])]))["9"]
    long = inputs_of(saved([sampler([42, "fixed", 8, 1.0, "euler", "simple", 1.0, "more", 5])]))["9"]

    assert (short["cfg"], short["sampler_name"], short["denoise"]) == (8, "euler", 1)
    assert set(short) == set(long)


def test_values_written_by_name_are_taken_by_name():
    assert inputs_of(saved([sampler({"steps": 3, "cfg": 1.5})]))["9"]["steps"] == 3


def test_a_null_choice_is_the_first_or_its_default():
    assert inputs_of(saved([sampler([1, "fixed", 8, 1.0, None, None])]))["9"]["sampler_name"] == "euler"


def test_a_dynamic_choice_brings_its_own_widgets():
    document = saved([node(1, "SaveVideo", ["v/x", "mp4", "h264", "re-encode", 18, "auto"])])

    assert inputs_of(document)["1"] == {
        "filename_prefix": "v/x",
        "format": "mp4",
        "format.codec": "h264",
        "format.codec.encoding": "re-encode",
        "format.codec.encoding.crf": 18,
        "format.codec.encoding.color_space": "auto",
    }


def test_links_are_written_by_the_name_of_the_input_in_both_schemas():
    nodes = [MASK, node(2, "MaskComposite", [1, 2, "add"], **PASTE)]
    links = [[1, 1, 0, 2, 0, "MASK"], [2, 1, 0, 2, 1, "MASK"]]
    old = saved(nodes, links)
    new = {**saved(nodes), "links": as_objects(links), "version": 1, "state": {"lastNodeId": 2}}

    assert inputs_of(old)["2"] == {
        "x": 1,
        "y": 2,
        "operation": "add",
        "destination": ["1", 0],
        "source": ["1", 0],
    }
    assert prompt_of(new) == prompt_of(old)


def test_a_link_replaces_the_value_of_a_converted_widget():
    nodes = [
        node(1, "PrimitiveInt", [99, "fixed"], outputs="INT"),
        node(2, "SolidMask", [0.5, 64, 48], inputs=["*width:INT:1"], outputs="MASK"),
    ]

    assert inputs_of(saved(nodes, [[1, 1, 0, 2, 0, "INT"]]))["2"] == {
        "value": 0.5,
        "width": ["1", 0],
        "height": 48,
    }


@pytest.mark.parametrize("mode", [2, 4])
def test_a_muted_or_bypassed_source_of_a_widget_leaves_the_widgets_own_value(mode):
    nodes = [
        node(1, "PrimitiveInt", [99, "fixed"], outputs="INT", mode=mode),
        node(2, "SolidMask", [0.5, 64, 48], inputs=["*width:INT:1"], outputs="MASK"),
    ]

    assert inputs_of(saved(nodes, [[1, 1, 0, 2, 0, "INT"]]))["2"]["width"] == 64


@pytest.mark.parametrize("mode", [0, 1, 3])
def test_on_event_and_on_trigger_run_as_always(mode):
    assert set(prompt_of(saved([{**MASK, "mode": mode}]))) == {"1"}


def chain(mode, kind="VAEDecode", **more):
    """1 -> 2 -> 3, the middle one in a mode."""
    nodes = [
        node(1, "EmptyLatentImage", [64, 48, 1], outputs="LATENT"),
        node(2, kind, [], inputs=["samples:LATENT:1", "mask:MASK"], outputs="LATENT", mode=mode, **more),
        node(3, "VAEDecode", [], inputs=["samples:LATENT:2"], outputs="IMAGE"),
    ]
    return saved(nodes, [[1, 1, 0, 2, 0, "LATENT"], [2, 2, 0, 3, 0, "LATENT"]])


def test_a_muted_node_feeds_nothing():
    assert inputs_of(chain(2, "SetLatentNoiseMask")) == {
        "1": {"width": 64, "height": 48, "batch_size": 1},
        "3": {},
    }


def test_a_bypassed_node_passes_its_input_on():
    assert inputs_of(chain(4, "SetLatentNoiseMask"))["3"] == {"samples": ["1", 0]}


def bypassed(inputs, outputs, target):
    nodes = [
        node(1, "LoadImage", ["a.png"], outputs="IMAGE MASK"),
        node(2, "Whatever", [], inputs=inputs, outputs=outputs, mode=4),
        node(3, "PreviewImage", [], inputs=[f"images:{target}:3"]),
    ]
    links = [[1, 1, 0, 2, 0, "IMAGE"], [2, 1, 1, 2, 1, "MASK"], [3, 2, 0, 3, 0, target]]
    return inputs_of(saved(nodes, links))["3"]


@pytest.mark.parametrize(
    ("inputs", "outputs", "target", "expected"),
    [
        (["a:IMAGE:1", "b:MASK:2"], "IMAGE", "IMAGE", {"images": ["1", 0]}),
        (["a:IMAGE:1", "b:MASK:2"], "MASK", "MASK", {"images": ["1", 1]}),
        (["a:IMAGE:1", "b:MASK:2"], "*", "MASK", {"images": ["1", 1]}),
        (["a:IMAGE:1", "b:MASK:2"], "MASK", "*", {"images": ["1", 0]}),
        (["a:IMAGE,MASK:1", "b:MASK:2"], "MASK", "MASK", {"images": ["1", 0]}),
        (["a:LATENT", "b:AUDIO"], "IMAGE", "IMAGE", {}),
    ],
)
def test_a_bypassed_node_passes_on_same_place_then_same_type_then_what_fits(
    inputs, outputs, target, expected
):
    assert bypassed(inputs, outputs, target) == expected


def test_reroutes_are_followed():
    nodes = [
        node(1, "EmptyLatentImage", [64, 48, 1], outputs="LATENT"),
        node(4, "Reroute", [], inputs=[":*:1"], outputs="*"),
        node(5, "Reroute", [], inputs=[":*:2"], outputs="*"),
        node(3, "VAEDecode", [], inputs=["samples:LATENT:3"], outputs="IMAGE"),
    ]
    links = [[1, 1, 0, 4, 0, "*"], [2, 4, 0, 5, 0, "*"], [3, 5, 0, 3, 0, "LATENT"]]

    assert inputs_of(saved(nodes, links))["3"] == {"samples": ["1", 0]}


def test_native_reroutes_are_drawing_only():
    document = saved([MASK], extra={"reroutes": [{"id": 1, "pos": [0, 0], "linkIds": [1]}]})

    assert set(prompt_of(document)) == {"1"}


def primitive(*between):
    return [
        node(1, "SolidMask", [0.5, 64, 48], inputs=["*width:INT:9"], outputs="MASK"),
        node(4, "PrimitiveNode", [77, "fixed"], outputs="INT"),
        *between,
    ]


def test_a_primitive_writes_its_value_into_the_widget():
    assert inputs_of(saved(primitive(), [[9, 4, 0, 1, 0, "INT"]])) == {
        "1": {"value": 0.5, "width": 77, "height": 48}
    }


def test_a_primitive_does_not_reach_through_a_reroute():
    nodes = primitive(node(5, "Reroute", [], inputs=[":INT:8"], outputs="INT"))

    assert inputs_of(saved(nodes, [[8, 4, 0, 5, 0, "INT"], [9, 5, 0, 1, 0, "INT"]]))["1"]["width"] == 64


def test_notes_are_not_sent():
    assert prompt_of(saved([node(1, "Note", ["hello"]), node(2, "MarkdownNote", ["# hi"])])) == {}


def test_a_link_that_is_nowhere_and_one_from_a_node_that_is_not_there_are_dropped():
    nodes = [
        node(1, "VAEDecode", [], inputs=["samples:LATENT:7", "vae:VAE:8"], outputs="IMAGE"),
    ]

    assert inputs_of(saved(nodes, [[8, 5, 0, 1, 1, "VAE"]])) == {"1": {}}


def test_an_unknown_class_is_sent_as_the_page_sends_it():
    assert prompt_of(saved([node(1, "NoSuchNode", [5, [1]])])) == {
        "1": {"inputs": {"UNKNOWN": 5, "UNKNOWN_1": {"__value__": [1]}}, "_meta": {}}
    }


INNER = [
    node(10, "SolidMask", [0.5, 64, 48], inputs=["*width:INT:1"], outputs="MASK"),
    node(11, "SetLatentNoiseMask", [], inputs=["mask:MASK:2"], outputs="LATENT"),
]
INNER_LINKS = [[1, -10, 0, 10, 0, "INT"], [2, 10, 0, 11, 1, "MASK"], [3, 11, 0, -20, 0, "LATENT"]]
SUB = subgraph("sub-1", INNER, INNER_LINKS, ["width:INT"], ["LATENT:LATENT"])


def using(definitions, values=(99,), *, inputs=("*width:INT",), links=(), more=(), **instance):
    nodes = [
        node(1, "sub-1", list(values), inputs=list(inputs), outputs="LATENT", **instance),
        node(2, "VAEDecode", [], inputs=["samples:LATENT:1"], outputs="IMAGE"),
        *more,
    ]
    return saved(nodes, [[1, 1, 0, 2, 0, "LATENT"], *links], definitions={"subgraphs": definitions})


def test_nodes_inside_a_subgraph_are_sent_under_joined_ids():
    found = inputs_of(using([SUB]))

    assert found["2"] == {"samples": ["1:11", 0]}
    assert found["1:11"] == {"mask": ["1:10", 0]}


@pytest.mark.parametrize(("values", "width"), [((99,), 99), ((), 64)])
def test_a_promoted_widget_holds_the_instances_value_or_its_own(values, width):
    assert inputs_of(using([SUB], values))["1:10"]["width"] == width


def test_a_link_from_outside_beats_the_promoted_value():
    outer = node(5, "PrimitiveInt", [7, "fixed"], outputs="INT")
    document = using([SUB], inputs=["*width:INT:4"], links=[[4, 5, 0, 1, 0, "INT"]], more=[outer])

    assert inputs_of(document)["1:10"]["width"] == ["5", 0]


def test_old_promotions_name_the_inner_node_and_its_widget():
    document = using([SUB], (12, 34), properties={"proxyWidgets": [["10", "height"], ["-1", "width"]]})

    assert inputs_of(document)["1:10"] == {"value": 0.5, "width": 34, "height": 12}


@pytest.mark.parametrize("mode", [2, 4])
def test_a_muted_or_bypassed_instance_sends_nothing_inside(mode):
    assert inputs_of(using([SUB], mode=mode)) == {"2": {}}


def test_subgraphs_nest_and_their_promoted_values_reach_inward():
    outer = subgraph(
        "sub-1",
        [node(20, "sub-2", [55], inputs=["*width:INT:1"], outputs="LATENT")],
        [[1, -10, 0, 20, 0, "INT"], [2, 20, 0, -20, 0, "LATENT"]],
        ["width:INT"],
        ["LATENT:LATENT"],
    )
    inner = {**SUB, "id": "sub-2"}

    assert inputs_of(using([outer, inner]))["1:20:10"]["width"] == 99
    assert inputs_of(using([outer, inner], ()))["1:20:10"]["width"] == 55


def test_ids_that_repeat_in_a_definition_are_numbered_on():
    again = subgraph(
        "sub-1",
        [node(2, "EmptyLatentImage", [8, 8, 1], outputs="LATENT")],
        [[1, 2, 0, -20, 0, "LATENT"]],
        outputs=["LATENT:LATENT"],
    )

    found = inputs_of(using([again], inputs=()))

    assert found["2"] == {"samples": ["1:3", 0]}


def test_a_subgraph_that_holds_itself_ends():
    again = subgraph(
        "sub-1", [node(20, "sub-1", [], outputs="LATENT")], [[2, 20, 0, -20, 0, "LATENT"]], outputs=["L:L"]
    )

    assert inputs_of(using([again], inputs=())) == {"2": {}}


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        ("a {red|green} cat", "a red cat"),
        ("a {red} cat // not said\nend", "a red cat \nend"),
        ("/* gone */ \\{kept\\} end", " {kept} end"),
        ("{a {b|c}|d} {|x}", "a b "),
        ("see https://a.b/c", "see https://a.b/c"),
        ("open { end", "open  end"),
    ],
)
def test_text_templates_are_settled_without_dice(text, settled):
    assert settle_text(text) == settled


def test_every_known_class_has_a_widget_layout_that_can_be_drawn():
    for facts in CLASSES.values():
        names = [widget.name for widget in widgets_of(facts, ())]
        assert len(set(names)) == len(names)


def recorded(root: Path) -> list[tuple[str, dict[str, Any]]]:
    folder = root.parent / "shared" / "comfyui-samples" / "golden"
    if not folder.is_dir():
        pytest.skip("the recorded files are not beside this checkout")
    cases = [
        (path.name, json.loads(path.read_text(encoding="utf-8")))
        for path in sorted(folder.glob("cases/*.json"))
    ]
    with gzip.open(folder / "templates-fifth.jsonl.gz", "rt", encoding="utf-8") as lines:
        cases += [(case["name"], case) for case in map(json.loads, lines)]
    return cases


def test_recorded_files_become_the_prompts_the_page_made(root: Path) -> None:
    cases = recorded(root)
    with gzip.open(root.parent / "shared" / "comfyui-samples" / "object_info.facts.json.gz") as facts:
        classes = json.load(facts)

    missed = {
        name
        for name, case in cases
        if saved_to_prompt(read_saved_file(case["workflow"]), classes) != case["output"]
    }

    assert missed == NOT_FROM_FILES
    assert len(missed) <= 0.02 * len(cases)
