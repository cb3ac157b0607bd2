"""The names of Wan's original code and the names our parameters have, which are diffusers' names."""

from collections.abc import Iterable, Mapping

# Longer first: the first that fits is taken. norm2 and norm3 of a block change places.
BLOCK_PARTS = {
    "self_attn.norm_q": "attn1.norm_q",
    "self_attn.norm_k": "attn1.norm_k",
    "self_attn.q": "attn1.to_q",
    "self_attn.k": "attn1.to_k",
    "self_attn.v": "attn1.to_v",
    "self_attn.o": "attn1.to_out.0",
    "cross_attn.norm_q": "attn2.norm_q",
    "cross_attn.norm_k": "attn2.norm_k",
    "cross_attn.q": "attn2.to_q",
    "cross_attn.k": "attn2.to_k",
    "cross_attn.v": "attn2.to_v",
    "cross_attn.o": "attn2.to_out.0",
    "norm3": "norm2",
    "ffn.0": "ffn.net.0.proj",
    "ffn.2": "ffn.net.2",
    "modulation": "scale_shift_table",
}
OTHER_PARTS = {
    "patch_embedding": "patch_embedding",
    "time_embedding.0": "condition_embedder.time_embedder.linear_1",
    "time_embedding.2": "condition_embedder.time_embedder.linear_2",
    "time_projection.1": "condition_embedder.time_proj",
    "text_embedding.0": "condition_embedder.text_embedder.linear_1",
    "text_embedding.2": "condition_embedder.text_embedder.linear_2",
    "head.head": "proj_out",
    "head.modulation": "scale_shift_table",
}
CHECKPOINT_PREFIX = "model.diffusion_model."


def is_original(names: Iterable[str]) -> bool:
    """Whether a checkpoint's tensors go by the original names."""
    return any(name.removeprefix(CHECKPOINT_PREFIX).startswith("time_embedding.") for name in names)


def original_to_ours(ours: Iterable[str]) -> Mapping[str, str]:
    """Original name -> our name, for parameters as well as for layers."""
    pairs = {}
    for name in ours:
        original = _original(name)
        if original is not None:
            pairs[original] = name
    return pairs


def _original(name: str) -> str | None:
    if name.startswith("blocks."):
        _, index, rest = name.split(".", 2)
        part = _renamed(rest, BLOCK_PARTS)
        return None if part is None else f"blocks.{index}.{part}"
    return _renamed(name, OTHER_PARTS)


def _renamed(name: str, parts: Mapping[str, str]) -> str | None:
    for original, own in parts.items():
        if name == own or name.startswith(own + "."):
            return original + name[len(own) :]
    return None
