"""What a checkpoint costs on a kind of device, as measured. A pair that is not listed is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds: per token and forward of the transformer, per prompt, per pixel in and out of the VAE."""

    token_forward_s: float
    text_s: float
    pixel_encode_s: float
    pixel_decode_s: float


COSTS: Mapping[tuple[str, str], Cost] = {
    # Two CPU cores: a chunk of 3 latent frames at 96x96 (108 tokens, 5 forwards) 0.11 s, its decode 0.39 s.
    ("shapes", "cpu"): Cost(2.0e-4, 0.02, 2.5e-6, 3.5e-6),
}
