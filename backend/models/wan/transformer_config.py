"""The shape of a Wan transformer."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class WanTransformerConfig:
    """The fields of diffusers' transformer/config.json."""

    patch_size: tuple[int, int, int] = (1, 2, 2)
    num_attention_heads: int = 40
    attention_head_dim: int = 128
    in_channels: int = 16
    out_channels: int = 16
    text_dim: int = 4096
    freq_dim: int = 256
    ffn_dim: int = 13824
    num_layers: int = 40
    cross_attn_norm: bool = True
    qk_norm: str = "rms_norm_across_heads"
    eps: float = 1e-6
    image_dim: int | None = None
    added_kv_proj_dim: int | None = None
    rope_max_seq_len: int = 1024
    pos_embed_seq_len: int | None = None

    @property
    def dim(self) -> int:
        return self.num_attention_heads * self.attention_head_dim

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "WanTransformerConfig":
        """Errors: ValueError for a field this transformer does not know or cannot honour."""
        known = {field.name for field in fields(cls)}
        given = {name: value for name, value in values.items() if not name.startswith("_")}
        if unknown := sorted(given.keys() - known):
            raise ValueError(f"the transformer config must have Wan's fields only, got {', '.join(unknown)}")
        if given.get("image_dim") is not None or given.get("added_kv_proj_dim") is not None:
            raise ValueError(
                "image_dim and added_kv_proj_dim must be null: image embeddings are not supported"
            )
        if "patch_size" in given:
            given["patch_size"] = tuple(given["patch_size"])
        return cls(**given)
