"""What work costs: the shape of a fit, and the arithmetic of one stage."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds: per transformer forward, per token in it, per prompt, per pixel in and out of the VAE."""

    forward_s: float
    token_forward_s: float
    text_s: float
    pixel_encode_s: float
    pixel_decode_s: float

    def forward(self, token_count: int) -> float:
        return self.forward_s + token_count * self.token_forward_s
