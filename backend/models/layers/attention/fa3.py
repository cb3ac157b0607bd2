"""FlashAttention 3 from the fa3-fwd package: Hopper, bf16, forward only."""

from importlib.util import find_spec

import torch
from torch import Tensor

from rushes.backend.models.layers.attention.backend import AttentionCase


class Fa3:
    name = "fa3"
    takes_mask = False

    def can_run(self, case: AttentionCase) -> bool:
        return (
            case.device == "cuda"
            and case.capability[0] == 9
            and case.dtype == torch.bfloat16
            and case.head_dim in (64, 96, 128, 192, 256)
            and find_spec("fa3_fwd_interface") is not None
        )

    def attend(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        from fa3_fwd_interface import flash_attn_func

        out = flash_attn_func(query, keys, values)
        return out[0] if isinstance(out, tuple) else out


BACKEND = Fa3()
