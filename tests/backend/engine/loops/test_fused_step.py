"""One launch for a step against the loop's own arithmetic; in Triton's interpreter where there is no GPU."""

import pytest
import torch

from rushes.backend.engine.loops.denoise import DenoiseLoop, DenoiseTask
from rushes.backend.engine.loops.editing import Edit
from rushes.backend.engine.loops.fused_step import fused_step, has_step_kernel
from rushes.backend.engine.loops.guidance import Guidance
from rushes.backend.engine.loops.samplers import SAMPLERS

pytest.importorskip("triton")

SIGMAS = (1.0, 0.9, 0.5, 0.0)
SHAPE = (1, 3, 2, 4, 6)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request) -> torch.device:
    if (request.param == "cuda") != torch.cuda.is_available():
        pytest.skip("kernels are interpreted where there is no GPU, and compiled where there is one")
    return torch.device(request.param)


def drawn(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def edit(device: torch.device) -> Edit:
    cells = torch.ones(1, 1, *SHAPE[2:])
    cells[..., :2, :] = 0.0
    cells[..., 3, 3] = 0.3
    return Edit.of(drawn(1, *SHAPE).to(device), cells.to(device), drawn(2, *SHAPE).to(device), patch=2)


@pytest.mark.parametrize("is_edited", [False, True], ids=["free", "edited"])
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_all_steps_equal_the_loop_s_own(device, scale, is_edited):
    guidance, kept = Guidance(scale), edit(device) if is_edited else None
    task = DenoiseTask(
        sigmas=SIGMAS,
        sampler=SAMPLERS["euler"],
        guidance=guidance,
        noise=drawn(0, *SHAPE),
        texts=(None,) * guidance.branches,
        edit=edit(torch.device("cpu")) if is_edited else None,
    )
    loop = DenoiseLoop(task)
    state = loop.init()
    latent = task.noise.to(device)
    for index in range(task.step_count):
        velocity = drawn(10 + index, guidance.branches, *SHAPE[1:])
        loop.advance(state, velocity)
        between = SIGMAS[index], SIGMAS[index + 1]
        latent, clean = fused_step(latent, velocity.to(device), between, guidance, kept)
        torch.testing.assert_close(latent.cpu(), state.latent, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(clean.cpu(), state.clean, atol=1e-5, rtol=1e-5)
    if kept is not None:
        assert torch.equal(latent[..., :2, :], kept.source[..., :2, :])


def test_only_euler_s_step_on_a_gpu_has_a_kernel():
    assert has_step_kernel(SAMPLERS["euler"], torch.device("cuda"))
    assert not has_step_kernel(SAMPLERS["unipc"], torch.device("cuda"))
    assert not has_step_kernel(SAMPLERS["euler"], torch.device("cpu"))


@pytest.mark.gpu
def test_on_a_gpu_the_loop_takes_it(device):
    if device.type != "cuda":
        pytest.skip("no GPU here")
    guidance = Guidance(1.0)
    task = DenoiseTask(SIGMAS, SAMPLERS["euler"], guidance, drawn(0, *SHAPE).to(device), (None,))
    loop = DenoiseLoop(task)
    state = loop.init()
    velocity = drawn(10, *SHAPE).to(device)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as trace:
        loop.advance(state, velocity)
        torch.cuda.synchronize()

    assert any("_masked_step_kernel" in event.key for event in trace.key_averages())
