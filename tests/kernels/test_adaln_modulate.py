import pytest
import torch
from torch import Tensor

from rushes.kernels.adaln_modulate.kernel import Tile, adaln_modulate, add_adaln_modulate, tile_for
from rushes.kernels.adaln_modulate.reference import (
    Modulation,
    Residual,
    adaln_modulate_reference,
    add_adaln_modulate_reference,
)

# Rounded once on each side: at a tie the two results may be neighbours, which is one ulp, at most this share
# of them. (Triton's interpreter cuts bf16 off where a GPU rounds it: neighbours half of the time.)
ULP = {torch.float32: 2.0**-22, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
# Before that: sums of D fp32 terms in another order, about log2(D) roundings of 2**-24 on values up to 16.
FP32_NOISE = 12 * 2.0**-24 * 16

SHAPES = [(1, 1, 1), (1, 1, 64), (2, 7, 100), (3, 6, 257), (2, 13, 1536)]


def inputs(
    shape: tuple[int, ...], dtype: torch.dtype, device: str, *, groups: int = 1, with_tables: bool = False
) -> tuple[Tensor, Modulation]:
    batches, _, dim = shape
    x = normal(*shape, device=device, seed=1).to(dtype)
    scale, shift = normal(2, batches, groups, dim, device=device, seed=2).mul(0.5).unbind()
    if groups == 1:
        scale, shift = scale[:, 0], shift[:, 0]
    if not with_tables:
        return x, Modulation(scale, shift)
    return x, Modulation(scale, shift, *normal(2, dim, device=device, seed=3).mul(0.2).unbind())


def normal(*shape: int, device: str, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(device)


def assert_near(got: Tensor, want: Tensor) -> None:
    torch.testing.assert_close(got, want, atol=FP32_NOISE, rtol=ULP[want.dtype])


def test_the_reference_is_layer_norm_scaled_and_shifted_in_double_precision() -> None:
    x, modulation = inputs((2, 6, 48), torch.float32, "cpu", groups=3)
    normed = (x.double() - x.double().mean(-1, keepdim=True)) / (
        x.double().var(-1, correction=0, keepdim=True) + 1e-6
    ).sqrt()
    rows = [row.double().repeat_interleave(2, dim=1) for row in modulation[:2]]

    got = adaln_modulate_reference(x, modulation)

    torch.testing.assert_close(got.double(), normed * (1 + rows[0]) + rows[1], atol=FP32_NOISE, rtol=0)


@pytest.mark.parametrize("dtype", ULP, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_row_a_sample_matches_the_reference(
    shape: tuple[int, ...], dtype: torch.dtype, device: str
) -> None:
    x, modulation = inputs(shape, dtype, device)

    assert_near(adaln_modulate(x, modulation), adaln_modulate_reference(x, modulation))


@pytest.mark.parametrize("dtype", ULP, ids=str)
@pytest.mark.parametrize("groups", [1, 3, 15], ids=["sample", "frame", "token"])
def test_rows_of_any_group_with_tables_match_the_reference(
    groups: int, dtype: torch.dtype, device: str
) -> None:
    x, modulation = inputs((2, 15, 96), dtype, device, groups=groups, with_tables=True)

    assert_near(adaln_modulate(x, modulation), adaln_modulate_reference(x, modulation))


def test_rows_in_half_precision_match_the_reference(device: str) -> None:
    x, modulation = inputs((2, 5, 96), torch.bfloat16, device, groups=5)
    rounded = Modulation(modulation.scale.bfloat16(), modulation.shift.half())

    assert_near(adaln_modulate(x, rounded), adaln_modulate_reference(x, rounded))


def test_rows_that_one_projection_made_are_read_in_place(device: str) -> None:
    x, _ = inputs((2, 6, 80), torch.bfloat16, device)
    six = normal(2, 3, 6, 80, device=device).unsqueeze(3).unbind(2)
    modulation = Modulation(six[1].flatten(1, 2), six[0].flatten(1, 2))
    assert not modulation.scale.is_contiguous()

    assert_near(adaln_modulate(x, modulation), adaln_modulate_reference(x, modulation))


def test_one_row_serves_the_batch_without_a_copy(device: str) -> None:
    x, _ = inputs((3, 5, 80), torch.float32, device)
    weight, bias = normal(2, 80, device=device).unbind()
    modulation = Modulation(weight.expand(3, 80), bias.expand(3, 80), is_gain=True)

    wanted = torch.nn.functional.layer_norm(x, (80,), weight, bias, 1e-6)

    assert_near(adaln_modulate(x, modulation), wanted)


def test_tokens_of_any_stride_match_the_reference(device: str) -> None:
    wide = normal(2, 22, 128, device=device)
    x = wide[:, 3:17:2, 32:96]
    _, modulation = inputs((2, 7, 64), torch.float32, device, groups=7)
    assert not x.is_contiguous()

    got = adaln_modulate(x, modulation)

    assert got.is_contiguous()
    assert_near(got, adaln_modulate_reference(x, modulation))


def test_a_large_mean_does_not_swallow_the_variance(device: str) -> None:
    x = normal(1, 4, 512, device=device) + 300
    _, modulation = inputs((1, 4, 512), torch.float32, device)

    # The mean is a sum in another order: log2(512) roundings and a division, of 300, scaled by up to 3 after
    # it.
    wanted = adaln_modulate_reference(x, modulation)
    torch.testing.assert_close(adaln_modulate(x, modulation), wanted, atol=13 * 300 * 2.0**-24 * 3, rtol=0)


def test_a_constant_row_becomes_the_shift(device: str) -> None:
    _, modulation = inputs((2, 3, 100), torch.float32, device)

    got = adaln_modulate(torch.full((2, 3, 100), 0.5, device=device), modulation)

    # A division may leave two roundings of 0.5 beside the mean, and 1 / sqrt(eps) makes a thousand of each.
    wanted = modulation.shift[:, None].expand(2, 3, 100)
    torch.testing.assert_close(got, wanted, atol=2 * 0.5 * 2.0**-23 * 1000 * 3, rtol=0)


@pytest.mark.parametrize("dtype", ULP, ids=str)
@pytest.mark.parametrize("groups", [1, 3, 15], ids=["sample", "frame", "token"])
@pytest.mark.parametrize("gated", [True, False], ids=["gated", "plain"])
def test_sum_and_norm_match_the_reference(gated: bool, groups: int, dtype: torch.dtype, device: str) -> None:
    x, modulation = inputs((2, 15, 96), dtype, device, groups=groups, with_tables=True)
    gate, gate_table = normal(2, groups, 96, device=device), normal(96, device=device)
    residual = Residual(normal(2, 15, 96, device=device).to(dtype), *((gate, gate_table) if gated else ()))

    total, modulated = add_adaln_modulate(x, residual, modulation)

    assert_near(total, add_adaln_modulate_reference(x, residual, modulation)[0])
    # A sum next to a tie may round to either neighbour; the norm is judged on the sum that was stored.
    assert_near(modulated, adaln_modulate_reference(total, modulation))


def test_gate_and_modulation_may_have_rows_of_different_groups(device: str) -> None:
    x, modulation = inputs((2, 12, 64), torch.float32, device)
    residual = Residual(normal(2, 12, 64, device=device), normal(2, 4, 64, device=device))

    total, modulated = add_adaln_modulate(x, residual, modulation)

    wanted_total, wanted = add_adaln_modulate_reference(x, residual, modulation)
    assert_near(total, wanted_total)
    torch.testing.assert_close(modulated, wanted, atol=4 * FP32_NOISE, rtol=0)


def test_a_lane_in_a_batch_has_the_bits_of_the_lane_alone(device: str) -> None:
    x, modulation = inputs((3, 10, 300), torch.bfloat16, device, groups=2)

    together = adaln_modulate(x, modulation)

    alone = adaln_modulate(x[1:2], Modulation(modulation.scale[1:2], modulation.shift[1:2]))
    assert torch.equal(together[1:2], alone)


@pytest.mark.parametrize("tile", [Tile(1, 1), Tile(2, 4), Tile(16, 8)], ids=str)
def test_every_tile_gives_the_same_answer(tile: Tile, device: str) -> None:
    x, modulation = inputs((2, 21, 200), torch.float32, device, groups=3)

    assert_near(adaln_modulate(x, modulation, tile=tile), adaln_modulate_reference(x, modulation))


@pytest.mark.parametrize(
    ("group_tokens", "dim"), [(1, 1), (1, 1536), (3, 256), (1560, 1536), (7, 5120), (9, 8192)]
)
def test_a_tile_is_of_powers_of_two_and_bounded(group_tokens: int, dim: int) -> None:
    rows, warps = tile_for(group_tokens, dim)

    assert rows.bit_count() == warps.bit_count() == 1
    assert rows < 2 * group_tokens
    assert rows * dim <= 8192
    assert warps <= 16


def test_the_input_is_left_alone(device: str) -> None:
    x, modulation = inputs((1, 3, 64), torch.float32, device)
    before = x.clone()

    adaln_modulate(x, modulation)

    assert torch.equal(x, before)


def refused(device: str) -> dict[str, tuple[Tensor, Modulation, str]]:
    def zeros(*shape: int) -> Tensor:
        return torch.zeros(shape, device=device)

    x, modulation = inputs((2, 6, 8), torch.float32, device)
    scale, shift = modulation.scale, modulation.shift
    return {
        "axes": (x[0], modulation, r"x must be \[B, N, D\]"),
        "empty": (x[:, :0], modulation, "not empty"),
        "dtype": (x.double(), modulation, "x must be fp32, fp16 or bf16, got torch.float64"),
        "strided last axis": (x[..., ::2], modulation, "last axis of x must be contiguous"),
        "too wide": (zeros(1, 1, 8193), modulation, "D must be at most 8192, got 8193"),
        "batch of the rows": (x, Modulation(scale[:1], shift), r"scale must be \[2, 8\]"),
        "width of the rows": (x, Modulation(scale, shift[..., :4]), r"shift must be \[2, 8\]"),
        "rows that do not divide": (
            x,
            Modulation(zeros(2, 4, 8), shift),
            "divide the 6 tokens of x, got 4",
        ),
        "rows that differ": (
            x,
            Modulation(zeros(2, 3, 8), zeros(2, 2, 8)),
            "same number of rows a sample, got 3, 2",
        ),
        "strided rows": (x, Modulation(zeros(2, 16)[:, ::2], shift), "last axis of scale"),
        "dtype of the rows": (x, Modulation(scale.double(), shift), "scale must be fp32, fp16 or bf16"),
        "table": (x, Modulation(scale, shift, zeros(1, 8)), r"scale_table must be \[8\]"),
        "dtype of a table": (
            x,
            Modulation(scale, shift, None, zeros(8).double()),
            "shift_table must be fp32",
        ),
    }


@pytest.mark.parametrize("case", refused("cpu"))
def test_what_the_kernel_cannot_take_is_refused_by_name(case: str, device: str) -> None:
    x, modulation, message = refused(device)[case]

    with pytest.raises(ValueError, match=message):
        adaln_modulate(x, modulation)


def test_a_branch_of_another_shape_or_dtype_is_refused(device: str) -> None:
    x, modulation = inputs((2, 6, 8), torch.float32, device)

    with pytest.raises(ValueError, match=r"branch must be \(2, 6, 8\) torch.float32 as x"):
        add_adaln_modulate(x, Residual(x[:, :3]), modulation)
    with pytest.raises(ValueError, match=r"got .* torch.bfloat16"):
        add_adaln_modulate(x, Residual(x.bfloat16()), modulation)
    with pytest.raises(ValueError, match="gate_table needs a gate"):
        add_adaln_modulate(x, Residual(x, None, x[0, 0]), modulation)


@pytest.mark.gpu
def test_a_tensor_on_the_cpu_is_refused(gpu: str) -> None:
    x, modulation = inputs((1, 2, 8), torch.float32, gpu)

    with pytest.raises(ValueError, match="x must be on a GPU, got cpu"):
        adaln_modulate(x.cpu(), modulation)
    with pytest.raises(ValueError, match="shift must be on a GPU, got cpu"):
        adaln_modulate(x, modulation._replace(shift=modulation.shift.cpu()))


@pytest.mark.gpu
def test_elements_past_two_to_the_31_are_reached(gpu: str) -> None:
    tokens = 2**31 // 1536 + 1000
    x = torch.randn(1, tokens, 1536, dtype=torch.bfloat16, device=gpu)
    _, modulation = inputs((1, tokens, 1536), torch.bfloat16, gpu)

    got = adaln_modulate(x, modulation)

    for rows in (slice(0, 8), slice(tokens - 8, tokens)):
        assert_near(got[:, rows], adaln_modulate_reference(x[:, rows], modulation))


@pytest.mark.gpu
@pytest.mark.filterwarnings("default")
def test_a_compiled_caller_has_no_break_at_the_launch(gpu: str) -> None:
    x, modulation = inputs((2, 12, 256), torch.bfloat16, gpu, groups=3, with_tables=True)

    compiled = torch.compile(lambda x, modulation: adaln_modulate(x * 2, modulation), fullgraph=True)

    assert_near(compiled(x, modulation), adaln_modulate_reference(x * 2, modulation))


@pytest.mark.gpu
def test_a_graph_replays_the_launch_on_new_values(gpu: str) -> None:
    x, modulation = inputs((1, 9, 256), torch.bfloat16, gpu)
    adaln_modulate(x, modulation)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = adaln_modulate(x, modulation)
    x.copy_(normal(1, 9, 256, device=gpu, seed=5))

    graph.replay()

    assert_near(captured, adaln_modulate_reference(x, modulation))
