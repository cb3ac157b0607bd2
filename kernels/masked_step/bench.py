"""masked_step on the latents of a 480x832 clip of 81 frames, of one chunk, and of eight lanes of chunks."""

import sys
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from rushes.kernels.masked_step.kernel import masked_step
from rushes.kernels.masked_step.reference import Branches, Edit, Sigmas, masked_step_reference
from rushes.kernels.timing import Case, Tensors, bench_main

SIZES = ((1, 16, 21, 60, 104), (1, 16, 3, 60, 104), (8, 16, 3, 60, 104))
TOLERANCE = 2e-6  # fp32: some ten roundings of 2**-24 each, of values up to five times the result


def step(latent: Tensor, branches: Branches, sigmas: Sigmas, edit: Edit | None) -> Tensors:
    return _outputs(masked_step_reference(latent, branches, sigmas, edit, with_next_input=edit is not None))


def fused_step(latent: Tensor, branches: Branches, sigmas: Sigmas, edit: Edit | None) -> Tensors:
    return _outputs(masked_step(latent, branches, sigmas, edit, with_next_input=edit is not None))


def cases() -> Iterator[Case]:
    for size in SIZES:
        yield _case(size, is_guided=False, is_edited=False)
        yield _case(size, is_guided=True, is_edited=False)
        yield _case(size, is_guided=True, is_edited=True)


def _outputs(stepped: tuple[Tensor | None, ...]) -> Tensors:
    return tuple(tensor for tensor in stepped if tensor is not None)


def _case(size: tuple[int, ...], is_guided: bool, is_edited: bool) -> Case:
    generator = torch.Generator("cuda").manual_seed(sum(size))
    normal = partial(torch.randn, generator=generator, device="cuda")
    lanes = size[0]
    latent = normal(size)
    predicted = normal((2 if is_guided else 1, *size))
    guidance = torch.full((lanes,), 5.0, device="cuda")
    branches = Branches(predicted[0], predicted[1], guidance) if is_guided else Branches(predicted[0])
    sigmas = Sigmas(torch.full((lanes,), 0.9, device="cuda"), torch.full((lanes,), 0.75, device="cuda"))
    edit = _edit(generator, latent) if is_edited else None
    read = [latent, *predicted, *(edit or ())]
    written = (2 if is_edited else 1) * latent.nbytes
    names = ["two branches" if is_guided else "one branch"] + (
        ["edited, with the next input"] if is_edited else []
    )
    return Case(
        kernel="masked_step",
        symbol="_masked_step_kernel",
        label=f"{'x'.join(map(str, size))} fp32, {', '.join(names)}",
        bytes_moved=written + sum(tensor.nbytes for tensor in read),
        tolerance=TOLERANCE,
        inputs=(latent, branches, sigmas, edit),
        fused=fused_step,
        reference=step,
    )


def _edit(generator: torch.Generator, latent: Tensor) -> Edit:
    """A third kept, a third free, a third between, in whole tokens of 2x2 cells."""
    lanes, _, *grid = latent.shape
    cells = torch.rand((lanes, 1, *grid), generator=generator, device="cuda").mul(3).sub(1).clamp(0, 1)
    tokens = (
        torch.nn.functional.max_pool3d(cells, (1, 2, 2)).repeat_interleave(2, -1).repeat_interleave(2, -2)
    )
    source, noise = (torch.randn(latent.shape, generator=generator, device="cuda") for _ in range(2))
    return Edit(source, 0.999 * source + 0.001 * noise, cells, tokens.contiguous())


if __name__ == "__main__":
    sys.exit(bench_main(cases))
