"""What a dialect of LoRA files is: how it names layers and parts of a delta."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Targets:
    """The layers an adapter may change.

    shapes: (out, in) of each layer by its own name; originals: the name a layer has in the model's original
    code -> its own name.
    """

    shapes: Mapping[str, tuple[int, int]]
    originals: Mapping[str, str]

    def named(self, name: str) -> str | None:
        """The layer that goes by `name`, in either naming."""
        return name if name in self.shapes else self.originals.get(name)


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor of a file: which layer's delta it belongs to and which part it is: down, up or alpha."""

    layer: str
    role: str


class Dialect(Protocol):
    """One way of naming things in a LoRA file."""

    name: str

    def recognises(self, keys: frozenset[str]) -> bool: ...

    def is_text(self, key: str) -> bool:
        """Whether the key belongs to a text encoder."""

    def part(self, key: str, targets: Targets) -> Part | None:
        """What `key` is; None when it is nothing this dialect or the model knows."""

    def scales(self, metadata: Mapping[str, str], ranks: Mapping[str, int]) -> Mapping[str, float]:
        """Scale of each layer's delta where the file's header tells it and no alpha does."""


ROLES = {
    ".lora_A.weight": "down",
    ".lora_B.weight": "up",
    ".lora_A.default.weight": "down",
    ".lora_B.default.weight": "up",
    ".lora_down.weight": "down",
    ".lora_up.weight": "up",
    ".alpha": "alpha",
}


def split_role(key: str) -> tuple[str, str] | None:
    """Layer name and role, by the ending that LoRA files share."""
    for ending, role in ROLES.items():
        if key.endswith(ending):
            return key.removesuffix(ending), role
    return None
