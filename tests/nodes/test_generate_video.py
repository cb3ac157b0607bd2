import pytest

from rushes.compiler.ir.spec import LoopSpec
from tests.compiler.target import errors_of, generating, only_error, spec_of, stage_of


def test_it_is_one_loop_and_one_decode():
    spec = spec_of(generating(seed=3, frame_count=21, fps=12))
    denoise, decode = stage_of(spec, "denoise"), stage_of(spec, "decode")

    assert isinstance(denoise, LoopSpec)
    assert (denoise.trip_count, denoise.body) == (4, ("predict", "step", "preview"))
    assert {name: denoise.attr(name) for name in ("seed", "width_px", "height_px", "frame_count", "fps")} == {
        "seed": 3,
        "width_px": 96,
        "height_px": 96,
        "frame_count": 21,
        "fps": 12.0,
    }
    assert (decode.read("latent"), decode.attr("fps")) == (denoise.write("latent"), 12.0)


def started(kind, file):
    document = generating()
    document["graph"]["nodes"]["start"] = {"type": f"load_{kind}", "params": {"file": file}}
    document["graph"]["edges"]["k"] = {"from": ["start", kind], "to": ["generate", "keyframes"]}
    return document


@pytest.mark.parametrize(("kind", "file"), [("image", "photo.png"), ("video", "long.mp4")])
def test_a_keyframe_is_encoded_as_one_frame_and_pinned_as_the_start(kind, file):
    spec = spec_of(started(kind, file))
    encode = stage_of(spec, "encode_video")

    assert encode.read("video") == f"start.{kind}"
    assert [encode.attr(name) for name in ("width_px", "height_px", "frame_count")] == [96, 96, 1]
    assert stage_of(spec, "denoise").read("start") == encode.write("latent") == "generate.start"


def test_a_checkpoint_without_start_pictures_refuses_keyframes():
    document = started("image", "photo.png")
    document["graph"]["nodes"]["model"]["params"] = {"checkpoint": "wide"}
    document["graph"]["nodes"]["generate"]["params"] = {"width_px": 832, "height_px": 480}

    error = only_error(document)

    assert (error.code, error.node_id, error.param) == ("E_CAPABILITY", "generate", "keyframes")


def test_a_checkpoint_of_free_size_takes_multiples_of_its_tokens():
    document = generating(width_px=640, height_px=360, frame_count=121)
    document["graph"]["nodes"]["model"]["params"] = {"checkpoint": "wide"}

    (error,) = errors_of(document)

    assert (error.code, error.param, error.suggestion) == ("E_SIZE", "height_px", 368)
    document["graph"]["nodes"]["generate"]["params"]["height_px"] = 368
    assert errors_of(document) == []
