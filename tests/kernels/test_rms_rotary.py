"""rms_rotary on odd shapes, interpreted where there is no GPU."""

import pytest
import torch

from rushes.kernels.rms_rotary.kernel import rms_rotary
from rushes.kernels.rms_rotary.reference import rms_rotary_reference

# One unit in the last place each; the interpreter cuts bf16 off where a GPU rounds it.
ULP = {torch.float32: 1e-6, torch.float16: 2**-10, torch.bfloat16: 2**-7}
SHAPES = [(1, 1, 2, 1), (2, 5, 24, 6), (3, 7, 36, 3), (1, 3, 130, 65)]


def inputs(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> tuple[torch.Tensor, ...]:
    batches, tokens, dim, pairs = shape
    generator = torch.Generator().manual_seed(sum(shape))
    joined = torch.randn(batches, tokens, 3, dim, generator=generator).to(dtype)
    weight = torch.rand(dim, generator=generator).add(0.5).to(dtype)
    angles = torch.rand(tokens, pairs, generator=generator).mul(6.3)
    return tuple(x.to(device) for x in (joined, weight, angles.cos(), angles.sin()))


@pytest.mark.parametrize("dtype", ULP, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_matches_the_reference(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> None:
    joined, weight, cos, sin = inputs(shape, dtype, device)
    for part in joined.unbind(2):
        got = rms_rotary(part, weight, cos, sin)
        assert got.is_contiguous()
        torch.testing.assert_close(
            got, rms_rotary_reference(part, weight, cos, sin), atol=2e-6, rtol=ULP[dtype]
        )


def test_each_lane_has_the_bits_it_has_alone(device: str) -> None:
    joined, weight, cos, sin = inputs((3, 7, 36, 3), torch.float32, device)
    x = joined[:, :, 1]
    together = rms_rotary(x, weight, cos, sin)

    assert all(torch.equal(together[i : i + 1], rms_rotary(x[i : i + 1], weight, cos, sin)) for i in range(3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, w, c, s: (x.transpose(1, 2), w, c, s), "last axis"),
        (lambda x, w, c, s: (x, w[1:], c, s), "weight must be"),
        (lambda x, w, c, s: (x, w, c[1:], s), "cos must be"),
        (lambda x, w, c, s: (x, w, c, s.double()), "sin must be fp32"),
        (lambda x, w, c, s: (x.double(), w, c, s), "must be fp32, fp16 or bf16"),
    ],
)
def test_what_it_cannot_take_is_refused(change, message: str, device: str) -> None:
    joined, weight, cos, sin = inputs((2, 5, 24, 6), torch.float32, device)
    with pytest.raises(ValueError, match=message):
        rms_rotary(*change(joined[:, :, 0], weight, cos, sin))
