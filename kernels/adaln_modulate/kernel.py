"""y = layer_norm(x) * (1 + scale) + shift in one pass over x, and the same with a residual sum before it.

Stands before attention and feed-forward of every block, so it is launched some sixty times a forward. Memory
bound. Bytes of device memory for R = B * N rows of D elements of i bytes, modulation rows in fp32, G of them
a sample:

    adaln_modulate       2 * R * D * i  +  8 * B * G * D     x in, y out, scale and shift in
    add_adaln_modulate   4 * R * D * i  + 12 * B * G * D     x and branch in, sum and y out, three rows in

The reference's operations launched apart move 36 bytes an element of bf16, nine times that.
A row is one program's: statistics are taken in fp32 from registers, the variance from centred values.
The tile depends on D and on the tokens of a group only, so a lane in a batch gets the bits it gets alone.
Source: Peebles & Xie 2023, arXiv:2212.09748, section 3.2 (adaLN).
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from rushes.kernels.adaln_modulate.reference import Modulation, Residual
from rushes.kernels.device import require_reachable

MAX_DIM = 8192  # one row must fit in one program's registers
FLOATS = (torch.float32, torch.float16, torch.bfloat16)


@triton.jit
def _adaln_modulate_kernel(  # type: ignore[no-untyped-def]  # noqa: PLR0913 - pointers, then their strides
    x_ptr, branch_ptr, gate_ptr, gate_table_ptr, scale_ptr, scale_table_ptr, shift_ptr, shift_table_ptr,
    sum_ptr, y_ptr,
    x_batch_stride, x_token_stride, branch_batch_stride, branch_token_stride,
    gate_batch_stride, gate_group_stride, scale_batch_stride, scale_group_stride,
    shift_batch_stride, shift_group_stride,
    tokens, groups, group_tokens, dim, eps,
    HAS_BRANCH: tl.constexpr, HAS_GATE: tl.constexpr, HAS_GATE_TABLE: tl.constexpr,
    HAS_SCALE_TABLE: tl.constexpr, HAS_SHIFT_TABLE: tl.constexpr, IS_GAIN: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # One program for ROWS tokens of one group, which share their modulation; rows are padded to BLOCK.
    tiles_of_group = tl.cdiv(group_tokens, ROWS)
    program = tl.program_id(0)
    batch = (program // (tiles_of_group * groups)).to(tl.int64)  # int64: offsets pass 2**31 in long videos
    group = ((program // tiles_of_group) % groups).to(tl.int64)
    within = (program % tiles_of_group) * ROWS + tl.arange(0, ROWS)
    token = (group * group_tokens + within)[:, None]
    cols = tl.arange(0, BLOCK)
    col_inside = cols < dim
    inside = (within < group_tokens)[:, None] & col_inside[None, :]

    x_at = x_ptr + batch * x_batch_stride + token * x_token_stride + cols[None, :]
    x = tl.load(x_at, mask=inside, other=0.0).to(tl.float32)
    y_at = (batch * tokens + token) * dim + cols[None, :]
    # Read before the statistics, so that memory is busy while they are taken.
    scale_at = scale_ptr + batch * scale_batch_stride + group * scale_group_stride + cols
    scale = tl.load(scale_at, mask=col_inside, other=0.0).to(tl.float32)
    if HAS_SCALE_TABLE:
        scale += tl.load(scale_table_ptr + cols, mask=col_inside, other=0.0).to(tl.float32)
    if not IS_GAIN:
        scale += 1.0
    shift_at = shift_ptr + batch * shift_batch_stride + group * shift_group_stride + cols
    shift = tl.load(shift_at, mask=col_inside, other=0.0).to(tl.float32)
    if HAS_SHIFT_TABLE:
        shift += tl.load(shift_table_ptr + cols, mask=col_inside, other=0.0).to(tl.float32)
    if HAS_BRANCH:
        branch_at = branch_ptr + batch * branch_batch_stride + token * branch_token_stride + cols[None, :]
        branch = tl.load(branch_at, mask=inside, other=0.0).to(tl.float32)
        if HAS_GATE:
            gate_at = gate_ptr + batch * gate_batch_stride + group * gate_group_stride + cols
            gate = tl.load(gate_at, mask=col_inside, other=0.0).to(tl.float32)
            if HAS_GATE_TABLE:
                gate += tl.load(gate_table_ptr + cols, mask=col_inside, other=0.0).to(tl.float32)
            branch *= gate[None, :]
        # The norm sees the sum as the next layer will read it: rounded.
        rounded = (x + branch).to(sum_ptr.dtype.element_ty)
        tl.store(sum_ptr + y_at, rounded, mask=inside)
        x = rounded.to(tl.float32)

    mean = tl.sum(x, axis=1) / dim
    centred = tl.where(inside, x - mean[:, None], 0.0)  # padding must not reach the variance
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=1) / dim + eps)
    y = centred * rstd[:, None] * scale[None, :] + shift[None, :]
    tl.store(y_ptr + y_at, y.to(y_ptr.dtype.element_ty), mask=inside)


# A launch on the CPU is possible only in Triton's interpreter, which is chosen when this module is imported.
IS_INTERPRETED = not isinstance(_adaln_modulate_kernel, triton.runtime.JITFunction)


class Tile(NamedTuple):
    """Tokens of one program, and the warps that share them."""

    rows: int
    warps: int


def adaln_modulate(
    x: Tensor, modulation: Modulation, eps: float = 1e-6, *, tile: Tile | None = None
) -> Tensor:
    """Normalise the last axis, then scale and shift by the row of the sample, the latent frame or the token.

    Shapes: x [B, N, D] fp32, fp16 or bf16, its last axis contiguous, batch and tokens at any stride; the
        rows of `modulation` any of these dtypes, their last axis contiguous. Returns [B, N, D] in the dtype
        of x, contiguous.
    Precision: all arithmetic in fp32.
    Errors: ValueError for a shape, stride, dtype or device that the kernel cannot take. It never falls back
        to the reference: choosing is the caller's business.
    """
    return _launch(x, None, modulation, eps, tile)[1]


def add_adaln_modulate(
    x: Tensor, residual: Residual, modulation: Modulation, eps: float = 1e-6, *, tile: Tile | None = None
) -> tuple[Tensor, Tensor]:
    """x + gate * branch, and what adaln_modulate makes of it, in one pass: (sum, modulated).

    Shapes: branch as x and of its dtype, at any batch and token stride. Otherwise as adaln_modulate.
    """
    return _launch(x, residual, modulation, eps, tile)


def tile_for(group_tokens: int, dim: int) -> Tile:
    """About 4096 elements a program, 16 a thread: tokens share a read of their modulation, 2 rows of 1536."""
    block = triton.next_power_of_2(dim)
    rows = min(max(4096 // block, 1), 16, triton.next_power_of_2(group_tokens))
    return Tile(rows, min(max(rows * block // 512, 1), 16))


def _launch(
    x: Tensor, residual: Residual | None, modulation: Modulation, eps: float, tile: Tile | None
) -> tuple[Tensor, Tensor]:
    _check_tokens("x", x, x)
    scale = _grouped("scale", modulation.scale, x)
    shift = _grouped("shift", modulation.shift, x)
    branch = x if residual is None else residual.branch
    has_gate = residual is not None and residual.gate is not None
    gate = _grouped("gate", residual.gate, x) if residual is not None and residual.gate is not None else scale
    if residual is not None:
        _check_tokens("branch", branch, x)
        if residual.gate is None and residual.gate_table is not None:
            raise ValueError("gate_table needs a gate to be added to, got gate None")
    gate_table = None if residual is None else residual.gate_table
    _check_table("scale_table", modulation.scale_table, x)
    _check_table("shift_table", modulation.shift_table, x)
    _check_table("gate_table", gate_table, x)
    batches, tokens, dim = x.shape
    groups = _group_count(scale, shift, gate)
    scale, shift, gate = (rows.expand(batches, groups, dim) for rows in (scale, shift, gate))

    y = torch.empty((batches, tokens, dim), dtype=x.dtype, device=x.device)
    total = y if residual is None else torch.empty_like(y)
    rows, warps = tile_for(tokens // groups, dim) if tile is None else tile
    program_count = batches * groups * triton.cdiv(tokens // groups, rows)
    # A tensor that is absent is passed as x: its flag keeps the kernel from touching it.
    _adaln_modulate_kernel[(program_count,)](
        x, branch, gate, x if gate_table is None else gate_table,
        scale, x if modulation.scale_table is None else modulation.scale_table,
        shift, x if modulation.shift_table is None else modulation.shift_table,
        total, y,
        x.stride(0), x.stride(1), branch.stride(0), branch.stride(1),
        gate.stride(0), gate.stride(1), scale.stride(0), scale.stride(1), shift.stride(0), shift.stride(1),
        tokens, groups, tokens // groups, dim, eps,
        HAS_BRANCH=residual is not None, HAS_GATE=has_gate, HAS_GATE_TABLE=gate_table is not None,
        HAS_SCALE_TABLE=modulation.scale_table is not None,
        HAS_SHIFT_TABLE=modulation.shift_table is not None,
        IS_GAIN=modulation.is_gain, ROWS=rows, BLOCK=triton.next_power_of_2(dim), num_warps=warps,
    )  # fmt: skip
    return total, y


def _check_tokens(name: str, value: Tensor, x: Tensor) -> None:
    require_reachable(name, value, IS_INTERPRETED)
    if value.ndim != 3 or 0 in value.shape:
        raise ValueError(f"{name} must be [B, N, D] and not empty, got {tuple(value.shape)}")
    if value.shape != x.shape or value.dtype != x.dtype:
        raise ValueError(
            f"{name} must be {tuple(x.shape)} {x.dtype} as x, got {tuple(value.shape)} {value.dtype}"
        )
    if value.dtype not in FLOATS:
        raise ValueError(f"{name} must be fp32, fp16 or bf16, got {value.dtype}")
    if value.stride(-1) != 1:
        raise ValueError(f"the last axis of {name} must be contiguous, got strides {value.stride()}")
    if value.shape[-1] > MAX_DIM:
        raise ValueError(f"D must be at most {MAX_DIM}, got {value.shape[-1]}")


def _grouped(name: str, rows: Tensor, x: Tensor) -> Tensor:
    """Rows of modulation as [B, G, D]."""
    require_reachable(name, rows, IS_INTERPRETED)
    batches, tokens, dim = x.shape
    grouped = rows[:, None] if rows.ndim == 2 else rows
    if grouped.ndim != 3 or grouped.shape[0] != batches or grouped.shape[2] != dim:
        wanted = f"[{batches}, {dim}] or [{batches}, G, {dim}]"
        raise ValueError(f"{name} must be {wanted}, got {tuple(rows.shape)}")
    if grouped.shape[1] == 0 or tokens % grouped.shape[1]:
        raise ValueError(f"the rows of {name} must divide the {tokens} tokens of x, got {grouped.shape[1]}")
    if grouped.stride(-1) != 1:
        raise ValueError(f"the last axis of {name} must be contiguous, got strides {rows.stride()}")
    if grouped.dtype not in FLOATS:
        raise ValueError(f"{name} must be fp32, fp16 or bf16, got {rows.dtype}")
    return grouped


def _group_count(scale: Tensor, shift: Tensor, gate: Tensor) -> int:
    count = max(scale.shape[1], shift.shape[1], gate.shape[1])
    if any(rows.shape[1] not in (1, count) for rows in (scale, shift, gate)):
        raise ValueError(
            "scale, shift and gate must have 1 or the same number of rows a sample, got "
            f"{scale.shape[1]}, {shift.shape[1]} and {gate.shape[1]}"
        )
    return count


def _check_table(name: str, table: Tensor | None, x: Tensor) -> None:
    if table is None:
        return
    require_reachable(name, table, IS_INTERPRETED)
    if table.shape != x.shape[-1:] or not table.is_contiguous():
        given = f"{tuple(table.shape)} with strides {table.stride()}"
        raise ValueError(f"{name} must be [{x.shape[-1]}] and contiguous, got {given}")
    if table.dtype not in FLOATS:
        raise ValueError(f"{name} must be fp32, fp16 or bf16, got {table.dtype}")
