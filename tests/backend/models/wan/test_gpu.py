"""A checkpoint on a GPU: our kernels are launched there, and are gone with the dispatch off."""

import pytest
import torch

from rushes.backend.models.wan.components import build_components
from rushes.backend.models.wan.family import FAMILY

pytestmark = pytest.mark.gpu
NORMS, TURNS = "_adaln_modulate_kernel", "_rms_rotary_kernel"


@pytest.fixture(autouse=True)
def gpu():
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")


def built(folder, precision="bf16", use_kernels=True):
    facts = FAMILY.facts(folder)
    return build_components(folder, facts, device="cuda", precision=precision, use_kernels=use_kernels)


def velocity(components, frames=3):
    latent = torch.randn(1, 16, frames, 4, 6, generator=torch.Generator().manual_seed(1)).cuda()
    text = components.text_kv(components.encode_text(["a red circle"]))
    return components.predict(latent, torch.full((1, frames), 0.7, device="cuda"), text)


def launched(work):
    work()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as trace:
        work()
        torch.cuda.synchronize()
    return {event.key: event.count for event in trace.key_averages()}


def count_of(kernel, names):
    return sum(count for name, count in names.items() if kernel in name)


def test_a_forward_launches_our_kernels(folder):
    components = built(folder)
    names = launched(lambda: velocity(components))

    assert count_of(NORMS, names) == 3 * 2 + 1, "three a block, and one before the last projection"
    assert count_of(TURNS, names) == 2 * 2


def test_with_the_dispatch_off_the_kernel_names_are_gone(folder):
    components = built(folder, use_kernels=False)
    names = launched(lambda: velocity(components))

    assert names
    assert count_of(NORMS, names) == count_of(TURNS, names) == 0


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_with_and_without_our_kernels_the_error_is_that_of_the_precision(folder, precision):
    exact = velocity(built(folder, "fp32", use_kernels=False))
    on, off = (velocity(built(folder, precision, use_kernels)) for use_kernels in (True, False))
    norm = torch.linalg.vector_norm
    if precision == "fp32":
        assert float(norm(on - exact) / norm(exact)) < 1e-5
    else:
        # So few numbers leave some room to chance; the full size is held to 1.2 by benchmarks/wan_parity.py.
        assert float(norm(on - exact)) <= 1.5 * float(norm(off - exact))
