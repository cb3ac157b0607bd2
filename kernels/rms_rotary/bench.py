"""rms_rotary on the queries of a 1.3B transformer at 480x832: 81 frames, and chunks of three and one."""

import sys
from collections.abc import Iterator

import torch
from torch import Tensor

from rushes.kernels.rms_rotary.kernel import rms_rotary
from rushes.kernels.rms_rotary.reference import rms_rotary_reference
from rushes.kernels.timing import Case, Tensors, bench_main

DIM, PAIRS = 1536, 64
TOLERANCE = 2**-9  # both compute in fp32 and round to bf16 once; see adaln_modulate


def fused(x: Tensor, weight: Tensor, cos: Tensor, sin: Tensor) -> Tensors:
    return (rms_rotary(x, weight, cos, sin),)


def reference(x: Tensor, weight: Tensor, cos: Tensor, sin: Tensor) -> Tensors:
    return (rms_rotary_reference(x, weight, cos, sin),)


def cases() -> Iterator[Case]:
    for lanes, tokens in ((1, 32760), (1, 4680), (8, 1560)):
        generator = torch.Generator("cuda").manual_seed(tokens)
        # One of three that one matrix product made.
        joined = torch.randn(lanes, tokens, 3, DIM, generator=generator, device="cuda").bfloat16()
        weight = torch.rand(DIM, generator=generator, device="cuda").add(0.5).bfloat16()
        angles = torch.rand(tokens, PAIRS, generator=generator, device="cuda").mul(6.3)
        cos, sin = angles.cos(), angles.sin()
        yield Case(
            kernel="rms_rotary",
            symbol="_rms_rotary_kernel",
            label=f"{lanes}x{tokens}x{DIM} bf16",
            bytes_moved=2 * lanes * tokens * DIM * 2 + cos.nbytes + sin.nbytes + weight.nbytes,
            tolerance=TOLERANCE,
            inputs=(joined[:, :, 0], weight, cos, sin),
            fused=fused,
            reference=reference,
        )


if __name__ == "__main__":
    sys.exit(bench_main(cases))
