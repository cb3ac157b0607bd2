import pytest

from tests.compiler.target import spec_of, workflow


@pytest.mark.parametrize(("kind", "file"), [("image", "photo.png"), ("video", "long.mp4")])
def test_it_shows_clips_and_pictures(kind, file):
    spec = spec_of(
        workflow(
            {"source": (f"load_{kind}", {"file": file}), "look": ("preview", {})},
            [f"source.{kind} > look.video"],
        )
    )

    assert [(output.node_id, output.value, output.kind) for output in spec.outputs] == [
        ("look", f"source.{kind}", "preview")
    ]
