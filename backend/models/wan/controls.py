"""Keys held per latent frame, as a vector added to the time embedding of that frame."""

import torch.nn.functional as F
from torch import Tensor, nn


class KeyEmbedding(nn.Module):
    """Embed the set of keys held; no keys give exactly zero.

    Shapes: keys [B, T, key_count] of 0 and 1 -> [B, T, dim].
    """

    def __init__(self, key_count: int, dim: int) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(key_count, dim, bias=False)
        self.linear_2 = nn.Linear(dim, dim, bias=False)

    def forward(self, keys: Tensor) -> Tensor:
        return self.linear_2(F.silu(self.linear_1(keys.to(self.linear_1.weight.dtype))))
