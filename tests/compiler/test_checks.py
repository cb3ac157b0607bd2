"""Wrong workflows: each has exactly one fault, found once, at its node and param, with what would work."""

import math

import pytest

from tests.compiler.target import compiling, editing, errors_of, generating, only_error, rolling, workflow


def changed(document, path, value):
    """A document with one value replaced, or taken out where the value is `None`."""
    *folders, last = path.split("/")
    place = document
    for folder in folders:
        place = place[folder]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return document


WRONG = {
    "unknown node type": (
        changed(generating(), "graph/nodes/generate/type", "generate_vidio"),
        ("E_UNKNOWN_NODE_TYPE", "generate", "type", "generate_video"),
    ),
    "node of a newer version": (
        changed(generating(), "graph/nodes/generate/version", 9),
        ("E_NODE_VERSION", "generate", "version", 1),
    ),
    "unknown param": (
        generating(frame_cuont=45),
        ("E_UNKNOWN_PARAM", "generate", "frame_cuont", "frame_count"),
    ),
    "text for a number": (generating(seed="7"), ("E_PARAM_TYPE", "generate", "seed", None)),
    "truth for a number": (generating(seed=True), ("E_PARAM_TYPE", "generate", "seed", None)),
    "null for a number": (generating(seed=math.nan), ("E_PARAM_TYPE", "generate", "seed", None)),
    "fraction for a whole number": (generating(seed=7.5), ("E_PARAM_TYPE", "generate", "seed", 7)),
    "list for text": (
        changed(generating(), "graph/nodes/prompt/params", {"text": ["a"]}),
        ("E_PARAM_TYPE", "prompt", "text", None),
    ),
    "number for a switch": (
        changed(generating(), "graph/nodes/save/params", {"embed": 1}),
        ("E_PARAM_TYPE", "save", "embed", None),
    ),
    "number below": (generating(seed=-1), ("E_PARAM_RANGE", "generate", "seed", 0)),
    "number above": (generating(fps=10**400), ("E_PARAM_RANGE", "generate", "fps", 120)),
    "infinite number": (
        editing(denoise_strength=math.inf),
        ("E_PARAM_TYPE", "edit", "denoise_strength", None),
    ),
    "text too long": (
        changed(generating(), "graph/nodes/prompt/params", {"text": "a" * 8001}),
        ("E_PARAM_RANGE", "prompt", "text", None),
    ),
    "text that is no text": (
        changed(generating(), "graph/nodes/prompt/params", {"text": "\ud800"}),
        ("E_PARAM_VALUE", "prompt", "text", None),
    ),
    "unknown choice": (
        changed(generating(), "graph/nodes/save/params", {"format": "mp5"}),
        ("E_UNKNOWN_CHOICE", "save", "format", "mp4"),
    ),
    "unknown checkpoint": (
        changed(generating(), "graph/nodes/model/params", {"checkpoint": "shape"}),
        ("E_UNKNOWN_CHECKPOINT", "model", "checkpoint", "shapes"),
    ),
    "missing clip": (
        changed(editing(), "graph/nodes/source/params", {"file": "shapes-sorce.mp4"}),
        ("E_UNKNOWN_ASSET", "source", "file", "shapes-source.mp4"),
    ),
    "picture for a clip": (
        changed(editing(), "graph/nodes/source/params", {"file": "photo.png"}),
        ("E_UNKNOWN_ASSET", "source", "file", None),
    ),
    "missing input": (
        changed(generating(), "graph/edges/e0", None),
        ("E_MISSING_INPUT", "generate", "model", None),
    ),
    "wrong socket type": (
        changed(generating(), "graph/edges/e2/from", ["generate", "latent"]),
        ("E_SOCKET_TYPE", "save", "video", None),
    ),
    "unknown output": (
        changed(generating(), "graph/edges/e2/from", ["generate", "vidoe"]),
        ("E_UNKNOWN_SOCKET", "generate", "vidoe", "video"),
    ),
    "unknown input": (
        changed(generating(), "graph/edges/e3", {"from": ["model", "model"], "to": ["generate", "modell"]}),
        ("E_UNKNOWN_SOCKET", "generate", "modell", "model"),
    ),
    "edge from nowhere": (
        changed(generating(), "graph/edges/e0/from", ["modle", "model"]),
        ("E_UNKNOWN_NODE", "generate", "model", "model"),
    ),
    "two edges into one input": (
        changed(generating(), "graph/edges/e3", {"from": ["model", "model"], "to": ["generate", "model"]}),
        ("E_SOCKET_TAKEN", "generate", "model", None),
    ),
    "no output": (
        changed(changed(generating(), "graph/nodes/save", None), "graph/edges/e2", None),
        ("E_NO_OUTPUT", None, None, None),
    ),
    "off the lattice": (generating(frame_count=44), ("E_OFF_LATTICE", "generate", "frame_count", 45)),
    "off the lattice, nearer below": (
        generating(frame_count=42),
        ("E_OFF_LATTICE", "generate", "frame_count", 41),
    ),
    "over the maximum": (generating(frame_count=97), ("E_FRAME_COUNT", "generate", "frame_count", 93)),
    "far over the maximum": (generating(frame_count=9999), ("E_FRAME_COUNT", "generate", "frame_count", 93)),
    "another width": (generating(width_px=112), ("E_SIZE", "generate", "width_px", 96)),
    "nothing left of the schedule": (
        editing(denoise_strength=0.1),
        ("E_SCHEDULE_EMPTY", "edit", "denoise_strength", 0.125),
    ),
    "unknown key": (
        rolling(("action_script", {"script": "w, x"})),
        ("E_UNKNOWN_KEY", "actions", "script", None),
    ),
    "unknown live key": (
        rolling(("live_actions", {"keymap": "W"})),
        ("E_UNKNOWN_KEY", "actions", "keymap", "w"),
    ),
    "name with a folder": (
        changed(generating(), "graph/nodes/save/params", {"name": "../up"}),
        ("E_PARAM_VALUE", "save", "name", "up"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_fault_gives_one_error_at_its_place_with_what_would_work(name):
    document, (code, node_id, param, suggestion) = WRONG[name]

    error = only_error(document)

    assert (error.code, error.node_id, error.param, error.suggestion) == (code, node_id, param, suggestion)
    assert error.expected
    assert error.given


def test_a_circle_is_told_once_with_its_way():
    document = workflow(
        {
            "a": ("combine_masks", {}),
            "b": ("combine_masks", {}),
            "m": ("latent_mask", {}),
            "source": ("load_video", {}),
            "overlay": ("mask_overlay", {}),
            "look": ("preview", {}),
        },
        [
            "a.mask > b.a",
            "b.mask > a.a",
            "m.mask > a.b",
            "m.mask > b.b",
            "a.mask > overlay.mask",
            "source.video > overlay.video",
            "overlay.video > look.video",
        ],
    )

    error = only_error(document)

    assert (error.code, error.node_id) == ("E_CYCLE", "a")
    assert error.given == "a <- b <- a"


def test_a_node_that_feeds_itself_is_a_circle():
    document = workflow({"a": ("lora", {}), "look": ("preview", {})}, ["a.adapters > a.adapters"])

    codes = {found.code for found in compiling(document).diagnostics}

    assert codes == {"E_CYCLE", "E_MISSING_INPUT"}


def test_many_faults_are_told_together():
    document = generating(seed=-1, frame_count=44, widht_px=96)
    document["graph"]["nodes"]["save"]["params"] = {"quality": 99}
    document["graph"]["nodes"]["prompt"]["type"] = "promt"

    found = {(error.code, error.node_id, error.param) for error in errors_of(document)}

    assert found == {
        ("E_PARAM_RANGE", "generate", "seed"),
        ("E_UNKNOWN_PARAM", "generate", "widht_px"),
        ("E_PARAM_RANGE", "save", "quality"),
        ("E_UNKNOWN_NODE_TYPE", "prompt", "type"),
    }


def test_size_and_length_are_told_together():
    found = [
        (error.code, error.param) for error in errors_of(generating(width_px=64, height_px=64, frame_count=4))
    ]

    assert found == [("E_SIZE", "width_px"), ("E_SIZE", "height_px"), ("E_OFF_LATTICE", "frame_count")]


def test_a_fault_nobody_needs_is_a_warning():
    document = generating()
    document["graph"]["nodes"]["spare"] = {"type": "generate_video", "params": {"seed": -1}}

    compiled = compiling(document)

    assert compiled.spec is not None
    assert {(found.code, found.severity) for found in compiled.diagnostics} == {
        ("E_PARAM_RANGE", "warning"),
        ("E_MISSING_INPUT", "warning"),
    }


def test_ten_thousand_nodes_in_a_circle_are_told_without_a_hang():
    ids = [f"n{index}" for index in range(10_000)]
    document = workflow(
        dict.fromkeys(ids, ("combine_masks", {})),
        [f"{left}.mask > {right}.a" for left, right in zip(ids, ids[1:] + ids[:1], strict=True)],
    )

    codes = [found.code for found in compiling(document).diagnostics]

    assert codes.count("E_CYCLE") == 1
    assert codes.count("E_NO_OUTPUT") == 1


def test_a_message_says_what_was_expected_then_what_came():
    assert str(only_error(generating(frame_count=44))) == (
        "error E_OFF_LATTICE at generate.frame_count: the video must have 4k+1 frames (1, 5, ...), got 44; "
        "nearest is 45 (try 45)"
    )
