"""kohya and Musubi: `lora_unet_` and the layer's name with underscores for dots, `.alpha` beside."""

from collections.abc import Mapping

from rushes.backend.models.adapters.dialect import Part, Targets, split_role


class Kohya:
    name = "kohya"

    def recognises(self, keys: frozenset[str]) -> bool:
        return any(key.startswith("lora_unet_") for key in keys)

    def is_text(self, key: str) -> bool:
        return key.startswith("lora_te")

    def part(self, key: str, targets: Targets) -> Part | None:
        split = split_role(key)
        if split is None or not key.startswith("lora_unet_"):
            return None
        flat = split[0].removeprefix("lora_unet_")
        names = (*targets.originals.items(), *((name, name) for name in targets.shapes))
        layer = next((layer for name, layer in names if name.replace(".", "_") == flat), None)
        return None if layer is None else Part(layer, split[1])

    def scales(self, metadata: Mapping[str, str], ranks: Mapping[str, int]) -> Mapping[str, float]:
        return {}


DIALECT = Kohya()
