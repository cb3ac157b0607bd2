"""FlashAttention 2 from the flash-attn package, where somebody has built it."""

from importlib.util import find_spec

import torch
from torch import Tensor

from rushes.backend.models.layers.attention.backend import AttentionCase


class FlashAttn:
    name = "flash_attn"
    takes_mask = False

    def can_run(self, case: AttentionCase) -> bool:
        return (
            case.device == "cuda"
            and case.capability >= (8, 0)
            and case.dtype in (torch.bfloat16, torch.float16)
            and case.head_dim % 8 == 0
            and case.head_dim <= 256
            and find_spec("flash_attn") is not None
        )

    def attend(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        from flash_attn import flash_attn_func

        return flash_attn_func(query, keys, values)


BACKEND = FlashAttn()
