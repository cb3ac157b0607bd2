"""Queries or keys of a block, normalised and turned by their positions in one pass.

Stands twice in each self-attention. Memory bound. Bytes of device memory for R = B * N rows of D elements of
i bytes and P pairs of angles a token, in fp32:

    2 * R * D * i  +  8 * N * P  +  D * i        x in, y out, angles and weight in

The reference's operations launched apart move over 30 bytes an element of bf16, against four.
A row is one program's. The partner of each channel is loaded beside it, from the same cache lines.
Sources: Zhang & Sennrich 2019, arXiv:1910.07467 (RMS norm); Su et al. 2021, arXiv:2104.09864 (rotary).
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from rushes.kernels.device import require_reachable

MAX_DIM = 8192  # one row must fit in one program's registers
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
WARPS = 4


@triton.jit
def _rms_rotary_kernel(  # type: ignore[no-untyped-def]  # noqa: PLR0913 - pointers, then their strides
    x_ptr, weight_ptr, cos_ptr, sin_ptr, y_ptr,
    x_batch_stride, x_token_stride, tokens, dim, pairs, eps,
    BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    batch = (row // tokens).to(tl.int64)  # int64: offsets pass 2**31 in long videos
    token = (row % tokens).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    inside = cols < dim
    partners = cols ^ 1
    x_at = x_ptr + batch * x_batch_stride + token * x_token_stride
    x = tl.load(x_at + cols, mask=inside, other=0.0).to(tl.float32)
    partner = tl.load(x_at + partners, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    partner_weight = tl.load(weight_ptr + partners, mask=inside, other=0.0).to(tl.float32)
    angle = token * pairs + (cols // 2) % pairs
    cos = tl.load(cos_ptr + angle, mask=inside, other=0.0)
    sin = tl.load(sin_ptr + angle, mask=inside, other=0.0)

    rms = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / dim + eps)
    # even * cos - odd * sin for even channels, odd * cos + even * sin for odd ones
    across = partner * rms * partner_weight * sin
    y = x * rms * weight * cos + tl.where(cols % 2 == 0, -across, across)
    y_at = y_ptr + (batch * tokens + token) * dim + cols
    tl.store(y_at, y.to(y_ptr.dtype.element_ty), mask=inside)


# A launch on the CPU is possible only in Triton's interpreter, which is chosen when this module is imported.
IS_INTERPRETED = not isinstance(_rms_rotary_kernel, triton.runtime.JITFunction)


def rms_rotary(x: Tensor, weight: Tensor, cos: Tensor, sin: Tensor, eps: float = 1e-6) -> Tensor:
    """RMS norm over the last axis, then each pair of neighbouring channels turned by its token's angle.

    Shapes: x [B, N, D] fp32, fp16 or bf16, its last axis contiguous, batch and tokens at any stride; weight
        [D] any of these, cos and sin [N, P] fp32, all contiguous, D a multiple of 2 * P. Returns [B, N, D] in
        the dtype of x, contiguous.
    Precision: all arithmetic in fp32.
    Errors: ValueError for a shape, stride, dtype or device that the kernel cannot take. It never falls back
        to the reference: choosing is the caller's business.
    """
    _check(x, weight, cos, sin)
    batches, tokens, dim = x.shape
    y = torch.empty((batches, tokens, dim), dtype=x.dtype, device=x.device)
    _rms_rotary_kernel[(batches * tokens,)](
        x, weight, cos, sin, y, x.stride(0), x.stride(1), tokens, dim, cos.shape[1], eps,
        BLOCK=triton.next_power_of_2(dim), num_warps=WARPS,
    )  # fmt: skip
    return y


def _check(x: Tensor, weight: Tensor, cos: Tensor, sin: Tensor) -> None:
    for name, value in (("x", x), ("weight", weight), ("cos", cos), ("sin", sin)):
        require_reachable(name, value, IS_INTERPRETED)
    if x.ndim != 3 or 0 in x.shape or x.shape[-1] > MAX_DIM:
        raise ValueError(f"x must be [B, N, D], not empty, D at most {MAX_DIM}, got {tuple(x.shape)}")
    if x.dtype not in FLOATS or weight.dtype not in FLOATS:
        raise ValueError(f"x and weight must be fp32, fp16 or bf16, got {x.dtype} and {weight.dtype}")
    if x.stride(-1) != 1:
        raise ValueError(f"the last axis of x must be contiguous, got strides {x.stride()}")
    if weight.shape != x.shape[-1:] or not weight.is_contiguous():
        raise ValueError(f"weight must be [{x.shape[-1]}] and contiguous, got {tuple(weight.shape)}")
    for name, angles in (("cos", cos), ("sin", sin)):
        if angles.ndim != 2 or angles.shape[0] != x.shape[1] or x.shape[2] % (2 * angles.shape[1]):
            wanted = f"[{x.shape[1]}, P] with {x.shape[2]} a multiple of 2 * P"
            raise ValueError(f"{name} must be {wanted}, got {tuple(angles.shape)}")
        if angles.dtype != torch.float32 or not angles.is_contiguous() or angles.shape != cos.shape:
            raise ValueError(f"{name} must be fp32, contiguous and shaped as cos, got {angles.dtype}")
