"""Prompts to text rows, as Wan does it: cleaned, at most 512 tokens, zero rows after the text."""

import html
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rushes.backend.models.family import FamilyError
from rushes.backend.models.tensor_file import read_tensor_file
from rushes.backend.models.wan.weights import weight_files

MAX_TOKENS = 512


class WanTextEncoder:
    """UMT5 and its tokenizer.

    Shapes: texts of B -> [B, 512, D]; rows after a text's tokens are zero.
    """

    def __init__(self, tokenizer: Any, encoder: Any) -> None:
        self._tokenizer = tokenizer
        self._encoder = encoder

    @torch.no_grad()
    def encode(self, texts: Sequence[str]) -> Tensor:
        tokens = self._tokenizer(
            [clean_prompt(text) for text in texts],
            padding=True,
            max_length=MAX_TOKENS,
            truncation=True,
            return_tensors="pt",
        ).to(self._encoder.device)
        mask = tokens.attention_mask
        hidden = self._encoder(tokens.input_ids, mask).last_hidden_state
        rows = hidden * mask[..., None].to(hidden.dtype)
        return torch.nn.functional.pad(rows, (0, 0, 0, MAX_TOKENS - rows.shape[1]))


def clean_prompt(text: str) -> str:
    """Repair broken characters where ftfy is installed, undo HTML escapes, join white space."""
    if find_spec("ftfy") is not None:
        import ftfy

        text = ftfy.fix_text(text)
    return " ".join(html.unescape(html.unescape(text)).split())


def load_text_encoder(folder: Path, *, device: torch.device, dtype: torch.dtype) -> WanTextEncoder:
    """Read `tokenizer/` and `text_encoder/` of a checkpoint; never looks elsewhere.

    Errors: FamilyError for a missing part, TensorFileError for a broken file.
    """
    from transformers import AutoTokenizer, UMT5EncoderModel

    for part in ("tokenizer", "text_encoder"):
        if not (folder / part).is_dir():
            raise FamilyError(f"{folder.name}: must hold {part}/, got none")
    for path in weight_files(folder / "text_encoder"):
        read_tensor_file(path)
    tokenizer = AutoTokenizer.from_pretrained(folder / "tokenizer", local_files_only=True)
    encoder = UMT5EncoderModel.from_pretrained(
        folder / "text_encoder", local_files_only=True, use_safetensors=True, dtype=dtype
    )
    return WanTextEncoder(tokenizer, encoder.to(device).eval().requires_grad_(False))
