"""The denoise loop turned inside out gives what the loop written out gives."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from rushes.backend.engine.failures import JobFault
from rushes.backend.engine.loops.denoise import DenoiseLoop, DenoiseState, DenoiseTask
from rushes.backend.engine.loops.editing import Edit
from rushes.backend.engine.loops.forward import Forwarder
from rushes.backend.engine.loops.guidance import Guidance
from rushes.backend.engine.loops.samplers import SAMPLERS
from rushes.backend.engine.noise import chunk_noise
from tests.backend.engine.loops.psnr import psnr_db

SIGMAS = (1.0, 0.9, 0.75, 0.5, 0.0)
SHAPE = (1, 16, 3, 4, 6)


@pytest.fixture
def task(tiny):
    def text(prompt):
        return tiny.text_kv(tiny.encode_text([prompt]))

    def make(*, seed=0, scale=1.0, prompt="a red circle", **options):
        texts = (text(prompt),) if scale == 1.0 else (text(prompt), text(""))
        noise = chunk_noise(seed, 0, 0, SHAPE)
        defaults = {"sigmas": SIGMAS, "sampler": SAMPLERS["euler"]}
        return DenoiseTask(guidance=Guidance(scale), noise=noise, texts=texts, **{**defaults, **options})

    return make


def run(task, components):
    loop, forwarder = DenoiseLoop(task), Forwarder(components)
    state = loop.init()
    while not loop.is_done(state):
        loop.advance(state, forwarder.run([loop.prepare(state)])[0])
    return loop.finalize(state)


def sigma_rows(latent, sigma):
    return torch.full((1, latent.shape[2]), sigma)


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_the_inverted_loop_equals_the_plain_loop_bit_for_bit(tiny, task, scale):
    given = task(scale=scale)
    latent = given.noise
    for sigma, following in pairwise(SIGMAS):
        rows = len(given.texts)
        velocity = tiny.predict(
            latent.expand(rows, -1, -1, -1, -1),
            sigma_rows(latent, sigma).expand(rows, -1),
            tiny.join_text(given.texts),
        )
        if scale != 1.0:
            velocity = velocity[1:] + scale * (velocity[:1] - velocity[1:])
        ratio = following / sigma
        latent = ratio * latent + (1 - ratio) * (latent - velocity * sigma)

    assert torch.equal(run(given, tiny), latent)


@pytest.mark.parametrize("sampler", ["euler", "unipc"])
def test_a_loop_saved_after_any_step_goes_on_bit_for_bit(tiny, task, sampler):
    given = task(sampler=SAMPLERS[sampler], scale=2.0)
    whole, forwarder = run(given, tiny), Forwarder(tiny)
    for saved_after in range(len(SIGMAS) - 1):
        loop = DenoiseLoop(given)
        state = loop.init()
        while not loop.is_done(state):
            if state.step_index == saved_after:
                state = DenoiseState.from_state(state.state_dict())
            loop.advance(state, forwarder.run([loop.prepare(state)])[0])
        assert torch.equal(loop.finalize(state), whole)


def test_lanes_of_different_steps_prompts_seeds_and_masks_come_out_as_alone(tiny, task):
    source = chunk_noise(9, 0, 0, SHAPE)
    cells = torch.ones(1, 1, *SHAPE[2:])
    cells[..., :3] = 0.0
    edited = task(seed=3, prompt="a blue star")
    edited = replace(edited, source=source, edit=Edit.of(source, cells, edited.noise, 2))
    tasks = [task(seed=1), task(seed=2, prompt="a green square moves left"), edited]
    alone = [run(one, tiny) for one in tasks]
    loops, forwarder = [DenoiseLoop(one) for one in tasks], Forwarder(tiny)
    states = [loop.init() for loop in loops]
    loops[0].advance(states[0], forwarder.run([loops[0].prepare(states[0])])[0])  # one step ahead

    while not all(loop.is_done(state) for loop, state in zip(loops, states, strict=True)):
        lanes = [(loop, state) for loop, state in zip(loops, states, strict=True) if not loop.is_done(state)]
        velocities = forwarder.run([loop.prepare(state) for loop, state in lanes])
        for (loop, state), velocity in zip(lanes, velocities, strict=True):
            loop.advance(state, velocity)

    for loop, state, solo in zip(loops, states, alone, strict=True):
        assert psnr_db(solo, loop.finalize(state)) >= 60.0


def test_lanes_with_and_without_an_adapter_come_out_as_alone(tiny, task, checkpoint_root):
    adapter = tiny.load_adapter(checkpoint_root / "tiny" / "adapters" / "loud.safetensors")
    tasks = [task(seed=1), task(seed=1, stack=((adapter, 1.0),))]
    loops = [DenoiseLoop(one) for one in tasks]
    states = [loop.init() for loop in loops]
    forwarder = Forwarder(tiny)

    for _ in SIGMAS[:-1]:
        velocities = forwarder.run([loop.prepare(state) for loop, state in zip(loops, states, strict=True)])
        for loop, state, velocity in zip(loops, states, velocities, strict=True):
            loop.advance(state, velocity)

    for loop, state, one in zip(loops, states, tasks, strict=True):
        assert psnr_db(run(one, tiny), loop.finalize(state)) >= 60.0
    assert psnr_db(states[0].latent, states[1].latent) < 60.0


@pytest.mark.parametrize("sampler", ["euler", "unipc"])
def test_kept_cells_come_out_as_they_went_in_bit_for_bit(tiny, task, sampler):
    source = chunk_noise(9, 0, 0, SHAPE)
    cells = torch.ones(1, 1, *SHAPE[2:])
    cells[..., :3] = 0.0
    given = task(sampler=SAMPLERS[sampler])
    given = replace(given, source=source, edit=Edit.of(source, cells, given.noise, 2))

    latent = run(given, tiny)

    assert torch.equal(latent[..., :3], source[..., :3])
    assert not torch.allclose(latent[..., 3:], source[..., 3:], atol=0.1)


def test_a_shortened_schedule_starts_from_the_noised_source(task):
    source = chunk_noise(9, 0, 0, SHAPE)
    given = task(sigmas=(0.75, 0.0), source=source)

    torch.testing.assert_close(DenoiseLoop(given).init().latent, 0.25 * source + 0.75 * given.noise)


def test_an_edit_over_the_whole_schedule_starts_from_noise_alone(task):
    source = chunk_noise(9, 0, 0, SHAPE)
    given = task(source=source)

    assert torch.equal(DenoiseLoop(given).init().latent, given.noise)


def test_numbers_that_are_not_finite_are_a_fault_of_the_job(task):
    loop = DenoiseLoop(task())
    state = loop.init()
    state.latent = state.latent * float("nan")

    with pytest.raises(JobFault) as caught:
        loop.finalize(state)

    assert caught.value.code == "E_NAN"


def test_noise_depends_on_seed_lane_and_chunk_and_on_nothing_else():
    first = chunk_noise(7, 0, 2, (4, 3))
    torch.manual_seed(5)
    torch.randn(10)

    assert torch.equal(first, chunk_noise(7, 0, 2, (4, 3)))
    others = [chunk_noise(8, 0, 2, (4, 3)), chunk_noise(7, 1, 2, (4, 3)), chunk_noise(7, 0, 3, (4, 3))]
    assert not any(torch.equal(first, other) for other in others)
