"""Latent masks while denoising: which cells are kept, and how the model is told.

A kept cell enters the model as an almost clean token with an almost clean sigma; the sampler's own state is
never overwritten; the clean prediction is pulled back to the source after each step. On the last step, where
the next sigma is 0, kept cells therefore equal the source, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import max_pool3d

KEPT_SIGMA = 0.001
"""Noise level of kept tokens: the level at which models see clean conditioning frames."""
MASK_LEVELS = 256


@dataclass(frozen=True, slots=True)
class Edit:
    """What to keep of a source.

    Shapes: source, almost_clean [1, C, T, h, w]; cells [1, 1, T, h, w] in 0..1, used to restore; tokens, the
        same shape: the largest cell of each token, in steps of 1/256, what the model sees.
    """

    source: Tensor
    cells: Tensor
    tokens: Tensor
    almost_clean: Tensor
    is_per_frame: bool
    """Whether all tokens of a latent frame are alike."""

    @classmethod
    def of(cls, source: Tensor, cells: Tensor, noise: Tensor, patch: int) -> Edit:
        """Errors: ValueError for a mask that does not lie on the source's cells."""
        if cells.shape[2:] != source.shape[2:]:
            raise ValueError(
                f"the mask must cover {list(source.shape[2:])} cells, got {list(cells.shape[2:])}"
            )
        tokens = torch.ceil(_token_max(cells, patch) * MASK_LEVELS) / MASK_LEVELS
        is_per_frame = bool((tokens == tokens[..., :1, :1]).all())
        return cls(source, cells, tokens, (1.0 - KEPT_SIGMA) * source + KEPT_SIGMA * noise, is_per_frame)

    def model_input(self, latent: Tensor) -> Tensor:
        """u = a + m (x - a), and x itself where all is made anew."""
        mixed = self.almost_clean + self.tokens * (latent - self.almost_clean)
        return torch.where(self.tokens >= 1.0, latent, mixed)

    def token_sigma(self, sigma: float) -> Tensor:
        """Sigma of each cell's token, [1, T, h, w], or of each latent frame, [1, T], where that says all."""
        sigmas = (self.tokens * sigma).clamp(min=min(sigma, KEPT_SIGMA))[:, 0]
        return sigmas[:, :, 0, 0] if self.is_per_frame else sigmas

    def clean(self, model_input: Tensor, velocity: Tensor, sigma: float) -> Tensor:
        """x0 = c + r (u - sigma m v - c), exactly c where r is 0."""
        predicted = model_input - (sigma * self.tokens) * velocity
        return self.restored(self.source + self.cells * (predicted - self.source))

    def restored(self, latent: Tensor) -> Tensor:
        """The latent with the source's own bits in all kept cells."""
        return torch.where(self.cells <= 0.0, self.source, latent)


def pinned_start(start: Tensor, frame_count: int) -> tuple[Tensor, Tensor]:
    """A source and cells that keep the first latent frames and make the rest anew.

    Shapes: start [1, C, n, h, w] -> source [1, C, frame_count, h, w], cells [1, 1, frame_count, h, w].
    """
    batch, channels, given, height, width = start.shape
    source = start.new_zeros(batch, channels, frame_count, height, width)
    source[:, :, :given] = start
    cells = start.new_ones(batch, 1, frame_count, height, width)
    cells[:, :, :given] = 0.0
    return source, cells


def _token_max(cells: Tensor, patch: int) -> Tensor:
    pooled = max_pool3d(cells, (1, patch, patch))
    return pooled.repeat_interleave(patch, dim=3).repeat_interleave(patch, dim=4)
