"""diffusers and PEFT: `transformer.blocks.0.attn1.to_q.lora_A.weight`, alpha in the file's header."""

import json
from collections.abc import Mapping

from rushes.backend.models.adapters.dialect import Part, Targets, split_role

PREFIXES = ("transformer.", "base_model.model.", "")


class Peft:
    name = "peft"

    def recognises(self, keys: frozenset[str]) -> bool:
        return any(".lora_A." in key for key in keys)

    def is_text(self, key: str) -> bool:
        return key.startswith(("text_encoder.", "text_encoder_2."))

    def part(self, key: str, targets: Targets) -> Part | None:
        split = split_role(key)
        if split is None:
            return None
        for prefix in PREFIXES:
            layer = targets.named(split[0].removeprefix(prefix)) if split[0].startswith(prefix) else None
            if layer is not None:
                return Part(layer, split[1])
        return None

    def scales(self, metadata: Mapping[str, str], ranks: Mapping[str, int]) -> Mapping[str, float]:
        """alpha / rank, or alpha / sqrt(rank) with rslora; no header means 1, as for PEFT's own loader."""
        config = {
            key.removeprefix("transformer."): value
            for key, value in json.loads(metadata.get("lora_adapter_metadata", "{}")).items()
        }
        if "lora_alpha" not in config:
            return {}
        patterns = config.get("alpha_pattern") or {}
        root = 0.5 if config.get("use_rslora") else 1.0
        return {
            layer: _matching(patterns, layer, float(config["lora_alpha"])) / rank**root
            for layer, rank in ranks.items()
        }


def _matching(patterns: Mapping[str, float], layer: str, otherwise: float) -> float:
    """The value of the pattern that names this layer, whole or from a dot on."""
    for pattern, value in patterns.items():
        if layer == pattern or layer.endswith("." + pattern):
            return float(value)
    return otherwise


DIALECT = Peft()
