import pytest

from tests.compiler.target import editing, only_error, spec_of, stage_of


def test_the_region_is_told_in_shares_of_the_frame_and_without_pixels():
    mask = stage_of(
        spec_of(editing(("latent_mask", {"shape": "ellipse", "x": 0.1, "feather_px": 4, "invert": True}))),
        "latent_mask",
    )

    assert dict(mask.attrs) == {
        "shape": "ellipse",
        "x": 0.1,
        "y": 0.25,
        "width": 0.5,
        "height": 0.5,
        "points": (),
        "feather_px": 4.0,
        "value": 1.0,
        "invert": True,
    }
    assert mask.reads == ()


def test_a_polygon_has_its_corners():
    params = {"shape": "polygon", "points": "0,0 1,0\n0.5,1.5"}

    mask = stage_of(spec_of(editing(("latent_mask", params))), "latent_mask")

    assert mask.attr("points") == ((0.0, 0.0), (1.0, 0.0), (0.5, 1.5))


@pytest.mark.parametrize(
    ("points", "given"),
    [
        ("", "'0 corners'"),
        ("0,0 1,1", "'2 corners'"),
        ("0,0 1,1 a,b", "'a,b'"),
        ("0,0 1;1 1,0", "'1;1'"),
        ("0,0 1,1 nan,0", "'nan,0'"),
        ("0,0 1,1 9,0", "'9,0'"),
    ],
)
def test_corners_that_cannot_be_read_are_named(points, given):
    error = only_error(editing(("latent_mask", {"shape": "polygon", "points": points})))

    assert (error.code, error.node_id, error.param, error.given) == ("E_PARAM_VALUE", "mask", "points", given)


def test_corners_of_another_shape_are_not_looked_at():
    assert spec_of(editing(("latent_mask", {"points": "nonsense"})))
