"""Latent masks while denoising."""

import pytest
import torch

from rushes.backend.engine.loops.editing import Edit, pinned_start

SOURCE = torch.randn(1, 2, 2, 4, 4, generator=torch.Generator().manual_seed(0))
NOISE = torch.randn(1, 2, 2, 4, 4, generator=torch.Generator().manual_seed(1))
LATENT = torch.randn(1, 2, 2, 4, 4, generator=torch.Generator().manual_seed(2))


def edit_of(cells):
    return Edit.of(SOURCE, cells, NOISE, patch=2)


def cells(value=0.0):
    return torch.full((1, 1, 2, 4, 4), value)


def test_a_kept_token_enters_almost_clean():
    edit = edit_of(cells(0.0))

    torch.testing.assert_close(edit.model_input(LATENT), 0.999 * SOURCE + 0.001 * NOISE)
    assert torch.equal(edit.token_sigma(0.8), torch.full((1, 2), 0.001))


def test_no_token_is_noisier_than_the_step():
    assert torch.equal(edit_of(cells(0.0)).token_sigma(0.0004), torch.full((1, 2), 0.0004))


def test_a_token_enters_at_the_level_of_its_largest_cell():
    mask = cells()
    mask[..., 0, 0] = 0.5

    edit = edit_of(mask)

    assert torch.equal(edit.tokens[0, 0, 0, :2, :2], torch.full((2, 2), 0.5))
    assert edit.token_sigma(0.8)[0, 0, 1, 1] == pytest.approx(0.4)
    assert edit.token_sigma(0.8)[0, 0, 2, 2] == pytest.approx(0.001)


def test_levels_are_rounded_up_to_256ths():
    assert float(edit_of(cells(0.5001)).tokens.max()) == 129 / 256


def test_the_clean_prediction_is_the_source_bit_for_bit_where_nothing_is_made_anew():
    mask = cells(1.0)
    mask[..., :2, :] = 0.0
    edit = edit_of(mask)

    clean = edit.clean(edit.model_input(LATENT), LATENT * 3.0, 0.7)

    assert torch.equal(clean[..., :2, :], SOURCE[..., :2, :])
    assert not torch.allclose(clean[..., 2:, :], SOURCE[..., 2:, :])


def test_a_mask_of_ones_changes_nothing():
    edit = edit_of(cells(1.0))

    assert torch.equal(edit.model_input(LATENT), LATENT)
    torch.testing.assert_close(edit.clean(LATENT, SOURCE, 0.7), LATENT - 0.7 * SOURCE)


def test_a_mask_that_is_alike_over_each_frame_says_sigma_per_frame():
    mask = cells(1.0)
    mask[:, :, 0] = 0.0

    assert torch.equal(edit_of(mask).token_sigma(0.8), torch.tensor([[0.001, 0.8]]))


def test_a_start_is_pinned_and_the_rest_made_anew():
    source, mask = pinned_start(SOURCE[:, :, :1], 3)

    assert torch.equal(source[:, :, :1], SOURCE[:, :, :1])
    assert mask[0, 0, :, 0, 0].tolist() == [0.0, 1.0, 1.0]


def test_a_mask_off_the_source_is_refused():
    with pytest.raises(ValueError, match=r"must cover \[2, 4, 4\] cells, got \[3, 4, 4\]"):
        Edit.of(SOURCE, torch.ones(1, 1, 3, 4, 4), NOISE, patch=2)
