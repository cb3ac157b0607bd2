"""What an edge carries is checked where it arrives, and the nearest value that would do is offered."""

from dataclasses import replace

import pytest

from rushes.compiler.ir.facts import AdapterFacts
from tests.compiler.target import (
    SHAPES,
    TARGET,
    compiling,
    editing,
    generating,
    only_error,
    spec_of,
    workflow,
)

FOREIGN = replace(
    TARGET,
    checkpoints={**TARGET.checkpoints, "other": replace(SHAPES, checkpoint="other", family="ltx")},
    adapters={
        "neon": AdapterFacts("neon", "a" * 64, 1, family="wan", rank=16),
        "neon-ltx": AdapterFacts("neon-ltx", "b" * 64, 1, family="ltx", rank=16),
        "huge": AdapterFacts("huge", "c" * 64, 1, family="wan", rank=513),
        "unknown": AdapterFacts("unknown", "d" * 64, 1),
    },
)


def wide(**params):
    document = generating(**params)
    document["graph"]["nodes"]["model"]["params"] = {"checkpoint": "wide"}
    return document


def with_lora(file, checkpoint="shapes"):
    document = generating()
    document["graph"]["nodes"] |= {
        "model": {"type": "load_model", "params": {"checkpoint": checkpoint}},
        "lora": {"type": "lora", "params": {"file": file}},
    }
    document["graph"]["edges"]["l"] = {"from": ["lora", "adapters"], "to": ["generate", "adapters"]}
    return document


def adapter_errors(document):
    found = compiling(document, target=FOREIGN).diagnostics
    return [(one.code, one.node_id, one.param, one.suggestion) for one in found if one.severity == "error"]


def test_a_size_off_the_lattice_offers_the_nearest_on_it():
    error = only_error(wide(width_px=481, height_px=832, frame_count=81))

    assert (error.code, error.param, error.suggestion) == ("E_SIZE", "width_px", 480)
    error = only_error(wide(width_px=480, height_px=833, frame_count=81))
    assert (error.code, error.param, error.suggestion) == ("E_SIZE", "height_px", 832)


def test_eighty_frames_offer_eighty_one():
    assert only_error(generating(frame_count=80)).suggestion == 81


@pytest.mark.parametrize(
    ("file", "checkpoint", "expected"),
    [
        ("neon", "shapes", []),
        ("unknown", "other", []),
        ("neon", "other", [("E_ADAPTER", "lora", "file", "neon-ltx")]),
        ("neon-ltx", "shapes", [("E_ADAPTER", "lora", "file", "neon")]),
        ("huge", "shapes", [("E_ADAPTER", "lora", "file", "neon")]),
    ],
)
def test_a_lora_must_fit_the_checkpoint_by_family_and_rank(file, checkpoint, expected):
    assert adapter_errors(with_lora(file, checkpoint)) == expected


def test_every_lora_of_a_chain_that_does_not_fit_is_told_at_its_own_node():
    document = with_lora("huge")
    document["graph"]["nodes"]["first"] = {"type": "lora", "params": {"file": "neon-ltx"}}
    document["graph"]["edges"]["f"] = {"from": ["first", "adapters"], "to": ["lora", "adapters"]}

    assert [error[:2] for error in adapter_errors(document)] == [
        ("E_ADAPTER", "first"),
        ("E_ADAPTER", "lora"),
    ]


def masked_by_longer(consumer):
    """A temporal mask made for the 50 frames of long.mp4, used on a clip of 45."""
    nodes = {
        "long": ("load_video", {"file": "long.mp4"}),
        "clip": ("load_video", {}),
        "mask": ("temporal_mask", {}),
        "overlay": ("mask_overlay", {}),
        "look": ("preview", {}),
    }
    edges = ["long.video > mask.source", "mask.mask > overlay.mask", "overlay.video > look.video"]
    if consumer == "overlay":
        return workflow(nodes, [*edges, "clip.video > overlay.video"])
    document = editing(("temporal_mask", {}))
    document["graph"]["nodes"]["long"] = {"type": "load_video", "params": {"file": "long.mp4"}}
    document["graph"]["edges"]["m"] = {"from": ["long", "video"], "to": ["mask", "source"]}
    return document


@pytest.mark.parametrize("consumer", ["overlay", "edit"])
def test_a_mask_longer_than_its_video_is_refused_with_the_length_that_fits(consumer):
    error = only_error(masked_by_longer(consumer))

    assert (error.code, error.node_id, error.param, error.suggestion) == (
        "E_FRAME_COUNT",
        consumer,
        "mask",
        45,
    )


def test_a_mask_that_is_the_same_in_every_frame_may_be_drawn_on_a_longer_clip():
    document = masked_by_longer("edit")
    document["graph"]["nodes"]["mask"]["type"] = "latent_mask"

    assert spec_of(document)


def test_an_edit_that_cuts_its_source_may_use_a_mask_of_the_whole_source():
    document = editing(("temporal_mask", {}), frame_count=25)
    document["graph"]["edges"]["m"] = {"from": ["source", "video"], "to": ["mask", "source"]}

    assert spec_of(document)


@pytest.mark.parametrize(
    ("params", "param", "suggestion"),
    [
        ({"mode": "keep_ranges", "ranges": "0-1, 2-9"}, "ranges", "0-1, 2-2.812"),
        ({"mode": "keep_ranges", "ranges": "0-1, 5-9"}, "ranges", "0-1"),
        ({"mode": "continuation", "keep_s": 60.0}, "keep_s", 2.812),
        ({"mode": "bridge", "keep_s": 3.0}, "keep_s", 2.812),
    ],
)
def test_times_after_the_end_of_the_video_are_refused_not_cut(params, param, suggestion):
    error = only_error(editing(("temporal_mask", params)))

    assert (error.code, error.node_id, error.param, error.suggestion) == (
        "E_PARAM_RANGE",
        "mask",
        param,
        suggestion,
    )
    assert spec_of(editing(("temporal_mask", {**params, param: suggestion})))


def test_a_mask_read_twice_tells_its_fault_once():
    document = editing(("temporal_mask", {"mode": "keep_ranges", "ranges": "0-9"}))
    document["graph"]["nodes"] |= {"overlay": {"type": "mask_overlay"}, "look": {"type": "preview"}}
    document["graph"]["edges"] |= {
        "a": {"from": ["source", "video"], "to": ["overlay", "video"]},
        "b": {"from": ["mask", "mask"], "to": ["overlay", "mask"]},
        "c": {"from": ["overlay", "video"], "to": ["look", "video"]},
    }

    assert only_error(document).param == "ranges"
