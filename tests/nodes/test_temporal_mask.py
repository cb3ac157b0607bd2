import pytest

from tests.compiler.target import editing, only_error, spec_of, stage_of


def ranges(frame_count=0, **params):
    mask = stage_of(spec_of(editing(("temporal_mask", params), frame_count=frame_count)), "temporal_mask")
    assert mask.attr("frame_count") == (frame_count or 45)
    return mask.attr("ranges")


@pytest.mark.parametrize(
    ("params", "kept"),
    [
        ({"mode": "continuation", "preserve_fraction": 0.5}, ((0, 22, 0.0),)),
        ({"mode": "continuation", "keep_s": 1.0}, ((0, 16, 0.0),)),
        ({"mode": "continuation", "keep_s": 2.8}, ((0, 44, 0.0),)),
        ({"mode": "continuation", "preserve_fraction": 0.0}, ()),
        ({"mode": "bridge", "preserve_fraction": 0.5}, ((0, 11, 0.0), (34, 45, 0.0))),
        ({"mode": "bridge", "keep_s": 0.5}, ((0, 8, 0.0), (37, 45, 0.0))),
        ({"mode": "bridge", "keep_s": 2.0}, ((0, 45, 0.0),)),
        ({"mode": "keep_ranges", "ranges": "0-1, 2-2.5"}, ((0, 16, 0.0), (32, 40, 0.0))),
        ({"mode": "keep_ranges", "ranges": "2-2.8125s\n0.5-1"}, ((8, 16, 0.0), (32, 45, 0.0))),
        ({"mode": "keep_ranges", "ranges": "0-1, 0.5-2"}, ((0, 32, 0.0),)),
        ({"mode": "keep_ranges", "ranges": ""}, ()),
    ],
)
def test_a_mode_keeps_its_frames(params, kept):
    assert ranges(**params) == kept


def test_an_extension_keeps_the_source_of_a_longer_clip():
    assert ranges(frame_count=93, mode="extension") == ((0, 45, 0.0),)


def test_the_value_is_that_of_the_frames_made_anew():
    mask = stage_of(spec_of(editing(("temporal_mask", {"value": 0.25}))), "temporal_mask")

    assert mask.attr("other_value") == 0.25


def test_its_own_source_counts_before_that_of_the_edit():
    document = editing(("temporal_mask", {"mode": "continuation", "preserve_fraction": 0.5}), frame_count=49)
    document["graph"]["nodes"]["source"]["params"] = {"file": "long.mp4"}
    assert stage_of(spec_of(document), "temporal_mask").attr("ranges") == ((0, 24, 0.0),)

    document["graph"]["nodes"]["other"] = {"type": "load_video", "params": {"file": "shapes-source.mp4"}}
    document["graph"]["edges"]["o"] = {"from": ["other", "video"], "to": ["mask", "source"]}

    assert stage_of(spec_of(document), "temporal_mask").attr("ranges") == ((0, 22, 0.0),)


@pytest.mark.parametrize("word", ["1", "2-1", "1-1", "a-b", "-1-2", "0-nan", "0-1-2"])
def test_a_range_that_cannot_be_read_is_named(word):
    error = only_error(editing(("temporal_mask", {"mode": "keep_ranges", "ranges": f"0-1, {word}"})))

    assert (error.code, error.node_id, error.param, error.given) == (
        "E_PARAM_VALUE",
        "mask",
        "ranges",
        repr(word),
    )
