"""torch's scaled dot product attention, which picks a kernel itself; takes masks and gradients too."""

import torch.nn.functional as F
from torch import Tensor

from rushes.backend.models.layers.attention.backend import AttentionCase


class Sdpa:
    name = "sdpa"
    takes_mask = True

    def can_run(self, case: AttentionCase) -> bool:
        return True

    def attend(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        heads_first = (query.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2))
        return F.scaled_dot_product_attention(*heads_first, attn_mask=mask).transpose(1, 2)


BACKEND = Sdpa()
