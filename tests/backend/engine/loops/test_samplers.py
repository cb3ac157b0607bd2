"""Rules of one step, against Euler's method by hand and against diffusers."""

from itertools import pairwise

import pytest
import torch
from diffusers import UniPCMultistepScheduler

from rushes.backend.engine.loops.samplers import SAMPLERS, Euler, SamplerHistory, UniPC, clean_of

SIGMAS = (1.0, 0.9, 0.75, 0.5, 0.0)
TARGET = torch.linspace(-1, 1, 12).view(1, 1, 3, 2, 2)


def velocity_of(latent, sigma):
    """A bent field, so that the order of a sampler shows."""
    return (latent - TARGET) * (1.5 - 0.5 * sigma) + 0.3 * torch.sin(3 * latent)


def run(sampler, sigmas=SIGMAS):
    latent, history = torch.ones_like(TARGET) * 0.7, SamplerHistory()
    for index, sigma in enumerate(sigmas[:-1]):
        clean = clean_of(latent, velocity_of(latent, sigma), sigma)
        latent = sampler.step(latent, clean, sigmas, index, history)
    return latent


def test_euler_moves_along_the_velocity():
    latent = torch.ones_like(TARGET) * 0.7
    for sigma, following in pairwise(SIGMAS):
        latent = latent + (following - sigma) * velocity_of(latent, sigma)

    torch.testing.assert_close(run(Euler()), latent)


def test_unipc_of_order_1_without_corrector_is_euler():
    torch.testing.assert_close(run(UniPC(order=1, has_corrector=False)), run(Euler()))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("steps", [4, 9])
def test_unipc_equals_diffusers(order, steps):
    scheduler = UniPCMultistepScheduler(
        prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0, solver_order=order
    )
    scheduler.set_timesteps(steps)
    # Its first sigma is 0.999...; ours start at 1, and so does the comparison.
    scheduler.sigmas[0] = 1.0
    sigmas = tuple(float(sigma) for sigma in scheduler.sigmas)
    latent = torch.ones_like(TARGET) * 0.7
    for timestep, sigma in zip(scheduler.timesteps, sigmas, strict=False):
        latent = scheduler.step(velocity_of(latent, sigma), timestep, latent).prev_sample

    torch.testing.assert_close(run(UniPC(order=order), sigmas), latent, atol=1e-5, rtol=1e-5)


def test_a_second_order_sampler_is_nearer_to_the_curve():
    fine = tuple(1 - i / 400 for i in range(401))

    exact = run(Euler(), fine)

    def error(sampler):
        return float((run(sampler, tuple(1 - i / 8 for i in range(9))) - exact).abs().max())

    assert error(SAMPLERS["unipc"]) < 0.5 * error(SAMPLERS["euler"])
