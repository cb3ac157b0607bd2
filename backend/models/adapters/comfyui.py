"""ComfyUI: `diffusion_model.` before the original names, down/up or A/B, `.alpha` beside them."""

from collections.abc import Mapping

from rushes.backend.models.adapters.dialect import Part, Targets, split_role

PREFIXES = ("model.diffusion_model.", "diffusion_model.")


class ComfyUi:
    name = "comfyui"

    def recognises(self, keys: frozenset[str]) -> bool:
        return any(key.startswith(PREFIXES) for key in keys)

    def is_text(self, key: str) -> bool:
        return key.startswith(("text_encoders.", "text_encoder."))

    def part(self, key: str, targets: Targets) -> Part | None:
        split = split_role(key)
        prefix = next((prefix for prefix in PREFIXES if key.startswith(prefix)), None)
        if split is None or prefix is None:
            return None
        layer = targets.named(split[0].removeprefix(prefix))
        return None if layer is None else Part(layer, split[1])

    def scales(self, metadata: Mapping[str, str], ranks: Mapping[str, int]) -> Mapping[str, float]:
        return {}


DIALECT = ComfyUi()
