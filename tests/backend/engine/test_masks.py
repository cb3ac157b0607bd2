"""Masks as formulas: drawn, joined, and brought to the latent's cells."""

import numpy as np
import pytest

from rushes.backend.engine.masks import CombinedMask, ShapeMask, TimeMask, to_latent_cells
from rushes.backend.engine.values import Canvas

CANVAS = Canvas(16, 8, 5)


def shape(kind="rectangle", box=(0.25, 0.25, 0.5, 0.5), **options):
    defaults = {"points": (), "feather_px": 0.0, "value": 1.0, "is_inverted": False}
    return ShapeMask(kind, box, **{**defaults, **options})


def test_a_rectangle_covers_the_pixels_inside_its_box():
    drawn = shape().draw(CANVAS)

    assert drawn.shape == (5, 8, 16)
    assert drawn[0].sum() == 8 * 4
    assert drawn[0, 2:6, 4:12].all()


def test_an_inverted_mask_covers_the_rest_at_its_value():
    drawn = shape(is_inverted=True, value=0.5).draw(CANVAS)

    assert drawn[0, 4, 8] == 0.0
    assert drawn[0, 0, 0] == 0.5


def test_a_feather_falls_to_nothing_over_its_width_outside_the_edge():
    row = shape(box=(0.0, 0.0, 0.5, 1.0), feather_px=4.0).draw(CANVAS)[0, 4]

    assert row[7] == 1.0
    assert row[8:13].tolist() == pytest.approx([0.875, 0.625, 0.375, 0.125, 0.0])


def test_an_ellipse_covers_its_area():
    canvas = Canvas(200, 100, 1)

    drawn = shape("ellipse").draw(canvas)

    assert drawn.sum() == pytest.approx(np.pi * 50 * 25, rel=0.02)
    assert drawn[0, 50, 100] == 1.0
    assert drawn[0, 26, 52] == 0.0


def test_a_polygon_covers_its_inside_by_the_even_odd_rule():
    canvas = Canvas(100, 100, 1)
    triangle = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
    star = ((0.5, 0.0), (0.8, 1.0), (0.0, 0.4), (1.0, 0.4), (0.2, 1.0))

    assert shape("polygon", points=triangle).draw(canvas).mean() == pytest.approx(0.5, abs=0.01)
    assert shape("polygon", points=star).draw(canvas)[0, 60, 50] == 0.0


def test_a_full_mask_covers_everything():
    assert shape("full").draw(CANVAS).min() == 1.0


def test_a_time_mask_gives_each_frame_its_value():
    drawn = TimeMask(((0, 2, 0.0), (3, 4, 0.25)), 1.0, 5).draw(CANVAS)

    assert drawn[:, 3, 3].tolist() == [0.0, 0.0, 1.0, 0.25, 1.0]


@pytest.mark.parametrize(
    ("mode", "expected"), [("union", 0.8), ("intersect", 0.5), ("subtract", 0.1), ("multiply", 0.4)]
)
def test_masks_are_joined_pixel_by_pixel(mode, expected):
    first, second = shape("full", value=0.5), shape("full", value=0.8)

    assert CombinedMask(first, second, mode).draw(CANVAS)[0, 0, 0] == pytest.approx(expected)


def test_cells_take_the_mean_of_their_pixels_and_the_largest_of_their_frames():
    mask = np.zeros((5, 8, 16), dtype=np.float32)
    mask[0, :, :4] = 1.0
    mask[3, :, 8:] = 1.0

    cells = to_latent_cells(mask, spatial=8, temporal=4)

    assert cells.tolist() == [[[0.5, 0.0]], [[0.0, 1.0]]]


def test_a_mask_off_the_lattice_is_refused():
    with pytest.raises(ValueError, match=r"1 \+ 4k frames"):
        to_latent_cells(np.zeros((4, 8, 16), dtype=np.float32), 8, 4)
