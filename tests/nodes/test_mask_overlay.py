import pytest

from tests.compiler.target import only_error, spec_of, stage_of, workflow


def overlaid(source, mask=("latent_mask", {}), **params):
    kind = source[0].removeprefix("load_")
    return workflow(
        {"below": source, "mask": mask, "overlay": ("mask_overlay", params), "look": ("preview", {})},
        [f"below.{kind} > overlay.video", "mask.mask > overlay.mask", "overlay.video > look.video"],
    )


@pytest.mark.parametrize(
    ("source", "frames"), [(("load_video", {}), 45), (("load_image", {"file": "photo.png"}), 1)]
)
def test_the_mask_is_drawn_on_what_lies_below_without_a_model(source, frames):
    spec = spec_of(overlaid(source, ("temporal_mask", {}), colour="#00FF00", opacity=0.25))
    overlay = stage_of(spec, "mask_overlay")

    assert "load_model" not in [stage.op for stage in spec.stages]
    assert stage_of(spec, "temporal_mask").attr("frame_count") == frames
    assert (overlay.attr("colour"), overlay.attr("opacity")) == ("#00ff00", 0.25)


@pytest.mark.parametrize("colour", ["red", "#fff", "#00000g", ""])
def test_a_colour_that_is_none_is_refused(colour):
    error = only_error(overlaid(("load_video", {}), colour=colour))

    assert (error.code, error.node_id, error.param, error.suggestion) == (
        "E_PARAM_VALUE",
        "overlay",
        "colour",
        "#ff3b30",
    )
