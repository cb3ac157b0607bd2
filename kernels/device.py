"""The one place that asks what GPU this is."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class GpuFacts:
    name: str
    capability: tuple[int, int]
    multiprocessor_count: int
    l2_bytes: int
    memory_bytes: int


def has_gpu() -> bool:
    return torch.cuda.is_available()


def gpu_facts() -> GpuFacts:
    """Facts of the current GPU. Errors: RuntimeError where there is none."""
    if not has_gpu():
        raise RuntimeError("facts of a GPU were asked for, and there is none here")
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return GpuFacts(
        name=found.name,
        capability=(found.major, found.minor),
        multiprocessor_count=found.multi_processor_count,
        l2_bytes=found.L2_cache_size,
        memory_bytes=found.total_memory,
    )


def require_reachable(name: str, tensor: Tensor, is_interpreted: bool) -> None:
    """Errors: ValueError unless a kernel launched now can read the tensor: Triton launches on the current
    GPU, whatever device the tensor is on; its interpreter reads any."""
    if is_interpreted:
        return
    if tensor.device.type != "cuda":
        raise ValueError(f"{name} must be on a GPU, got {tensor.device}")
    if tensor.device.index != torch.cuda.current_device():
        raise ValueError(
            f"{name} must be on the current GPU, cuda:{torch.cuda.current_device()}, got {tensor.device}"
        )
