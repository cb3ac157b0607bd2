"""Wrong workflows from end to end: each has one fault, and the compiler finds that one, at one place."""

import copy
import json
from typing import Any

import pytest

from rushes.compiler.ir.diagnostics import CODES
from rushes.compiler.read.text import parse_document
from tests.compiler.target import (
    compiling,
    editing,
    generating,
    rolling,
    workflow,
)
from tests.compiler.test_checks import WRONG, changed
from tests.compiler.test_facts_on_edges import masked_by_longer, with_lora
from tests.compiler.test_subgraphs import looking

# name: (document, code, node, param)
Case = tuple[Any, str, str | None, str | None]


def node(document: dict[str, Any], node_id: str, **keys: Any) -> dict[str, Any]:
    """The document with keys of one node set; a new node where there is none."""
    document = copy.deepcopy(document)
    document["graph"]["nodes"].setdefault(node_id, {}).update(keys)
    return document


def edge(document: dict[str, Any], start: str, end: str) -> dict[str, Any]:
    """The document with one more edge, "a.b" to "c.d"."""
    document = copy.deepcopy(document)
    document["graph"]["edges"]["more"] = {"from": start.split("."), "to": end.split(".")}
    return document


def param(document: dict[str, Any], node_id: str, **params: Any) -> dict[str, Any]:
    document = copy.deepcopy(document)
    document["graph"]["nodes"][node_id].setdefault("params", {}).update(params)
    return document


def photo(frame_index: int = 0, **params: Any) -> dict[str, Any]:
    return workflow(
        {
            "photo": ("load_image", {"file": "photo.png"}),
            "save": ("save_image", {"frame_index": frame_index, **params}),
        },
        ["photo.image > save.image"],
    )


def frame_of_clip(frame_index: int) -> dict[str, Any]:
    return workflow(
        {"clip": ("load_video", {}), "save": ("save_image", {"frame_index": frame_index})},
        ["clip.video > save.image"],
    )


def overlaid(**params: Any) -> dict[str, Any]:
    return workflow(
        {
            "clip": ("load_video", {}),
            "mask": ("latent_mask", {}),
            "overlay": ("mask_overlay", params),
            "look": ("preview", {}),
        },
        ["clip.video > overlay.video", "mask.mask > overlay.mask", "overlay.video > look.video"],
    )


def endless(consumer: str) -> dict[str, Any]:
    document = node(rolling(chunk_count=0), "mask", type="latent_mask")
    if consumer == "overlay":
        document = edge(node(document, "overlay", type="mask_overlay"), "mask.mask", "overlay.mask")
        document["graph"]["edges"]["o"] = {"from": ["rollout", "video"], "to": ["overlay", "video"]}
        document["graph"]["nodes"]["look"] = {"type": "preview"}
        document["graph"]["edges"]["l"] = {"from": ["overlay", "video"], "to": ["look", "video"]}
    else:
        document = node(document, "edit", type="edit_video")
        document = node(document, "look", type="preview")
        for name, start in {
            "model": "model.model",
            "prompt": "prompt.prompt",
            "source": "rollout.video",
            "mask": "mask.mask",
        }.items():
            document["graph"]["edges"][name] = {"from": start.split("."), "to": ["edit", name]}
        document["graph"]["edges"]["l"] = {"from": ["edit", "video"], "to": ["look", "video"]}
    return document


def on_wide(document: dict[str, Any]) -> dict[str, Any]:
    return param(document, "model", checkpoint="wide")


def with_settings(**params: Any) -> dict[str, Any]:
    return edge(
        node(generating(), "settings", type="sampler_settings", params=params),
        "settings.sampler",
        "generate.sampler",
    )


def inside(path: str, value: Any) -> dict[str, Any]:
    document = looking()
    *folders, last = path.split("/")
    place = document["graph"]["subgraphs"]["look"]
    for folder in folders:
        place = place[folder]
    place[last] = value
    return document


def shaped(**params: Any) -> dict[str, Any]:
    return editing(("latent_mask", params))


def timed(**params: Any) -> dict[str, Any]:
    return editing(("temporal_mask", params))


def scripted(script: str) -> dict[str, Any]:
    return rolling(("action_script", {"script": script}))


def mapped(keymap: str) -> dict[str, Any]:
    return rolling(("live_actions", {"keymap": keymap}))


CORPUS: dict[str, Case] = {
    # the document
    "not an object": ([], "E_MALFORMED", None, "document"),
    "no schema": ({"graph": {"nodes": {}}}, "E_SCHEMA", None, "schema"),
    "another schema": ({**generating(), "schema": "comfy/1"}, "E_SCHEMA", None, "schema"),
    "version nought": ({**generating(), "schema": "rushes.workflow/0"}, "E_SCHEMA", None, "schema"),
    "a newer schema": ({**generating(), "schema": "rushes.workflow/2"}, "E_SCHEMA", None, "schema"),
    "a schema that is a number": ({**generating(), "schema": 1}, "E_SCHEMA", None, "schema"),
    "no graph": ({"schema": "rushes.workflow/1"}, "E_MALFORMED", None, "graph"),
    "nodes in a list": (changed(generating(), "graph/nodes", []), "E_MALFORMED", None, "graph.nodes"),
    "no nodes": ({"schema": "rushes.workflow/1", "graph": {}}, "E_MALFORMED", None, "graph.nodes"),
    "an empty graph": ({"schema": "rushes.workflow/1", "graph": {"nodes": {}}}, "E_NO_OUTPUT", None, None),
    "edges in a list": (changed(generating(), "graph/edges", []), "E_MALFORMED", None, "graph.edges"),
    "requires that is text": ({**generating(), "requires": "exact"}, "E_MALFORMED", None, "requires"),
    "a level that is not one": (
        {**generating(), "requires": {"level": "best"}},
        "E_LEVEL",
        None,
        "requires.level",
    ),
    "a level that is a list": (
        {**generating(), "requires": {"level": []}},
        "E_LEVEL",
        None,
        "requires.level",
    ),
    # nodes and edges as they are written
    "a node that is text": (changed(generating(), "graph/nodes/save", "x"), "E_MALFORMED", "save", "node"),
    "a node without a type": (
        changed(generating(), "graph/nodes/save/type", None),
        "E_MALFORMED",
        "save",
        "type",
    ),
    "a mode that is not one": (node(generating(), "save", mode="on"), "E_MALFORMED", "save", "mode"),
    "a version that is text": (node(generating(), "save", version="1"), "E_MALFORMED", "save", "version"),
    "a version that is true": (node(generating(), "save", version=True), "E_MALFORMED", "save", "version"),
    "params in a list": (node(generating(), "save", params=[]), "E_MALFORMED", "save", "params"),
    "an edge of one end": (
        changed(generating(), "graph/edges/e4", {"from": ["a", "b"]}),
        "E_MALFORMED",
        None,
        "graph.edges.e4.to",
    ),
    "an end of three words": (
        changed(generating(), "graph/edges/e4", {"from": ["a", "b", "c"], "to": ["a", "b"]}),
        "E_MALFORMED",
        None,
        "graph.edges.e4.from",
    ),
    "an edge to nowhere": (
        edge(generating(), "generate.video", "nowhere.video"),
        "E_UNKNOWN_NODE",
        "generate",
        "video",
    ),
    "an edge between strangers": (edge(generating(), "x.y", "z.w"), "E_UNKNOWN_NODE", None, None),
    "an edge into an output": (
        edge(generating(), "prompt.prompt", "model.model"),
        "E_UNKNOWN_SOCKET",
        "model",
        "model",
    ),
    "a picture for a clip to save": (
        workflow(
            {"photo": ("load_image", {"file": "photo.png"}), "save": ("save_video", {})},
            ["photo.image > save.video"],
        ),
        "E_SOCKET_TYPE",
        "save",
        "video",
    ),
    "a mask for a prompt": (
        changed(node(generating(), "mask", type="latent_mask"), "graph/edges/e1/from", ["mask", "mask"]),
        "E_SOCKET_TYPE",
        "generate",
        "prompt",
    ),
    "a node that feeds itself": (
        edge(overlaid(), "overlay.video", "overlay.video"),
        "E_SOCKET_TAKEN",
        "overlay",
        "video",
    ),
    # params
    "huge number": (generating(seed=2**53), "E_PARAM_RANGE", "generate", "seed"),
    "no frames": (generating(frame_count=0), "E_PARAM_RANGE", "generate", "frame_count"),
    "strength over one": (editing(denoise_strength=1.5), "E_PARAM_RANGE", "edit", "denoise_strength"),
    "guidance below one": (with_settings(guidance_scale=0.5), "E_PARAM_RANGE", "settings", "guidance_scale"),
    "no steps": (with_settings(step_count=0), "E_PARAM_RANGE", "settings", "step_count"),
    "a sampler that is not one": (with_settings(sampler="heun"), "E_UNKNOWN_CHOICE", "settings", "sampler"),
    "a format that is not one": (photo(format="bmp"), "E_UNKNOWN_CHOICE", "save", "format"),
    "a mode of masks that is not one": (timed(mode="extend"), "E_UNKNOWN_CHOICE", "mask", "mode"),
    "a shape that is not one": (shaped(shape="star"), "E_UNKNOWN_CHOICE", "mask", "shape"),
    "a box without width": (shaped(width=0.0), "E_PARAM_RANGE", "mask", "width"),
    "a feather below nought": (shaped(feather_px=-1), "E_PARAM_RANGE", "mask", "feather_px"),
    "two corners": (shaped(shape="polygon", points="0,0 1,1"), "E_PARAM_VALUE", "mask", "points"),
    "a corner far outside": (
        shaped(shape="polygon", points="0,0 1,1 9,0"),
        "E_PARAM_VALUE",
        "mask",
        "points",
    ),
    "a corner that is a word": (
        shaped(shape="polygon", points="0,0 1,1 a,b"),
        "E_PARAM_VALUE",
        "mask",
        "points",
    ),
    "a range that runs back": (timed(mode="keep_ranges", ranges="2-1"), "E_PARAM_VALUE", "mask", "ranges"),
    "a range after the end": (timed(mode="keep_ranges", ranges="0-9"), "E_PARAM_RANGE", "mask", "ranges"),
    "more to keep than there is": (timed(keep_s=60), "E_PARAM_RANGE", "mask", "keep_s"),
    "a colour by name": (overlaid(colour="red"), "E_PARAM_VALUE", "overlay", "colour"),
    "a colour too long": (overlaid(colour="#ff00ff00"), "E_PARAM_RANGE", "overlay", "colour"),
    "a name of dots": (param(generating(), "save", name=".."), "E_PARAM_VALUE", "save", "name"),
    "a name that is empty": (param(generating(), "save", name=""), "E_PARAM_VALUE", "save", "name"),
    "a name too long": (param(generating(), "save", name="a" * 81), "E_PARAM_RANGE", "save", "name"),
    "a session name with a slash": (rolling(session="a/b"), "E_PARAM_VALUE", "rollout", "session"),
    "text with a NUL": (param(generating(), "prompt", text="a\x00b"), "E_PARAM_VALUE", "prompt", "text"),
    "null for text": (param(generating(), "prompt", text=None), "E_PARAM_TYPE", "prompt", "text"),
    "an object for a choice": (
        param(generating(), "model", checkpoint={}),
        "E_PARAM_TYPE",
        "model",
        "checkpoint",
    ),
    # what the machine has, and what its checkpoints can do
    "an adapter that is not here": (with_lora("noen"), "E_UNKNOWN_ADAPTER", "lora", "file"),
    "a clip for a picture": (param(photo(), "photo", file="long.mp4"), "E_UNKNOWN_ASSET", "photo", "file"),
    "a precision it has not": (
        param(on_wide(generating()), "model", precision="fp32"),
        "E_CAPABILITY",
        "model",
        "precision",
    ),
    "a rollout it cannot": (on_wide(rolling()), "E_CAPABILITY", "rollout", "model"),
    "a lora it takes not": (
        edge(
            node(on_wide(generating(width_px=832, height_px=480, frame_count=81)), "lora", type="lora"),
            "lora.adapters",
            "generate.adapters",
        ),
        "E_CAPABILITY",
        "generate",
        "adapters",
    ),
    "a start it takes not": (
        edge(
            node(
                on_wide(generating(width_px=832, height_px=480, frame_count=81)),
                "photo",
                type="load_image",
                params={"file": "photo.png"},
            ),
            "photo.image",
            "generate.keyframes",
        ),
        "E_CAPABILITY",
        "generate",
        "keyframes",
    ),
    "a sampler it has not": (
        edge(
            node(
                on_wide(generating(width_px=832, height_px=480, frame_count=81)),
                "settings",
                type="sampler_settings",
                params={"sampler": "euler"},
            ),
            "settings.sampler",
            "generate.sampler",
        ),
        "E_CAPABILITY",
        "settings",
        "sampler",
    ),
    # sizes, lengths, times
    "a width off the lattice": (
        on_wide(generating(width_px=481, height_px=832, frame_count=81)),
        "E_SIZE",
        "generate",
        "width_px",
    ),
    "a height off the lattice": (
        on_wide(generating(width_px=480, height_px=833, frame_count=81)),
        "E_SIZE",
        "generate",
        "height_px",
    ),
    "eighty frames": (generating(frame_count=80), "E_OFF_LATTICE", "generate", "frame_count"),
    "a source off the lattice": (
        param(editing(), "source", file="long.mp4"),
        "E_OFF_LATTICE",
        "edit",
        "frame_count",
    ),
    "an edit too long": (
        editing(("temporal_mask", {"mode": "extension"}), frame_count=97),
        "E_FRAME_COUNT",
        "edit",
        "frame_count",
    ),
    "an extension that adds nothing": (timed(mode="extension"), "E_FRAME_COUNT", "edit", "frame_count"),
    "added frames that are kept": (
        editing(("latent_mask", {}), frame_count=49),
        "E_FRAME_COUNT",
        "edit",
        "mask",
    ),
    "a mask longer than its clip": (masked_by_longer("overlay"), "E_FRAME_COUNT", "overlay", "mask"),
    "a frame after the last": (frame_of_clip(45), "E_PARAM_RANGE", "save", "frame_index"),
    "a frame before the first": (frame_of_clip(-46), "E_PARAM_RANGE", "save", "frame_index"),
    "an endless overlay": (endless("overlay"), "E_ENDLESS", "overlay", "video"),
    "an endless source": (endless("edit"), "E_ENDLESS", "edit", "source"),
    "no strength left": (editing(denoise_strength=0.0), "E_SCHEDULE_EMPTY", "edit", "denoise_strength"),
    # actions
    "a script of nothing": (scripted(" , "), "E_PARAM_VALUE", "actions", "script"),
    "a key twice": (scripted("w+w"), "E_PARAM_VALUE", "actions", "script"),
    "idle with a key": (scripted("w+idle"), "E_PARAM_VALUE", "actions", "script"),
    "nought frames": (scripted("w*0"), "E_PARAM_VALUE", "actions", "script"),
    "millions of frames": (scripted("w*999999"), "E_PARAM_VALUE", "actions", "script"),
    "a key it knows not": (scripted("x"), "E_UNKNOWN_KEY", "actions", "script"),
    "a keymap of nothing": (mapped(" "), "E_PARAM_VALUE", "actions", "keymap"),
    "a key mapped twice": (mapped("w w"), "E_PARAM_VALUE", "actions", "keymap"),
    "a key mapped to nothing": (mapped("w="), "E_PARAM_VALUE", "actions", "keymap"),
    "keys for a checkpoint without": (mapped("q=x"), "E_UNKNOWN_KEY", "actions", "keymap"),
    # modes
    "every output muted": (node(generating(), "save", mode="muted"), "E_NO_OUTPUT", None, None),
    "a bypass with nothing to pass": (
        node(generating(), "generate", mode="bypassed"),
        "E_MISSING_INPUT",
        "save",
        "video",
    ),
    # subgraphs
    "an instance of nothing": (
        changed(looking(), "graph/nodes/look/subgraph", "x"),
        "E_SUBGRAPH",
        "look",
        "subgraph",
    ),
    "an instance that names none": (
        changed(looking(), "graph/nodes/look/subgraph", None),
        "E_MALFORMED",
        "look",
        "subgraph",
    ),
    "a param not exposed": (looking(frame_count=9), "E_UNKNOWN_PARAM", "look", "frame_count"),
    "a wrong value inside": (looking(seed=-1), "E_PARAM_RANGE", "look/generate", "seed"),
    "a wrong type inside": (inside("nodes/prompt/type", "x"), "E_UNKNOWN_NODE_TYPE", "look/prompt", "type"),
    "an edge missing inside": (inside("edges", {}), "E_MISSING_INPUT", "look/generate", "prompt"),
    "definitions in a list": (
        changed(looking(), "graph/subgraphs", []),
        "E_MALFORMED",
        None,
        "graph.subgraphs",
    ),
}
CORPUS |= {f"checks: {name}": (document, *expected[:3]) for name, (document, expected) in WRONG.items()}


@pytest.mark.parametrize("name", CORPUS)
def test_one_fault_one_code_one_place(name):
    document, code, node_id, param = CORPUS[name]

    errors = [found for found in compiling(document).diagnostics if found.severity == "error"]

    assert [(found.code, found.node_id, found.param) for found in errors] == [(code, node_id, param)]
    assert compiling(document).spec is None


TEXTS = {
    "not JSON": "{",
    "a list": "[]",
    "a number twice": '{"a":1,"a":2}',
    "not a number": '{"a":NaN}',
    "not UTF-8": b"\xff",
    "too deep": "[" * 100 + "]" * 100,
    "too deep inside": '{"a":' * 70 + "1" + "}" * 70,
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_is_no_document_is_one_fault(name):
    document, found = parse_document(TEXTS[name])

    assert document is None
    assert len(found) == 1


def test_the_corpus_is_large_and_misses_no_code_of_the_compiler():
    elsewhere = {"E_TOO_LARGE", "E_CYCLE", "E_ADAPTER", "E_UNKNOWN_SOCKET"}  # have tests of their own

    assert len(CORPUS) >= 80
    codes = {case[1] for case in CORPUS.values()}
    assert {code for code in CODES if code.startswith("E_")} - codes <= elsewhere


def test_no_document_of_the_corpus_is_changed_by_compiling_it():
    for document, *_ in CORPUS.values():
        before = json.dumps(document, default=str)
        compiling(document)
        assert json.dumps(document, default=str) == before
