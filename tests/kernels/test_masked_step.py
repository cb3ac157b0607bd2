from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from rushes.backend.engine.loops import editing
from rushes.backend.engine.loops.denoise import DenoiseLoop, DenoiseTask
from rushes.backend.engine.loops.guidance import Guidance
from rushes.backend.engine.loops.samplers import SAMPLERS
from rushes.kernels.masked_step.kernel import masked_step
from rushes.kernels.masked_step.reference import Branches, Edit, Sigmas, Stepped, masked_step_reference

# Rounded once on each side: at a tie the two results may be neighbours, which is one ulp, at most this share
# of them. (Triton's interpreter cuts bf16 off where a GPU rounds it: neighbours half of the time.)
ULP = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
# Before that: a dozen fp32 operations, fused or apart, on values up to 32 (guidance 4 on normal velocities).
FP32_NOISE = 12 * 2.0**-24 * 32

Step = Callable[..., Stepped]

SHAPES = [(1, 1, 1, 1, 1), (2, 3, 2, 3, 5), (1, 16, 3, 10, 14), (3, 5, 1, 17, 31), (1, 48, 2, 6, 6)]
SIGMA_SHAPES: dict[str, Callable[[tuple[int, ...]], tuple[int, ...]]] = {
    "lane": lambda shape: shape[:1],
    "frame": lambda shape: (shape[0], shape[2]),
    "cell": lambda shape: (shape[0], *shape[2:]),
}


def inputs(
    shape: tuple[int, ...], dtype: torch.dtype, device: str, *, guided: bool = False, seed: int = 0
) -> tuple[Tensor, Branches]:
    latent, positive, negative = normal(3, *shape, device=device, seed=10 + seed).to(dtype).unbind()
    if not guided:
        return latent, Branches(positive)
    guidance = torch.linspace(4, 1.5, shape[0]).to(device)
    return latent, Branches(positive, negative, guidance)


def sigma_pair(shape: tuple[int, ...], device: str) -> Sigmas:
    generator = torch.Generator().manual_seed(3)
    now = torch.rand(shape, generator=generator).mul(0.5).add(0.5)
    return Sigmas(now.to(device), (now * torch.rand(shape, generator=generator)).to(device))


def edit_of(latent: Tensor) -> Edit:
    """A third of the cells kept, a third free, a third between; a token is a cell pair along the width."""
    generator = torch.Generator().manual_seed(4)
    cells = torch.rand((latent.shape[0], 1, *latent.shape[2:]), generator=generator).mul(3).sub(1).clamp(0, 1)
    tokens = torch.maximum(cells, cells.flip(-1))
    source, noise = normal(2, *latent.shape, device=str(latent.device), seed=6).to(latent.dtype).unbind()
    almost_clean = (0.999 * source.float() + 0.001 * noise.float()).to(latent.dtype)
    return Edit(source, almost_clean, cells.to(latent.device), tokens.to(latent.device))


def normal(*shape: int, device: str, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(device)


def bits(tensor: Tensor) -> Tensor:
    return tensor.view(torch.int32 if tensor.dtype == torch.float32 else torch.int16)


def assert_near(got: Tensor, want: Tensor) -> None:
    torch.testing.assert_close(got, want, atol=FP32_NOISE, rtol=ULP[want.dtype])


@pytest.mark.parametrize("dtype", ULP, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("guided", [False, True], ids=["one branch", "two"])
def test_a_step_matches_the_reference(
    guided: bool, shape: tuple[int, ...], dtype: torch.dtype, device: str
) -> None:
    latent, branches = inputs(shape, dtype, device, guided=guided)
    sigmas = sigma_pair(shape[:1], device)

    got = masked_step(latent, branches, sigmas, with_clean=True)

    want = masked_step_reference(latent, branches, sigmas, with_clean=True)
    assert got.clean is not None
    assert want.clean is not None
    assert_near(got.clean, want.clean)
    assert_near(got.latent, want.latent)
    assert got.next_input is None


@pytest.mark.parametrize("dtype", ULP, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("guided", [False, True], ids=["one branch", "two"])
def test_an_edited_step_matches_the_reference(
    guided: bool, shape: tuple[int, ...], dtype: torch.dtype, device: str
) -> None:
    latent, branches = inputs(shape, dtype, device, guided=guided)
    sigmas, edit = sigma_pair(shape[:1], device), edit_of(latent)

    got = masked_step(latent, branches, sigmas, edit, with_clean=True, with_next_input=True)

    want = masked_step_reference(latent, branches, sigmas, edit, with_clean=True, with_next_input=True)
    for mine, theirs in zip(got, want, strict=True):
        assert mine is not None
        assert theirs is not None
        assert_near(mine, theirs)


@pytest.mark.parametrize("edited", [False, True], ids=["plain", "edited"])
@pytest.mark.parametrize("per", SIGMA_SHAPES)
def test_sigmas_per_lane_frame_or_cell_match_the_reference(per: str, edited: bool, device: str) -> None:
    shape = (2, 5, 3, 6, 7)
    latent, branches = inputs(shape, torch.float32, device, guided=True)
    sigmas, edit = sigma_pair(SIGMA_SHAPES[per](shape), device), edit_of(latent) if edited else None

    got = masked_step(latent, branches, sigmas, edit)

    assert_near(got.latent, masked_step_reference(latent, branches, sigmas, edit).latent)


@pytest.mark.parametrize("step", [masked_step, masked_step_reference], ids=["kernel", "reference"])
@pytest.mark.parametrize("dtype", ULP, ids=str)
def test_what_the_mask_keeps_has_the_bits_of_the_source_at_the_end(
    step: Step, dtype: torch.dtype, device: str
) -> None:
    latent, _ = inputs((2, 6, 3, 8, 10), dtype, device)
    edit = edit_of(latent)
    edit.source[:, :, 0] = -0.0  # equal to 0, and other bits
    schedule = torch.tensor([[1, 1], [0.9, 0.8], [0.5, 0.6], [0, 0]], device=device)

    for index in range(3):
        _, branches = inputs((2, 6, 3, 8, 10), torch.float32, device, guided=True, seed=index)
        latent = step(latent, branches, Sigmas(schedule[index], schedule[index + 1]), edit).latent

    kept = (edit.cells == 0).expand(latent.shape)
    assert kept.any()
    assert not kept.all()
    assert torch.equal(bits(latent[kept]), bits(edit.source[kept]))
    assert not torch.isnan(latent).any()


@pytest.mark.parametrize("step", [masked_step, masked_step_reference], ids=["kernel", "reference"])
def test_masks_of_ones_are_no_masks_bit_for_bit(step: Step, device: str) -> None:
    latent, branches = inputs((2, 4, 2, 6, 6), torch.float32, device, guided=True)
    sigmas, edit = sigma_pair((2,), device), edit_of(latent)
    free = edit._replace(cells=torch.ones_like(edit.cells), tokens=torch.ones_like(edit.tokens))

    assert torch.equal(step(latent, branches, sigmas, free).latent, step(latent, branches, sigmas).latent)


@pytest.mark.parametrize("step", [masked_step, masked_step_reference], ids=["kernel", "reference"])
def test_a_finished_lane_stays_as_it_is(step: Step, device: str) -> None:
    latent, branches = inputs((2, 4, 2, 6, 6), torch.float32, device)
    edit = edit_of(latent)
    zeros = Sigmas(torch.zeros(2, device=device), torch.zeros(2, device=device))
    latent = torch.where(edit.cells == 0, edit.source, latent)

    assert torch.equal(step(latent, branches, zeros, edit).latent, latent)
    assert torch.equal(step(latent, branches, zeros).latent, latent)


def test_a_lane_in_a_batch_has_the_bits_of_the_lane_alone(device: str) -> None:
    latent, branches = inputs((3, 4, 2, 6, 6), torch.float32, device, guided=True)
    sigmas = sigma_pair((3,), device)
    edit = edit_of(latent)

    together = masked_step(latent, branches, sigmas, edit).latent

    lane = slice(1, 2)
    alone = masked_step(
        latent[lane],
        Branches(*(part[lane] for part in branches if part is not None)),
        Sigmas(*(sigma[lane] for sigma in sigmas)),
        Edit(*(part[lane] for part in edit)),
    ).latent
    assert torch.equal(together[lane], alone)


def test_branches_of_one_forward_and_a_chunk_of_a_longer_latent_are_read_in_place(device: str) -> None:
    longer = normal(2, 5, 7, 4, 6, device=device)
    latent = longer[:, :, 2:5]
    predicted = normal(2, 2, 5, 3, 4, 6, device=device, seed=4).transpose(0, 1)
    branches = Branches(predicted[0], predicted[1], torch.tensor([4.0, 1.0], device=device))
    sigmas = sigma_pair((2,), device)
    assert not latent.is_contiguous()
    assert not branches.positive.is_contiguous()

    got = masked_step(latent, branches, sigmas).latent

    assert got.is_contiguous()
    assert_near(got, masked_step_reference(latent, branches, sigmas).latent)


def test_one_source_and_one_mask_serve_all_lanes_without_a_copy(device: str) -> None:
    latent, branches = inputs((3, 4, 2, 6, 6), torch.float32, device)
    edit = edit_of(latent[:1])
    shared = Edit(*(part.expand(3, *part.shape[1:]) for part in edit))
    sigmas = sigma_pair((3,), device)

    got = masked_step(latent, branches, sigmas, shared).latent

    assert_near(got, masked_step_reference(latent, branches, sigmas, shared).latent)


def test_half_precision_velocities_step_an_fp32_latent(device: str) -> None:
    latent, branches = inputs((2, 4, 2, 6, 6), torch.float32, device, guided=True)
    assert branches.negative is not None
    halves = branches._replace(positive=branches.positive.bfloat16(), negative=branches.negative.bfloat16())
    sigmas = sigma_pair((2,), device)

    got = masked_step(latent, halves, sigmas).latent

    assert_near(got, masked_step_reference(latent, halves, sigmas).latent)


def test_the_inputs_are_left_alone(device: str) -> None:
    latent, branches = inputs((1, 4, 2, 6, 6), torch.float32, device)
    edit = edit_of(latent)
    before = [part.clone() for part in (latent, *edit)]

    masked_step(latent, branches, sigma_pair((1,), device), edit, with_next_input=True)

    assert all(torch.equal(part, old) for part, old in zip((latent, *edit), before, strict=True))


Refused = dict[str, tuple[Tensor, Branches, Tensor, Edit | None, str]]


def refused(device: str) -> Refused:
    latent, branches = inputs((2, 4, 2, 6, 6), torch.float32, device)
    velocity, edit = branches.positive, edit_of(latent)
    sigma = torch.ones(2, device=device)
    mask = edit.cells
    wide = normal(2, 4, 2, 6, 12, device=device)[..., ::2]
    return {
        "axes": (latent[0], branches, sigma, None, r"latent must be \[B, C, T, H, W\]"),
        "dtype": (latent.double(), branches, sigma, None, "latent must be fp32, fp16 or bf16"),
        "cells apart": (wide, branches, sigma, None, "T, H, W of latent must lie as one contiguous run"),
        "velocity's shape": (latent, Branches(velocity[:1]), sigma, None, "positive must be"),
        "velocity's cells": (latent, Branches(wide), sigma, None, "T, H, W of positive"),
        "no guidance": (
            latent,
            Branches(velocity, velocity),
            sigma,
            None,
            "negative and guidance must come together",
        ),
        "guidance's shape": (
            latent,
            Branches(velocity, velocity, sigma[:1]),
            sigma,
            None,
            r"guidance must be \(2,\)",
        ),
        "sigma's shape": (
            latent,
            branches,
            torch.ones(3, device=device),
            None,
            r"sigmas must be one of \(2,\), \(2, 2\)",
        ),
        "sigma's dtype": (
            latent,
            branches,
            sigma.bfloat16(),
            None,
            "sigmas.now must be .* fp32, got .* torch.bfloat16",
        ),
        "sigma's stride": (
            latent,
            branches,
            torch.ones(4, device=device)[::2],
            None,
            "sigmas.now must be contiguous",
        ),
        "source's dtype": (
            latent,
            branches,
            sigma,
            edit._replace(source=latent.half()),
            "source must be torch.float32",
        ),
        "mask's shape": (latent, branches, sigma, edit._replace(cells=mask[:, 0]), "cells must be"),
        "mask's dtype": (latent, branches, sigma, edit._replace(tokens=mask == 1), "tokens must be"),
        "mask's stride": (
            latent,
            branches,
            sigma,
            edit._replace(cells=torch.ones(2, 1, 2, 6, 12, device=device)[..., ::2]),
            "each lane of cells must be contiguous",
        ),
    }


@pytest.mark.parametrize("case", refused("cpu"))
def test_what_the_kernel_cannot_take_is_refused_by_name(case: str, device: str) -> None:
    latent, branches, sigma, edit, message = refused(device)[case]

    with pytest.raises(ValueError, match=message):
        masked_step(latent, branches, Sigmas(sigma, sigma), edit)


def test_sigmas_of_two_shapes_and_a_next_input_without_an_edit_are_refused(device: str) -> None:
    latent, branches = inputs((2, 4, 2, 6, 6), torch.float32, device)
    sigma = torch.ones(2, device=device)

    with pytest.raises(ValueError, match=r"sigmas.after must be \(2,\) fp32, got \(2, 2\)"):
        masked_step(latent, branches, Sigmas(sigma, torch.zeros(2, 2, device=device)))
    with pytest.raises(ValueError, match="with_next_input needs an edit, got None"):
        masked_step(latent, branches, Sigmas(sigma, sigma), with_next_input=True)


@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize("edited", [False, True], ids=["plain", "edited"])
def test_the_reference_steps_as_the_denoise_loop_does(edited: bool, scale: float) -> None:
    noise, source = normal(2, 1, 4, 3, 6, 8, device="cpu", seed=1).unbind()
    cells = edit_of(noise).cells
    loop_edit = editing.Edit.of(source, cells, noise, patch=2) if edited else None
    schedule = (1.0, 0.9, 0.5, 0.0)
    guidance = Guidance(scale)
    loop = DenoiseLoop(
        DenoiseTask(schedule, SAMPLERS["euler"], guidance, noise, (None,) * guidance.branches, edit=loop_edit)
    )
    edit = None
    if loop_edit is not None:
        edit = Edit(loop_edit.source, loop_edit.almost_clean, loop_edit.cells, loop_edit.tokens)
    state, latent = loop.init(), noise

    for index in range(3):
        velocity = normal(guidance.branches, 4, 3, 6, 8, device="cpu", seed=20 + index)
        positive, negative = velocity[:1], velocity[1:]
        branches = Branches(positive, negative, torch.tensor([scale])) if scale != 1 else Branches(positive)
        sigmas = Sigmas(torch.tensor([schedule[index]]), torch.tensor([schedule[index + 1]]))
        entering = loop.prepare(state).latent
        loop.advance(state, velocity)
        stepped = masked_step_reference(
            latent, branches, sigmas, edit, with_clean=True, with_next_input=edited and index < 2
        )
        latent = stepped.latent
        assert stepped.clean is not None
        assert state.clean is not None
        assert_near(stepped.clean, state.clean)
        assert_near(latent, state.latent)
        if edited and index < 2:
            assert stepped.next_input is not None
            assert_near(stepped.next_input, loop.prepare(state).latent)
            assert not torch.equal(entering, stepped.next_input)

    if edited:
        kept = (cells == 0).expand(latent.shape)
        assert torch.equal(latent[kept], source[kept])


@pytest.mark.gpu
def test_a_tensor_on_the_cpu_is_refused(gpu: str) -> None:
    latent, branches = inputs((1, 4, 2, 6, 6), torch.float32, gpu)

    with pytest.raises(ValueError, match=r"sigmas\.now must be on a GPU, got cpu"):
        masked_step(latent, branches, Sigmas(torch.ones(1), torch.zeros(1)))


@pytest.mark.gpu
def test_elements_past_two_to_the_31_are_reached(gpu: str) -> None:
    shape = (1, 16, 1, 2**14, 2**13 + 8)
    latent = torch.randn(shape, dtype=torch.bfloat16, device=gpu)
    branches = Branches(latent.flip(-1))
    sigmas = sigma_pair((1,), gpu)

    got = masked_step(latent, branches, sigmas).latent

    for channel in (slice(0, 1), slice(15, 16)):
        part = Branches(branches.positive[:, channel, :, -8:])
        want = masked_step_reference(latent[:, channel, :, -8:], part, sigmas).latent
        assert_near(got[:, channel, :, -8:], want)


@pytest.mark.gpu
def test_a_graph_replays_the_step_on_new_values(gpu: str) -> None:
    latent, branches = inputs((1, 4, 2, 6, 6), torch.float32, gpu)
    sigmas, edit = sigma_pair((1,), gpu), edit_of(latent)
    masked_step(latent, branches, sigmas, edit)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = masked_step(latent, branches, sigmas, edit).latent
    latent.copy_(normal(*latent.shape, device=gpu, seed=9))
    sigmas.after.mul_(0.5)

    graph.replay()

    assert_near(captured, masked_step_reference(latent, branches, sigmas, edit).latent)
