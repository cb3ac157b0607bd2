"""Four Euler steps with the training forward: what the training scripts look at while they run."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from benchmarks.shapes.forward import TrainingForward
from benchmarks.shapes.networks import Networks
from benchmarks.shapes.pool import Pool, text_rows
from rushes.backend.models.wan.transformer import TextRows

SIGMAS = (1.0, 0.9001, 0.7504, 0.5010, 0.0)
FRAMES = 12


def sample_batch(networks: Networks, forward: TrainingForward, pool: Pool, count: int, seed: int) -> Tensor:
    """uint8 [count, F, 96, 96, 3] of whole clips for the pool's own prompts and keys."""
    device = pool.keys.device
    generator = torch.Generator(device).manual_seed(seed)
    rows = torch.randint(0, len(pool.keys), (count,), device=device, generator=generator)
    text = TextRows(*text_rows(networks, pool.tokens[rows, 0]))
    keys = networks.keys(pool.keys[rows, :FRAMES])
    positions = torch.arange(FRAMES, device=device)
    latent = torch.randn(count, 16, FRAMES, 12, 12, device=device, generator=generator)
    with torch.compiler.set_stance("force_eager"), torch.autocast(device.type, torch.bfloat16):
        for now, after in itertools.pairwise(SIGMAS):
            timestep = torch.full((count, FRAMES), now * 1000, device=device)
            velocity = forward(latent, timestep, text, keys, positions, None)
            latent = latent + (after - now) * velocity.float()
    return decode(networks, latent)


def decode(networks: Networks, latent: Tensor, batch: int = 32) -> Tensor:
    """Normalised latent [B, 16, T, 12, 12] to uint8 [B, F, 96, 96, 3]."""
    clips = []
    for part in latent.split(batch):
        video = networks.vae.decode(networks.denormalised(part))
        clips.append(((video + 1) * 127.5).round().to(torch.uint8).permute(0, 2, 3, 4, 1))
    return torch.cat(clips)
