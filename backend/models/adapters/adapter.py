"""An adapter in memory, and the error that says why a file is not one."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor


class AdapterError(ValueError):
    """An adapter file that cannot be used; the message names the file and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class LowRank:
    """scale * up @ down, to be added to a weight [out, in].

    Shapes: down [R, in], up [out, R].
    """

    down: Tensor
    up: Tensor
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class Adapter:
    """What one file adds to a transformer, by the name of the layer; equal only to itself."""

    adapter_id: str
    deltas: Mapping[str, LowRank]

    @property
    def bytes(self) -> int:
        return sum(
            x.numel() * x.element_size() for delta in self.deltas.values() for x in (delta.down, delta.up)
        )
