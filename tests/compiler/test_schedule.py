"""Sigma schedules are those of diffusers, and are cut by the denoise strength."""

import pytest
import torch
from diffusers import UniPCMultistepScheduler

from rushes.compiler.ir.schedule import cut_sigmas, flow_sigmas


@pytest.mark.parametrize("step_count", [1, 2, 4, 7, 30, 50])
@pytest.mark.parametrize("shift", [0.5, 1.0, 3.0, 5.0, 8.0])
def test_flow_sigmas_round_to_those_of_unipc_bit_for_bit(step_count, shift):
    unipc = UniPCMultistepScheduler(
        use_flow_sigmas=True, prediction_type="flow_prediction", flow_shift=shift, num_train_timesteps=1000
    )
    unipc.set_timesteps(step_count)

    assert torch.equal(torch.tensor(flow_sigmas(step_count, shift), dtype=torch.float32), unipc.sigmas)


def test_four_steps_at_shift_three_are_the_grid_the_model_was_trained_on():
    assert flow_sigmas(4, 3.0) == pytest.approx((1.0, 0.9, 0.75, 0.501, 0.0), abs=5e-4)


@pytest.mark.parametrize(
    ("strength", "steps"), [(1.0, 4), (0.9, 4), (0.75, 3), (0.5, 2), (0.125, 1), (0.1, 0)]
)
def test_a_strength_keeps_the_low_end_of_the_schedule(strength, steps):
    whole = flow_sigmas(4, 3.0)

    cut = cut_sigmas(whole, strength)

    assert cut == whole[4 - steps :]
