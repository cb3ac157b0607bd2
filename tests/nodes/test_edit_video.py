import pytest

from rushes.compiler.ir.schedule import flow_sigmas
from tests.compiler.target import codes_of, compiling, editing, only_error, spec_of, stage_of

EXTENSION = ("temporal_mask", {"mode": "extension"})


def from_file(document, file):
    document["graph"]["nodes"]["source"]["params"] = {"file": file}
    return document


def test_source_and_mask_meet_on_one_lattice():
    spec = spec_of(editing())
    encode, mask, denoise = (stage_of(spec, op) for op in ("encode_video", "mask_to_latent", "denoise"))

    assert [encode.attr(name) for name in ("width_px", "height_px", "frame_count")] == [96, 96, 45]
    assert {name: mask.attr(name) for name in ("frame_count", "fps", "spatial", "temporal")} == {
        "frame_count": 45,
        "fps": 16.0,
        "spatial": 8,
        "temporal": 4,
    }
    assert (denoise.read("source"), denoise.read("mask")) == ("edit.source", "edit.mask")
    assert denoise.body == ("predict", "restore", "step", "preview")


@pytest.mark.parametrize(("strength", "steps"), [(1.0, 4), (0.75, 3), (0.5, 2), (0.2, 1)])
def test_the_strength_runs_the_low_end_of_the_schedule(strength, steps):
    denoise = stage_of(spec_of(editing(denoise_strength=strength)), "denoise")

    assert denoise.attr("sigmas") == flow_sigmas(4, 3.0)[4 - steps :]
    assert denoise.trip_count == steps
    assert denoise.attr("denoise_strength") == strength


def test_a_source_off_the_lattice_needs_a_length():
    error = only_error(from_file(editing(), "long.mp4"))

    assert (error.code, error.param, error.suggestion) == ("E_OFF_LATTICE", "frame_count", 49)
    assert "as long as its source" in error.message


def test_fewer_frames_cut_the_source():
    document = from_file(editing(frame_count=49), "long.mp4")
    spec = spec_of(document)

    assert stage_of(spec, "encode_video").attr("frame_count") == 49
    assert stage_of(spec, "denoise").attr("fps") == 25.0
    assert codes_of(document, "note") == ["N_RESIZED"]


def test_an_extension_makes_the_added_frames():
    spec = spec_of(editing(EXTENSION, frame_count=81))

    assert stage_of(spec, "temporal_mask").attr("ranges") == ((0, 45, 0.0),)
    assert stage_of(spec, "denoise").attr("frame_count") == 81


def test_an_extension_that_adds_nothing_is_refused_with_a_longer_count():
    error = only_error(editing(EXTENSION))

    assert (error.code, error.node_id, error.param, error.suggestion) == (
        "E_FRAME_COUNT",
        "edit",
        "frame_count",
        57,
    )


@pytest.mark.parametrize(
    "mask",
    [
        ("latent_mask", {}),
        ("temporal_mask", {"mode": "bridge", "keep_s": 0.5}),
        ("temporal_mask", {"mode": "keep_ranges", "ranges": "0-3"}),
    ],
)
def test_added_frames_that_the_mask_would_keep_are_refused(mask):
    error = only_error(editing(mask, frame_count=81))

    assert (error.code, error.node_id, error.param) == ("E_FRAME_COUNT", "edit", "mask")
    assert "frames from 45 on have no source" in error.message


def test_a_whole_frame_mask_may_extend():
    assert spec_of(editing(("latent_mask", {"shape": "full", "value": 0.5}), frame_count=81))


def test_a_mask_that_keeps_everything_is_noted_and_runs():
    document = editing(("latent_mask", {"value": 0.0}))

    assert codes_of(document, "note") == ["N_NO_EFFECT"]
    assert compiling(document).spec is not None


def test_kept_frames_lost_to_the_lattice_are_told():
    document = editing(("temporal_mask", {"mode": "continuation", "preserve_fraction": 0.5}))

    (note,) = compiling(document).diagnostics

    assert (note.code, note.node_id, note.param) == ("N_SNAPPED", "edit", "mask")
    assert note.message.startswith("the mask keeps 22 frames whole; 21 of them")


def test_a_checkpoint_of_free_size_cuts_the_source_to_whole_tokens_and_says_so():
    document = editing()
    document["graph"]["nodes"]["model"]["params"] = {"checkpoint": "wide"}
    document["graph"]["nodes"]["source"]["params"] = {"file": "long.mp4"}
    document["graph"]["nodes"]["edit"]["params"] = {"frame_count": 49}

    spec = spec_of(document)

    assert [stage_of(spec, "encode_video").attr(name) for name in ("width_px", "height_px")] == [640, 352]
    assert codes_of(document, "note") == ["N_RESIZED"]


def test_an_endless_source_is_refused():
    document = editing()
    document["graph"]["nodes"]["source"] = {"type": "streaming_rollout", "params": {"chunk_count": 0}}
    document["graph"]["edges"] |= {
        "m": {"from": ["model", "model"], "to": ["source", "model"]},
        "p": {"from": ["prompt", "prompt"], "to": ["source", "prompt"]},
    }

    error = only_error(document)

    assert (error.code, error.node_id, error.param) == ("E_ENDLESS", "edit", "source")
    document["graph"]["nodes"]["source"]["params"] = {"chunk_count": 4}
    assert stage_of(spec_of(document), "encode_video").attr("frame_count") == 45
