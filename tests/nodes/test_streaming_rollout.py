import pytest

from rushes.compiler.ir.schedule import flow_sigmas
from rushes.compiler.ir.spec import LoopSpec
from tests.compiler.target import codes_of, errors_of, only_error, rolling, spec_of, stage_of


def test_it_is_one_loop_over_chunks():
    rollout = stage_of(spec_of(rolling(chunk_count=5, seed=9, sink_frames=3, session="mine")), "rollout")

    assert isinstance(rollout, LoopSpec)
    assert (rollout.trip_count, rollout.body) == (5, ("denoise", "decode", "commit"))
    assert dict(rollout.attrs) == {
        "mode": "kv",
        "seed": 9,
        "sigmas": flow_sigmas(4, 3.0),
        "sampler": "euler",
        "guidance_scale": 1.0,
        "width_px": 96,
        "height_px": 96,
        "fps": 16.0,
        "chunk_latent_frames": 3,
        "sink_frames": 3,
        "window_frames": 9,
        "temporal": 4,
        "paced": False,
        "session": "mine",
    }


def started(chunk_count, kind="video", file="shapes-source.mp4"):
    document = rolling(chunk_count=chunk_count)
    document["graph"]["nodes"]["start"] = {"type": f"load_{kind}", "params": {"file": file}}
    document["graph"]["edges"]["s"] = {"from": ["start", kind], "to": ["rollout", "start"]}
    return document


def last_frame(document):
    """Length of the rollout, as told to whom asks for a frame it does not have."""
    document["graph"]["nodes"]["still"] = {"type": "save_image", "params": {"frame_index": 90_000}}
    document["graph"]["edges"]["f"] = {"from": ["rollout", "video"], "to": ["still", "image"]}
    return only_error(document).suggestion + 1


@pytest.mark.parametrize(("document", "frames"), [(rolling(chunk_count=20), 237), (started(20), 240)])
def test_its_length_is_whole_chunks_less_three_frames_without_a_start(document, frames):
    assert last_frame(document) == frames


def test_a_start_off_the_lattice_is_used_from_its_end():
    document = started(2, file="long.mp4")

    assert codes_of(document, "note") == ["N_SNAPPED", "N_NO_EFFECT"]
    assert stage_of(spec_of(document), "rollout").read("start") == "start.video"


def test_a_picture_may_be_the_start():
    assert stage_of(spec_of(started(2, "image", "photo.png")), "rollout").read("start") == "start.image"


def test_a_checkpoint_without_rollouts_refuses():
    document = rolling()
    document["graph"]["nodes"]["model"]["params"] = {"checkpoint": "wide"}

    error = only_error(document)

    assert (error.code, error.node_id, error.param) == ("E_CAPABILITY", "rollout", "model")


def test_every_unknown_key_is_named():
    found = errors_of(rolling(("action_script", {"script": "w, q, up+d"})))

    assert [(error.code, error.given) for error in found] == [
        ("E_UNKNOWN_KEY", "'q'"),
        ("E_UNKNOWN_KEY", "'up'"),
    ]


def test_a_window_of_nothing_is_refused():
    error = only_error(rolling(window_frames=0))

    assert (error.code, error.param, error.suggestion) == ("E_PARAM_RANGE", "window_frames", 1)


def test_a_session_is_named_like_a_file():
    assert only_error(rolling(session="a/b")).param == "session"
