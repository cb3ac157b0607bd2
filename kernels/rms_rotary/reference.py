"""rms_rotary in plain PyTorch. This file defines the right answer."""

import torch
from torch import Tensor


def rms_rotary_reference(x: Tensor, weight: Tensor, cos: Tensor, sin: Tensor, eps: float = 1e-6) -> Tensor:
    """Normalise over all channels, then turn each pair of neighbouring channels by its token's angle.

    Shapes: x [B, N, D], weight [D], cos and sin [N, P]: the angles of the P pairs of a head, alike for the
        D / (2 * P) heads. Returns [B, N, D] in the dtype of x; all arithmetic in fp32, one rounding at the
        end.
    """
    normed = x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + eps) * weight.float()
    even, odd = normed.unflatten(-1, (-1, cos.shape[-1], 2)).unbind(-1)
    cos, sin = cos.float()[:, None], sin.float()[:, None]
    turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return turned.flatten(-3).to(x.dtype)
