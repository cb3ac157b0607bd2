"""Kernels run on the GPU by marker, and in Triton's interpreter where there is none."""

import os
from collections.abc import Iterator

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # must be set before Triton is imported


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    if request.param == "cpu" and torch.cuda.is_available():
        pytest.skip("where a GPU is, kernels are compiled for it and not interpreted")
    return str(request.param)


@pytest.fixture
def gpu() -> str:
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    return "cuda"


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """Memory that nobody wrote holds NaN, so that an element left out cannot pass."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
