"""A linear layer that adds the low-rank deltas of its lanes, given as an argument."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class LaneDelta:
    """The low-rank deltas of one linear layer, ranks of a lane's stack side by side.

    Shapes: down [L, R, in], up [L, out, R], scale [L, R] fp32, an operand of the run and no part of the
    weights; L is the number of lanes, or 1 when all lanes share one stack. Lanes with fewer ranks are filled
    with zeros.
    """

    down: Tensor
    up: Tensor
    scale: Tensor

    def add_to(self, base: Tensor, x: Tensor) -> Tensor:
        """base + (x down^T * scale) up^T per lane; x [B, N, in], base [B, N, out]."""
        if self.down.shape[0] == 1:
            low = (F.linear(x, self.down[0]) * self.scale[0]).type_as(x)
            return base + F.linear(low, self.up[0])
        low = (torch.bmm(x, self.down.transpose(1, 2)) * self.scale[:, None]).type_as(x)
        return base + torch.bmm(low, self.up.transpose(1, 2))


@dataclass(frozen=True, slots=True)
class LaneAdapters:
    """What each adapted layer adds, by the layer's name; layers that no lane adapts are absent."""

    lanes: int
    deltas: Mapping[str, LaneDelta]


class AdaptedLinear(nn.Linear):
    """nn.Linear with the same parameters, plus the delta that `adapters` hold under this layer's name."""

    adapter_name: str = ""

    def forward(self, x: Tensor, adapters: LaneAdapters | None = None) -> Tensor:
        return self.adapted(F.linear(x, self.weight, self.bias), x, adapters)

    def adapted(self, base: Tensor, x: Tensor, adapters: LaneAdapters | None) -> Tensor:
        """What this layer made of x, with the delta added that `adapters` hold for it."""
        if adapters is None or self.adapter_name not in adapters.deltas:
            return base
        return adapters.deltas[self.adapter_name].add_to(base, x)

    def is_adapted(self, adapters: LaneAdapters | None) -> bool:
        return adapters is not None and self.adapter_name in adapters.deltas


def name_adapted_layers(model: nn.Module) -> None:
    """Tell each AdaptedLinear of `model` the name it is known by to adapters: its module path."""
    for name, module in model.named_modules():
        if isinstance(module, AdaptedLinear):
            module.adapter_name = name
