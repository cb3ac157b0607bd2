"""What an attention backend is and what it is asked about."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class AttentionCase:
    """What is known about an attention layer before it runs.

    capability is the compute capability of a CUDA device, (0, 0) elsewhere.
    """

    device: str
    capability: tuple[int, int]
    dtype: torch.dtype
    head_dim: int


class AttentionBackend(Protocol):
    """One kernel: softmax(query keys^T / sqrt(head_dim) + mask) values.

    Shapes: query [B, N, heads, head_dim]; keys, values [B, M, heads, head_dim]; mask bool (True attends) or
    float, broadcastable to [B, heads, N, M]; returns [B, N, heads, head_dim].
    """

    name: str
    takes_mask: bool

    def can_run(self, case: AttentionCase) -> bool:
        """Whether it is installed here and made for such a layer."""

    def attend(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor: ...
