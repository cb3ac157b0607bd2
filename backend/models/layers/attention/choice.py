"""Which attention backend a layer uses: the first row of a table that can run and is worth its launch."""

from dataclasses import dataclass

import torch
from torch import Tensor

from rushes.backend.models.layers.attention import cudnn, fa3, flash_attn, flash_sdpa, sdpa
from rushes.backend.models.layers.attention.backend import AttentionBackend, AttentionCase


@dataclass(frozen=True, slots=True)
class Row:
    """A backend and the fewest keys from which it is taken."""

    backend: AttentionBackend
    least_keys: int


# One H200, bf16, 12 heads x 128: 32760 tokens 8.9 ms fa3, 11.3 cudnn, 18.1 flash_sdpa;
# 4680 queries on 28080 keys 1.37 ms fa3, 1.50 cudnn.
TABLE: dict[str, tuple[Row, ...]] = {
    "cuda": (
        Row(fa3.BACKEND, 512),
        Row(cudnn.BACKEND, 512),
        Row(flash_attn.BACKEND, 0),
        Row(flash_sdpa.BACKEND, 0),
        Row(sdpa.BACKEND, 0),
    ),
    "cpu": (Row(sdpa.BACKEND, 0),),
}


@dataclass(frozen=True, slots=True)
class AttentionChoice:
    """The backends open to a layer, best first; the last takes masks and gradients too."""

    rows: tuple[Row, ...]

    def backend(
        self, key_count: int, *, is_masked: bool = False, needs_gradient: bool = False
    ) -> AttentionBackend:
        if not needs_gradient:
            for row in self.rows:
                if key_count >= row.least_keys and (row.backend.takes_mask or not is_masked):
                    return row.backend
        return self.rows[-1].backend

    def attend(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        """softmax(query keys^T / sqrt(head_dim) + mask) values; shapes as in AttentionBackend."""
        needs_gradient = torch.is_grad_enabled() and query.requires_grad
        backend = self.backend(keys.shape[1], is_masked=mask is not None, needs_gradient=needs_gradient)
        return backend.attend(query, keys, values, mask)


PLAIN = AttentionChoice((Row(sdpa.BACKEND, 0),))


def choose_attention(case: AttentionCase) -> AttentionChoice:
    """The rows of the table that can run such a layer here."""
    rows = TABLE.get(case.device, TABLE["cpu"])
    return AttentionChoice(tuple(row for row in rows if row.backend.can_run(case)))


def case_of(weight: Tensor, head_dim: int) -> AttentionCase:
    """The case of a layer whose weights are where and what `weight` is."""
    device = weight.device
    capability = torch.cuda.get_device_capability(device) if device.type == "cuda" else (0, 0)
    return AttentionCase(device.type, capability, weight.dtype, head_dim)
