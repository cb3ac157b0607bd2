"""One solver step in one pass: guidance joins the branches, Euler steps, the mask restores what is kept.

Memory bound. Bytes of device memory for a latent of E elements, i bytes each, C channels, masks in fp32:

    one branch                   3 * E * i                    latent and velocity in, latent out
    two branches                 4 * E * i
    edited, two branches         6 * E * i  +  8 * E / C      clean, anchor and two masks in too
    with what enters next      + 1 * E * i                    spares a pass of 3 * E * i over latent and
    anchor

The reference's operations launched apart move over 40 * E * i when editing. The editing rule: kept tokens
enter the transformer almost clean, at a sigma of their own, and the clean prediction is blended with the
source in every step, so that what is kept has become the source at sigma 0.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from rushes.kernels.device import require_reachable
from rushes.kernels.masked_step.reference import Branches, Edit, Stepped

MAX_CELLS = 2**31 - 1024  # cells of one channel are counted in 32 bits, the last block included
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
BLOCK_CHANNELS = 4  # channels that share one read of masks and sigmas
BLOCK_CELLS = 256
WARPS = 4  # with 1024 elements a program: 8 a thread, two 16-byte loads of each fp32 operand


@triton.jit
def _read(ptr, batch, batch_stride, channel, channel_stride, cell, inside):  # type: ignore[no-untyped-def]  # noqa: PLR0913
    at = ptr + batch * batch_stride + channel[:, None] * channel_stride + cell[None, :]
    return tl.load(at, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def _read_cells(ptr, batch, batch_stride, cell, cell_inside):  # type: ignore[no-untyped-def]
    at = ptr + batch * batch_stride + cell
    return tl.load(at, mask=cell_inside, other=0.0).to(tl.float32)[None, :]


@triton.jit
def _masked_step_kernel(  # type: ignore[no-untyped-def]  # noqa: PLR0913 - pointers, then their strides
    latent_ptr, positive_ptr, negative_ptr, guidance_ptr, sigma_ptr, sigma_next_ptr,
    clean_ptr, anchor_ptr, cell_mask_ptr, token_mask_ptr, next_ptr, next_input_ptr,
    latent_batch_stride, latent_channel_stride, positive_batch_stride, positive_channel_stride,
    negative_batch_stride, negative_channel_stride, clean_batch_stride, clean_channel_stride,
    anchor_batch_stride, anchor_channel_stride, cell_mask_batch_stride, token_mask_batch_stride,
    sigma_batch_stride, sigma_next_batch_stride, cells_of_sigma, channels, cells,
    IS_GUIDED: tl.constexpr, IS_EDITED: tl.constexpr, HAS_NEXT_INPUT: tl.constexpr,
    BLOCK_CHANNELS: tl.constexpr, BLOCK_CELLS: tl.constexpr,
):  # fmt: skip
    # One program for a block of cells in a few channels of one lane; channels go first, so that neighbours
    # find the masks and sigmas of their cells in the cache.
    channel_blocks = tl.cdiv(channels, BLOCK_CHANNELS)
    cell_blocks = tl.cdiv(cells, BLOCK_CELLS)
    program = tl.program_id(0)
    # int64 from here: offsets pass 2**31 in long videos
    batch = (program // (channel_blocks * cell_blocks)).to(tl.int64)
    channel = ((program % channel_blocks) * BLOCK_CHANNELS + tl.arange(0, BLOCK_CHANNELS)).to(tl.int64)
    cell = ((program // channel_blocks) % cell_blocks) * BLOCK_CELLS + tl.arange(0, BLOCK_CELLS)
    cell_inside = cell < cells
    inside = (channel < channels)[:, None] & cell_inside[None, :]

    x = _read(latent_ptr, batch, latent_batch_stride, channel, latent_channel_stride, cell, inside)
    velocity = _read(
        positive_ptr, batch, positive_batch_stride, channel, positive_channel_stride, cell, inside
    )
    if IS_GUIDED:
        negative = _read(
            negative_ptr, batch, negative_batch_stride, channel, negative_channel_stride, cell, inside
        )
        velocity = negative + tl.load(guidance_ptr + batch).to(tl.float32) * (velocity - negative)
    sigma_cell = cell // cells_of_sigma
    sigma = _read_cells(sigma_ptr, batch, sigma_batch_stride, sigma_cell, cell_inside)
    sigma_next = _read_cells(sigma_next_ptr, batch, sigma_next_batch_stride, sigma_cell, cell_inside)
    stepped = x + (sigma_next - sigma) * velocity

    out_at = (batch * channels + channel[:, None]) * cells + cell[None, :]
    if IS_EDITED:
        clean = _read(clean_ptr, batch, clean_batch_stride, channel, clean_channel_stride, cell, inside)
        anchor = _read(anchor_ptr, batch, anchor_batch_stride, channel, anchor_channel_stride, cell, inside)
        cell_mask = _read_cells(cell_mask_ptr, batch, cell_mask_batch_stride, cell, cell_inside)
        token_mask = _read_cells(token_mask_ptr, batch, token_mask_batch_stride, cell, cell_inside)
        predicted = anchor + token_mask * (x - anchor) - sigma * token_mask * velocity
        restored = clean + cell_mask * (predicted - clean)
        ratio = tl.where(sigma > 0, sigma_next / tl.where(sigma > 0, sigma, 1.0), 1.0)
        is_free = (cell_mask == 1.0) & (token_mask == 1.0)
        stepped = tl.where(is_free, stepped, ratio * x + (1.0 - ratio) * restored)
        stepped = tl.where((cell_mask == 0.0) & (sigma_next == 0.0), clean, stepped)
        if HAS_NEXT_INPUT:
            next_input = anchor + token_mask * (stepped - anchor)
            tl.store(next_input_ptr + out_at, next_input.to(next_input_ptr.dtype.element_ty), mask=inside)
    tl.store(next_ptr + out_at, stepped.to(next_ptr.dtype.element_ty), mask=inside)


# A launch on the CPU is possible only in Triton's interpreter, which is chosen when this module is imported.
IS_INTERPRETED = not isinstance(_masked_step_kernel, triton.runtime.JITFunction)


def masked_step(
    latent: Tensor,
    branches: Branches,
    sigma: Tensor,
    sigma_next: Tensor,
    edit: Edit | None = None,
    *,
    with_next_input: bool = False,
) -> Stepped:
    """One Euler step from sigma to sigma_next.

    Shapes: latent [B, C, T, H, W] fp32, fp16 or bf16; T, H, W must lie as one contiguous run, batch and
        channels at any stride, and so for velocities (any of these dtypes), clean and anchor (dtype of the
        latent). sigma and sigma_next [B], [B, T] or [B, T, H, W], guidance [B], cell_mask and token_mask [B,
        T, H, W], all fp32, each lane contiguous. Returns contiguous tensors in the dtype of the latent.
    Precision: all arithmetic in fp32.
    Guarantees: cells of cell_mask 0 hold the bits of `clean` once sigma_next is 0.
    Errors: ValueError for a shape, stride, dtype or device that the kernel cannot take. It never falls back
        to the reference: choosing is the caller's business.
    """
    _check(latent, branches, edit, with_next_input)
    cells_of_sigma = _check_sigmas(sigma, sigma_next, latent)
    batches, channels = latent.shape[:2]
    cells = latent[0, 0].numel()
    following = torch.empty(latent.shape, dtype=latent.dtype, device=latent.device)
    next_input = torch.empty_like(following) if with_next_input else following
    # A tensor that is absent is passed as another of its kind: its flag keeps the kernel from touching it.
    positive = branches.positive
    negative = positive if branches.negative is None else branches.negative
    guidance = sigma if branches.guidance is None else branches.guidance
    clean, anchor = (latent, latent) if edit is None else (edit.clean, edit.anchor)
    cell_mask, token_mask = (sigma, sigma) if edit is None else (edit.cell_mask, edit.token_mask)
    program_count = batches * triton.cdiv(channels, BLOCK_CHANNELS) * triton.cdiv(cells, BLOCK_CELLS)
    _masked_step_kernel[(program_count,)](
        latent, positive, negative, guidance, sigma, sigma_next,
        clean, anchor, cell_mask, token_mask, following, next_input,
        latent.stride(0), latent.stride(1), positive.stride(0), positive.stride(1),
        negative.stride(0), negative.stride(1), clean.stride(0), clean.stride(1),
        anchor.stride(0), anchor.stride(1), cell_mask.stride(0), token_mask.stride(0),
        sigma.stride(0), sigma_next.stride(0), cells_of_sigma, channels, cells,
        IS_GUIDED=branches.negative is not None, IS_EDITED=edit is not None, HAS_NEXT_INPUT=with_next_input,
        BLOCK_CHANNELS=BLOCK_CHANNELS, BLOCK_CELLS=BLOCK_CELLS, num_warps=WARPS,
    )  # fmt: skip
    return Stepped(following, next_input if with_next_input else None)


def _check(latent: Tensor, branches: Branches, edit: Edit | None, with_next_input: bool) -> None:
    if latent.ndim != 5 or 0 in latent.shape:
        raise ValueError(f"latent must be [B, C, T, H, W] and not empty, got {tuple(latent.shape)}")
    _check_latent("latent", latent, latent)
    if latent[0, 0].numel() > MAX_CELLS:
        raise ValueError(f"a channel must have at most {MAX_CELLS} cells, got {latent[0, 0].numel()}")
    _check_latent("positive", branches.positive, latent)
    if (branches.negative is None) != (branches.guidance is None):
        raise ValueError("negative and guidance must come together, got one of them")
    if branches.negative is not None and branches.guidance is not None:
        _check_latent("negative", branches.negative, latent)
        _check_values("guidance", branches.guidance, (latent.shape[0],), latent)
    if with_next_input and edit is None:
        raise ValueError("with_next_input needs an edit, got None: the next latent is what enters then")
    if edit is None:
        return
    for name, value in (("clean", edit.clean), ("anchor", edit.anchor)):
        _check_latent(name, value, latent)
        if value.dtype != latent.dtype:
            raise ValueError(f"{name} must be {latent.dtype} as the latent, got {value.dtype}")
    for name, mask in (("cell_mask", edit.cell_mask), ("token_mask", edit.token_mask)):
        _check_values(name, mask, (latent.shape[0], *latent.shape[2:]), latent)


def _check_latent(name: str, value: Tensor, latent: Tensor) -> None:
    require_reachable(name, value, IS_INTERPRETED)
    if value.shape != latent.shape:
        raise ValueError(f"{name} must be {tuple(latent.shape)} as the latent, got {tuple(value.shape)}")
    if value.dtype not in FLOATS:
        raise ValueError(f"{name} must be fp32, fp16 or bf16, got {value.dtype}")
    if not value[0, 0].is_contiguous():
        raise ValueError(f"T, H, W of {name} must lie as one contiguous run, got strides {value.stride()}")


def _check_values(name: str, value: Tensor, shape: tuple[int, ...], latent: Tensor) -> None:
    require_reachable(name, value, IS_INTERPRETED)
    if value.shape != shape or value.dtype != torch.float32:
        raise ValueError(f"{name} must be {shape} fp32, got {tuple(value.shape)} {value.dtype}")
    if value.ndim == 1 and not value.is_contiguous():
        raise ValueError(f"{name} must be contiguous, got strides {value.stride()}")
    if value.ndim > 1 and not value[0].is_contiguous():
        raise ValueError(f"each lane of {name} must be contiguous, got strides {value.stride()}")


def _check_sigmas(sigma: Tensor, sigma_next: Tensor, latent: Tensor) -> int:
    """How many cells of a lane share one sigma."""
    batches, _, frames, height, width = latent.shape
    cells_by_shape = {
        (batches,): frames * height * width,
        (batches, frames): height * width,
        (batches, frames, height, width): 1,
    }
    shape = tuple(sigma.shape)
    if shape not in cells_by_shape:
        raise ValueError(f"sigma must be one of {', '.join(map(str, cells_by_shape))}, got {shape}")
    _check_values("sigma", sigma, shape, latent)
    _check_values("sigma_next", sigma_next, shape, latent)
    return cells_by_shape[shape]
