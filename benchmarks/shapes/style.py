"""How neon a clip is: a linear reading of pixel statistics, 0 for plain renders, 1 for true neon ones."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from benchmarks.shapes.scene import random_scene
from benchmarks.shapes.world import render

CLIP_COUNT = 160


def statistics(clips: Tensor) -> Tensor:
    """[B, 5] of uint8 clips [B, F, H, W, 3]: median and 90th percentile of brightness, their ratio to the
    brightest pixels, mean colour strength, and how much of the brightness lies in edges."""
    x = clips[:, ::4].float() / 255
    light = x.amax(-1)
    flat = light.flatten(1)
    median = flat.quantile(0.5, 1)
    high = flat.quantile(0.9, 1)
    peak = flat.quantile(0.995, 1)
    strength = (x.amax(-1) - x.amin(-1)).flatten(1).mean(1)
    edges = (light[..., 1:, :] - light[..., :-1, :]).abs().flatten(1).mean(1)
    return torch.stack((median, high, median / (peak + 0.05), strength, edges / (flat.mean(1) + 0.05)), 1)


@dataclass(frozen=True, slots=True)
class StyleScore:
    """weight [5] and bias of the reading."""

    weight: Tensor
    bias: float

    def of(self, clips: Tensor) -> Tensor:
        """[B]"""
        return statistics(clips) @ self.weight + self.bias


def fit_style_score() -> StyleScore:
    """Fisher's direction between plain and neon renders of the same scenes."""
    random = Random(77)
    scenes = [random_scene(random, latent_frames=3) for _ in range(CLIP_COUNT)]
    plain, neon = (statistics(render(scenes, 3, style)) for style in ("plain", "neon"))
    spread = torch.cov(plain.T) + torch.cov(neon.T) + 1e-3 * torch.eye(plain.shape[1])
    weight = torch.linalg.solve(spread, neon.mean(0) - plain.mean(0))
    low, high = (float((values @ weight).mean()) for values in (plain, neon))
    return StyleScore(weight / (high - low), -low / (high - low))
