import pytest

from tests.compiler.target import only_error, rolling, spec_of, stage_of, workflow


def taking(frame_index, file="long.mp4"):
    return workflow(
        {
            "clip": ("load_video", {"file": file}),
            "save": ("save_image", {"frame_index": frame_index, "format": "webp"}),
        },
        ["clip.video > save.image"],
    )


@pytest.mark.parametrize("frame_index", [0, 49, -1, -50])
def test_a_frame_of_a_clip_counts_from_either_end(frame_index):
    spec = spec_of(taking(frame_index))

    assert stage_of(spec, "save_image").attr("frame_index") == frame_index
    assert [(output.node_id, output.kind) for output in spec.outputs] == [("save", "save_image")]


@pytest.mark.parametrize(("frame_index", "nearest"), [(50, 49), (-51, 0)])
def test_a_frame_outside_the_clip_is_refused(frame_index, nearest):
    error = only_error(taking(frame_index))

    assert (error.code, error.param, error.suggestion) == ("E_PARAM_RANGE", "frame_index", nearest)


def test_an_endless_rollout_has_a_first_frame_but_no_last():
    document = rolling(chunk_count=0)
    document["graph"]["nodes"]["save"] = {"type": "save_image", "params": {"frame_index": -1}}
    document["graph"]["edges"]["e3"]["to"] = ["save", "image"]

    assert only_error(document).code == "E_ENDLESS"
    document["graph"]["nodes"]["save"]["params"] = {"frame_index": 3}
    assert stage_of(spec_of(document), "save_image").attr("frame_index") == 3
