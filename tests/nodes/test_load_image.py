from tests.compiler.target import only_error, spec_of, stage_of, workflow


def looking(**params):
    return workflow(
        {"picture": ("load_image", params), "look": ("preview", {})}, ["picture.image > look.video"]
    )


def test_a_picture_is_loaded_by_its_name_and_meant_by_its_bytes():
    load = stage_of(spec_of(looking(file="photo.png")), "load_image")

    assert (load.attr("asset"), load.attr("content_id")) == ("photo.png", "f" * 64)


def test_a_node_just_added_asks_for_a_file():
    error = only_error(looking())

    assert (error.code, error.node_id, error.param) == ("E_UNKNOWN_ASSET", "picture", "file")
    assert "photo.png" in error.message
