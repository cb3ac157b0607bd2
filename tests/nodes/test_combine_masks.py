import pytest

from tests.compiler.target import compiling, editing, spec_of, stage_of


def combined(mode, frame_count=0, region=None):
    """An edit under a latent and an extension mask, combined."""
    document = editing(("combine_masks", {"mode": mode}), frame_count=frame_count)
    document["graph"]["nodes"] |= {
        "region": {"type": "latent_mask", "params": region or {}},
        "time": {"type": "temporal_mask", "params": {"mode": "extension"}},
    }
    document["graph"]["edges"] |= {
        "a": {"from": ["region", "mask"], "to": ["mask", "a"]},
        "b": {"from": ["time", "mask"], "to": ["mask", "b"]},
    }
    return document


def test_both_masks_are_drawn_for_the_clip_of_the_edit():
    spec = spec_of(combined("union", frame_count=81))
    joined = stage_of(spec, "combine_masks")

    assert (joined.read("a"), joined.read("b")) == ("region.mask", "time.mask")
    assert joined.attr("mode") == "union"
    assert stage_of(spec, "temporal_mask").attr("frame_count") == 81


@pytest.mark.parametrize(
    ("mode", "region", "runs"),
    [
        ("union", {}, True),
        ("intersect", {}, False),
        ("multiply", {}, False),
        ("intersect", {"shape": "full", "value": 0.5}, True),
        ("multiply", {"shape": "full", "value": 0.5}, True),
        ("subtract", {"shape": "full"}, False),
        ("subtract", {"shape": "full", "invert": True}, False),
    ],
)
def test_added_frames_must_be_above_zero_everywhere_after_joining(mode, region, runs):
    compiled = compiling(combined(mode, frame_count=81, region=region))

    assert (compiled.spec is not None) == runs
    assert {found.param for found in compiled.diagnostics if found.severity == "error"} <= {"mask"}
