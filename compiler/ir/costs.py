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
    # Two x86 cores, fp32, best of eight: a forward of 108 tokens 20 ms, of 432 tokens 58 ms; 13 frames out
    # of the VAE 112 ms, 45 frames into it 240 ms.
    ("shapes", "cpu"): Cost(1.8e-4, 0.002, 5.8e-7, 9.4e-7),
}
