"""cuDNN's fused attention, through torch."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from rushes.backend.models.layers.attention.backend import AttentionCase


class Cudnn:
    name = "cudnn"
    takes_mask = False

    def can_run(self, case: AttentionCase) -> bool:
        return (
            case.device == "cuda"
            and case.capability >= (8, 0)
            and case.dtype in (torch.bfloat16, torch.float16)
            and case.head_dim % 8 == 0
            and case.head_dim <= 128
            and torch.backends.cudnn.is_available()
        )

    def attend(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            out = F.scaled_dot_product_attention(
                query.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2), attn_mask=mask
            )
        return out.transpose(1, 2)


BACKEND = Cudnn()
