from tests.compiler.target import only_error, spec_of, stage_of, workflow


def looking(**params):
    return workflow({"clip": ("load_video", params), "look": ("preview", {})}, ["clip.video > look.video"])


def test_a_clip_is_loaded_by_its_name_and_meant_by_its_bytes():
    load = stage_of(spec_of(looking(file="long.mp4")), "load_video")

    assert (load.attr("asset"), load.attr("content_id")) == ("long.mp4", "e" * 64)


def test_a_clip_that_is_not_there_is_refused():
    assert only_error(looking(file="../../secret.mp4")).code == "E_UNKNOWN_ASSET"
