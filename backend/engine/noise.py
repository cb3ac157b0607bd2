"""Noise that depends on the job alone, not on what else runs or on which device."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor


def chunk_noise(seed: int, lane: int, chunk_index: int, shape: Sequence[int]) -> Tensor:
    """Standard normal noise of one chunk, fp32, on the CPU.

    The same (seed, lane, chunk_index) gives the same numbers in every process, alone or in a batch; any other
    gives other numbers. A generator of its own per chunk: no order of calls matters.
    """
    digest = hashlib.sha256(f"rushes.noise/1 {seed} {lane} {chunk_index}".encode()).digest()
    generator = torch.Generator(device="cpu").manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    return torch.randn(tuple(shape), generator=generator, dtype=torch.float32)
