"""adaln_modulate on the shapes of a 1.3B transformer at 480x832: 81 frames, chunks of three latent frames
and one."""

import sys
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from rushes.kernels.adaln_modulate.kernel import Tile, adaln_modulate, add_adaln_modulate
from rushes.kernels.adaln_modulate.reference import (
    Modulation,
    Residual,
    adaln_modulate_reference,
    add_adaln_modulate_reference,
)
from rushes.kernels.timing import Case, Tensors, bench_main

DIM = 1536
TOKENS_OF_FRAME = 1560
# Both sides compute in fp32 and round to bf16 once; where they fall on two sides of a tie they differ by
# 2**-8 of the value, which is rare: the norm of the difference stays under half of that.
TOLERANCE = 2**-9
TILES = tuple(Tile(rows, warps) for rows in (1, 2, 4, 8) for warps in (4, 8))


def modulated(x: Tensor, modulation: Modulation) -> Tensors:
    return (adaln_modulate_reference(x, modulation),)


def fused_modulated(x: Tensor, modulation: Modulation, tile: Tile | None = None) -> Tensors:
    return (adaln_modulate(x, modulation, tile=tile),)


def fused_sum(x: Tensor, residual: Residual, modulation: Modulation, tile: Tile | None = None) -> Tensors:
    return add_adaln_modulate(x, residual, modulation, tile=tile)


def cases() -> Iterator[Case]:
    for frames in (21, 3):
        tokens = frames * TOKENS_OF_FRAME
        yield _modulate(1, tokens, 1, "sample")
        yield _modulate(1, tokens, frames, "latent frame")
        yield _modulate(1, tokens, tokens, "token")
        yield _modulate(1, tokens, tokens, "token", with_tables=True)
        yield _add(1, tokens)
    for lanes in (1, 8):
        yield _modulate(lanes, TOKENS_OF_FRAME, 1, "sample")
        yield _add(lanes, TOKENS_OF_FRAME)
    yield _modulate(8, TOKENS_OF_FRAME, TOKENS_OF_FRAME, "token", with_tables=True)


def _modulate(lanes: int, tokens: int, groups: int, per: str, with_tables: bool = False) -> Case:
    generator = torch.Generator("cuda").manual_seed(tokens + groups)
    x = _normal(generator, lanes, tokens, DIM).bfloat16()
    modulation = _modulation(generator, lanes, groups, with_tables)
    tiles = [tile for tile in TILES if tile.rows <= tokens // groups]
    return Case(
        kernel="adaln_modulate",
        symbol="_adaln_modulate_kernel",
        label=f"{lanes}x{tokens}x{DIM} bf16, a row a {per}" + (", tables" if with_tables else ""),
        bytes_moved=2 * x.nbytes + _bytes(modulation.scale, modulation.shift),
        tolerance=TOLERANCE,
        inputs=(x, modulation),
        fused=fused_modulated,
        reference=modulated,
        variants={_named(tile): partial(fused_modulated, tile=tile) for tile in tiles},
    )


def _add(lanes: int, tokens: int) -> Case:
    generator = torch.Generator("cuda").manual_seed(tokens)
    x, branch = (_normal(generator, lanes, tokens, DIM).bfloat16() for _ in range(2))
    gate = _normal(generator, lanes, 1, 6, DIM)[:, :, 2]
    modulation = _modulation(generator, lanes, 1, with_tables=False)
    return Case(
        kernel="adaln_modulate",
        symbol="_adaln_modulate_kernel",
        label=f"{lanes}x{tokens}x{DIM} bf16, gated sum before it, a row a sample",
        bytes_moved=4 * x.nbytes + _bytes(gate, modulation.scale, modulation.shift),
        tolerance=TOLERANCE,
        inputs=(x, Residual(branch, gate), modulation),
        fused=fused_sum,
        reference=add_adaln_modulate_reference,
        variants={_named(tile): partial(fused_sum, tile=tile) for tile in TILES},
    )


def _modulation(generator: torch.Generator, lanes: int, groups: int, with_tables: bool) -> Modulation:
    """Rows as a block finds them: two of the six that one projection made."""
    rows = _normal(generator, lanes, groups, 6, DIM) / 2
    scale, shift = rows[:, :, 1], rows[:, :, 0]
    if not with_tables:
        return Modulation(scale, shift)
    return Modulation(scale, shift, *(_normal(generator, 2, DIM) / DIM**0.5).unbind())


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator, device="cuda")


def _bytes(*tensors: Tensor) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _named(tile: Tile) -> str:
    return f"{tile.rows} rows, {tile.warps} warps"


if __name__ == "__main__":
    sys.exit(bench_main(cases))
