"""Attention over [B, N, heads, head_dim], whichever kernel suits."""

import torch.nn.functional as F
from torch import Tensor


def attend(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax(query keys^T / sqrt(head_dim) + mask) values.

    Shapes: query [B, N, heads, head_dim]; keys, values [B, M, heads, head_dim]; mask bool (True attends) or
    float, broadcastable to [B, heads, N, M]. Returns [B, N, heads, head_dim].
    """
    out = F.scaled_dot_product_attention(
        query.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2), attn_mask=mask
    )
    return out.transpose(1, 2)
