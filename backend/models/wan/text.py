"""Prompts to text rows, as Wan does it: cleaned, at most 512 tokens, zero rows after the text."""

import html
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from rushes.backend.models.family import FamilyError
from rushes.backend.models.layers.adapted_linear import LaneAdapters
from rushes.backend.models.layers.umt5 import KEPT_FP32, UMT5Config, UMT5Encoder
from rushes.backend.models.wan.weights import load_module

MAX_TOKENS = 512


class WanTextEncoder:
    """UMT5 and its tokenizer.

    Shapes: texts of B -> [B, 512, D]; rows after a text's tokens are zero.
    """

    def __init__(self, tokenizer: Tokenizer, encoder: UMT5Encoder) -> None:
        self._tokenizer = tokenizer
        self.encoder = encoder

    @torch.no_grad()
    def encode(self, texts: Sequence[str], adapters: LaneAdapters | None = None) -> Tensor:
        tokens = [line.ids for line in self._tokenizer.encode_batch([clean_prompt(text) for text in texts])]
        longest = max(len(line) for line in tokens)
        device = self.encoder.shared.weight.device
        ids = torch.tensor([line + [0] * (longest - len(line)) for line in tokens], device=device)
        lengths = torch.tensor([len(line) for line in tokens], device=device)
        mask = torch.arange(longest, device=device) < lengths[:, None]
        rows = self.encoder(ids, mask, adapters).masked_fill(~mask[..., None], 0.0)
        return F.pad(rows, (0, 0, 0, MAX_TOKENS - longest))


def clean_prompt(text: str) -> str:
    """Repair broken characters where ftfy is installed, undo HTML escapes, join white space."""
    if find_spec("ftfy") is not None:
        import ftfy

        text = ftfy.fix_text(text)
    return " ".join(html.unescape(html.unescape(text)).split())


def load_text_encoder(folder: Path, *, device: torch.device, dtype: torch.dtype) -> WanTextEncoder:
    """Read `tokenizer/` and `text_encoder/` of a checkpoint.

    Errors: FamilyError for a missing part or another kind of encoder, TensorFileError for a broken file.
    """
    place, vocabulary = folder / "text_encoder", folder / "tokenizer" / "tokenizer.json"
    for path in (place / "config.json", vocabulary):
        if not path.is_file():
            raise FamilyError(f"{folder.name}: must hold {path.parent.name}/{path.name}, got none")
    config = UMT5Config.from_json(json.loads((place / "config.json").read_bytes()))
    encoder = load_module(
        lambda: UMT5Encoder(config),
        place,
        device=device,
        dtype=dtype,
        kept_fp32=KEPT_FP32,
        copies={"encoder.embed_tokens.weight": "shared.weight"},
    )
    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return WanTextEncoder(tokenizer, encoder)
