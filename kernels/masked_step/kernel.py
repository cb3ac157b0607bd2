"""One solver step in one pass: guidance joins the branches, Euler steps, the mask restores what is kept.

Memory bound. Bytes of device memory for a latent of E elements, i bytes each, C channels, masks in fp32:

    one branch                     3 * E * i                    latent and velocity in, latent out
    two branches                   4 * E * i
    edited, two branches           6 * E * i  +  8 * E / C      source, almost_clean and two masks in too
    with the clean prediction    + 1 * E * i                    for previews
    with what enters next        + 1 * E * i                    spares a pass of 3 * E * i

The reference's operations launched apart move over 40 * E * i when editing. The editing rule: kept tokens
enter the transformer almost clean, at a sigma of their own, and the clean prediction is blended with the
source in every step, so that what is kept has become the source at sigma 0.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from rushes.kernels.device import require_reachable
from rushes.kernels.masked_step.reference import Branches, Edit, Sigmas, Stepped

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
    latent_ptr, positive_ptr, negative_ptr, guidance_ptr, now_ptr, after_ptr,
    source_ptr, almost_clean_ptr, cells_ptr, tokens_ptr, stepped_ptr, clean_ptr, next_input_ptr,
    latent_batch_stride, latent_channel_stride, positive_batch_stride, positive_channel_stride,
    negative_batch_stride, negative_channel_stride, source_batch_stride, source_channel_stride,
    almost_clean_batch_stride, almost_clean_channel_stride, cells_batch_stride, tokens_batch_stride,
    now_batch_stride, after_batch_stride, cells_of_sigma, channel_count, cell_count,
    IS_GUIDED: tl.constexpr, IS_EDITED: tl.constexpr, HAS_CLEAN: tl.constexpr, HAS_NEXT_INPUT: tl.constexpr,
    BLOCK_CHANNELS: tl.constexpr, BLOCK_CELLS: tl.constexpr,
):  # fmt: skip
    # One program for a block of cells in a few channels of one lane; channels go first, so that neighbours
    # find the masks and sigmas of their cells in the cache.
    channel_blocks = tl.cdiv(channel_count, BLOCK_CHANNELS)
    cell_blocks = tl.cdiv(cell_count, BLOCK_CELLS)
    program = tl.program_id(0)
    # int64 from here: offsets pass 2**31 in long videos
    batch = (program // (channel_blocks * cell_blocks)).to(tl.int64)
    channel = ((program % channel_blocks) * BLOCK_CHANNELS + tl.arange(0, BLOCK_CHANNELS)).to(tl.int64)
    cell = ((program // channel_blocks) % cell_blocks) * BLOCK_CELLS + tl.arange(0, BLOCK_CELLS)
    cell_inside = cell < cell_count
    inside = (channel < channel_count)[:, None] & cell_inside[None, :]

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
    now = _read_cells(now_ptr, batch, now_batch_stride, sigma_cell, cell_inside)
    after = _read_cells(after_ptr, batch, after_batch_stride, sigma_cell, cell_inside)
    ratio = tl.where(now > 0.0, after / tl.where(now > 0.0, now, 1.0), 1.0)

    out_at = (batch * channel_count + channel[:, None]) * cell_count + cell[None, :]
    if IS_EDITED:
        source = _read(source_ptr, batch, source_batch_stride, channel, source_channel_stride, cell, inside)
        almost_clean = _read(
            almost_clean_ptr,
            batch,
            almost_clean_batch_stride,
            channel,
            almost_clean_channel_stride,
            cell,
            inside,
        )
        cells = _read_cells(cells_ptr, batch, cells_batch_stride, cell, cell_inside)
        tokens = _read_cells(tokens_ptr, batch, tokens_batch_stride, cell, cell_inside)
        entered = tl.where(tokens >= 1.0, x, almost_clean + tokens * (x - almost_clean))
        predicted = entered - now * tokens * velocity
        clean = tl.where(cells >= 1.0, predicted, source + cells * (predicted - source))
        clean = tl.where(cells <= 0.0, source, clean)
        stepped = ratio * x + (1.0 - ratio) * clean
        stepped = tl.where((cells <= 0.0) & (after <= 0.0), source, stepped)
        if HAS_NEXT_INPUT:
            next_input = tl.where(tokens >= 1.0, stepped, almost_clean + tokens * (stepped - almost_clean))
            tl.store(next_input_ptr + out_at, next_input.to(next_input_ptr.dtype.element_ty), mask=inside)
    else:
        clean = x - velocity * now
        stepped = ratio * x + (1.0 - ratio) * clean
    if HAS_CLEAN:
        tl.store(clean_ptr + out_at, clean.to(clean_ptr.dtype.element_ty), mask=inside)
    tl.store(stepped_ptr + out_at, stepped.to(stepped_ptr.dtype.element_ty), mask=inside)


# A launch on the CPU is possible only in Triton's interpreter, which is chosen when this module is imported.
IS_INTERPRETED = not isinstance(_masked_step_kernel, triton.runtime.JITFunction)


def masked_step(
    latent: Tensor,
    branches: Branches,
    sigmas: Sigmas,
    edit: Edit | None = None,
    *,
    with_clean: bool = False,
    with_next_input: bool = False,
) -> Stepped:
    """One Euler step, with guidance before it and the restoring of what is kept after it.

    Shapes: latent [B, C, T, H, W] fp32, fp16 or bf16, in which T, H, W lie as one contiguous run, batch and
        channels at any stride; so for the velocities (any of these dtypes), source and almost_clean (the
        latent's dtype). Sigmas [B], [B, T] or [B, T, H, W], guidance [B], cells and tokens [B, 1, T, H, W],
        all fp32, each lane contiguous. Returns contiguous tensors in the dtype of the latent.
    Precision: all arithmetic in fp32.
    Guarantees: those of the reference, to the bit.
    Errors: ValueError for a shape, stride, dtype or device that the kernel cannot take. It never falls back
        to the reference: choosing is the caller's business.
    """
    _check(latent, branches, edit, with_next_input)
    cells_of_sigma = _check_sigmas(sigmas, latent)
    batches, channel_count = latent.shape[:2]
    cell_count = latent[0, 0].numel()
    stepped = torch.empty(latent.shape, dtype=latent.dtype, device=latent.device)
    clean = torch.empty_like(stepped) if with_clean else None
    next_input = torch.empty_like(stepped) if with_next_input else None
    # A tensor that is absent is passed as another of its kind: its flag keeps the kernel from touching it.
    positive = branches.positive
    negative = positive if branches.negative is None else branches.negative
    kept = Edit(latent, latent, sigmas.now, sigmas.now) if edit is None else edit
    program_count = (
        batches * triton.cdiv(channel_count, BLOCK_CHANNELS) * triton.cdiv(cell_count, BLOCK_CELLS)
    )
    _masked_step_kernel[(program_count,)](
        latent, positive, negative, sigmas.now if branches.guidance is None else branches.guidance,
        sigmas.now, sigmas.after, kept.source, kept.almost_clean, kept.cells, kept.tokens,
        stepped, stepped if clean is None else clean, stepped if next_input is None else next_input,
        latent.stride(0), latent.stride(1), positive.stride(0), positive.stride(1),
        negative.stride(0), negative.stride(1), kept.source.stride(0), kept.source.stride(1),
        kept.almost_clean.stride(0), kept.almost_clean.stride(1), kept.cells.stride(0), kept.tokens.stride(0),
        sigmas.now.stride(0), sigmas.after.stride(0), cells_of_sigma, channel_count, cell_count,
        IS_GUIDED=branches.negative is not None, IS_EDITED=edit is not None,
        HAS_CLEAN=with_clean, HAS_NEXT_INPUT=with_next_input,
        BLOCK_CHANNELS=BLOCK_CHANNELS, BLOCK_CELLS=BLOCK_CELLS, num_warps=WARPS,
    )  # fmt: skip
    return Stepped(stepped, clean, next_input)


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
        _check_values("guidance", branches.guidance, (latent.shape[0],))
    if with_next_input and edit is None:
        raise ValueError("with_next_input needs an edit, got None: the next latent is what enters then")
    if edit is not None:
        _check_edit(edit, latent)


def _check_edit(edit: Edit, latent: Tensor) -> None:
    for name, value in (("source", edit.source), ("almost_clean", edit.almost_clean)):
        _check_latent(name, value, latent)
        if value.dtype != latent.dtype:
            raise ValueError(f"{name} must be {latent.dtype} as the latent, got {value.dtype}")
    for name, mask in (("cells", edit.cells), ("tokens", edit.tokens)):
        _check_values(name, mask, (latent.shape[0], 1, *latent.shape[2:]))


def _check_latent(name: str, value: Tensor, latent: Tensor) -> None:
    require_reachable(name, value, IS_INTERPRETED)
    if value.shape != latent.shape:
        raise ValueError(f"{name} must be {tuple(latent.shape)} as the latent, got {tuple(value.shape)}")
    if value.dtype not in FLOATS:
        raise ValueError(f"{name} must be fp32, fp16 or bf16, got {value.dtype}")
    if not value[0, 0].is_contiguous():
        raise ValueError(f"T, H, W of {name} must lie as one contiguous run, got strides {value.stride()}")


def _check_values(name: str, value: Tensor, shape: tuple[int, ...]) -> None:
    require_reachable(name, value, IS_INTERPRETED)
    if value.shape != shape or value.dtype != torch.float32:
        raise ValueError(f"{name} must be {shape} fp32, got {tuple(value.shape)} {value.dtype}")
    if value.ndim == 1 and not value.is_contiguous():
        raise ValueError(f"{name} must be contiguous, got strides {value.stride()}")
    if value.ndim > 1 and not value[0].is_contiguous():
        raise ValueError(f"each lane of {name} must be contiguous, got strides {value.stride()}")


def _check_sigmas(sigmas: Sigmas, latent: Tensor) -> int:
    """How many cells of a lane share one sigma."""
    batches, _, frames, height, width = latent.shape
    cells_by_shape = {
        (batches,): frames * height * width,
        (batches, frames): height * width,
        (batches, frames, height, width): 1,
    }
    shape = tuple(sigmas.now.shape)
    if shape not in cells_by_shape:
        raise ValueError(f"sigmas must be one of {', '.join(map(str, cells_by_shape))}, got {shape}")
    _check_values("sigmas.now", sigmas.now, shape)
    _check_values("sigmas.after", sigmas.after, shape)
    return cells_by_shape[shape]
