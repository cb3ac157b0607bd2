"""Trains transformer, text encoder and key embedding together by flow matching on encoded clips.

Three kinds of batch take turns: whole clips of 12 latent frames with cells kept clean or noisier as editing does, the
same with 24 latent frames, and chunk after chunk with a clean history as a rollout does.

Run on a GPU: python -m benchmarks.shapes.train_transformer VAE_FOLDER OUT --seconds 420
"""

from __future__ import annotations

import argparse
import copy
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from benchmarks.shapes.forward import (
    TrainingForward,
    block_of_frames,
    block_starts,
    teacher_mask,
    token_timesteps,
)
from benchmarks.shapes.masks import draw_masks
from benchmarks.shapes.networks import Networks, build_networks, load_part, save_part
from benchmarks.shapes.pool import Drawn, Pool, draw_all, encode, text_rows
from benchmarks.shapes.sampling import SIGMAS, sample_batch
from benchmarks.shapes.vae_statistics import read_vae_statistics
from rushes.backend.models.wan.transformer import TextRows

PEAK_RATE = 1.2e-3
WARM_UP_STEPS = 250
EMA_DECAY = 0.9985
HISTORY_NOISE = 0.12
SHARES = {"whole": 0.40, "long": 0.12, "chunks": 0.48}
BATCHES = {"whole": 192, "long": 96, "chunks": 48}
EARLY_STEPS = (60, 90, 120, 160, 200)
EARLY_COUNT = 96

log = logging.getLogger("shapes.transformer")


@dataclass(slots=True)
class Trainee:
    """Everything one training run holds."""

    networks: Networks
    forward: TrainingForward
    pool: Pool
    device: str
    masks: dict[int, Tensor]
    fit: dict[int, Tensor] = field(default_factory=dict)

    def add(self, more: Pool | None) -> None:
        """Take in more clips and list anew which serve what: 0 whole clips, 1 to 3 chunks by their first size."""
        if more is not None:
            self.pool = self.pool.join(more)
        change = self.pool.switch
        self.fit = {0: (change == 0).nonzero()[:, 0]}
        for first in (1, 2, 3):
            self.fit[first] = ((change == 0) | ((change - first) % 3 == 0)).nonzero()[:, 0]


def draw_sigmas(shape: tuple[int, ...], device: str) -> Tensor:
    """Mostly near the four levels inference visits, the rest anywhere."""
    grid = torch.tensor(SIGMAS[:-1], device=device)
    at = grid[torch.randint(0, len(grid), shape, device=device)]
    near = (at + (torch.rand(shape, device=device) - 0.5) * 0.04).clamp(0.02, 1)
    anywhere = torch.rand(shape, device=device) * 0.98 + 0.02
    exact = torch.where(torch.rand(shape, device=device) < 0.4, at, near)
    return torch.where(torch.rand(shape, device=device) < 0.7, exact, anywhere)


def mix(clean: Tensor, noise: Tensor, sigma: Tensor) -> Tensor:
    return (1 - sigma) * clean + sigma * noise


def whole_loss(trainee: Trainee, rows: Tensor, frames: int) -> Tensor:
    """Whole clips at once; kept cells lie at sigma 0 (or another, lower sigma) and carry no loss at 0."""
    pool, device = trainee.pool, trainee.device
    clean = pool.latent[rows, :, :frames].float()
    mask = draw_masks(pool, rows, frames)
    high = draw_sigmas((len(rows), 1, 1, 1), device)
    soft = torch.rand(len(rows), 1, 1, 1, device=device) < 0.12
    low = torch.where(soft, high * torch.rand_like(high), 0.0)
    sigma = torch.where(mask, high, low)
    told = torch.where((sigma == 0) & (torch.rand_like(high) < 0.3), 0.001, sigma)
    noise = torch.randn_like(clean)
    kept_noise = torch.rand(len(rows), 1, 1, 1, device=device).sub(0.6).clamp(min=0) * 0.15
    level = torch.where(sigma == 0, kept_noise, sigma)[:, None]
    noisy = mix(clean, noise, level)
    keys = trainee.networks.keys(pool.keys[rows, :frames])
    positions = torch.arange(frames, device=device)
    with torch.autocast(device, torch.bfloat16):
        out = trainee.forward(noisy, token_timesteps(told), _text(trainee, rows), keys, positions, None)
    weight = (sigma > 0)[:, None].expand_as(clean)
    return ((out.float() - (noise - clean)).square() * weight).sum() / weight.sum()


def chunk_loss(trainee: Trainee, rows: Tensor, first: int) -> Tensor:
    """Every chunk noisy at its own sigma, seeing the clean chunks before it; the history is made slightly wrong."""
    pool, device = trainee.pool, trainee.device
    clean = pool.latent[rows].float()
    count, _, frames = clean.shape[:3]
    blocks = torch.tensor(block_of_frames(first, frames), device=device)
    levels = draw_sigmas((count, len(block_starts(first, frames))), device)
    sigma = levels[:, blocks]
    noise = torch.randn_like(clean)
    noisy = mix(clean, noise, sigma[:, None, :, None, None])
    spoil = torch.rand(count, 1, len(blocks), 1, 1, device=device).sub(0.3).clamp(min=0) * HISTORY_NOISE / 0.7
    history = mix(clean, torch.randn_like(clean), spoil)
    keys = trainee.networks.keys(pool.keys[rows])
    positions = torch.arange(frames, device=device)
    with torch.autocast(device, torch.bfloat16):
        out = trainee.forward(
            torch.cat((history, noisy), 2),
            torch.cat((torch.zeros_like(sigma), sigma * 1000), 1),
            _text(trainee, rows),
            torch.cat((keys, keys), 1),
            torch.cat((positions, positions)),
            trainee.masks[first],
        )
    error = (out[:, :, frames:].float() - (noise - clean)).square().mean((1, 3, 4))
    counts = (torch.arange(frames, device=device) >= pool.switch[rows][:, None]).float()
    return (error * counts).sum() / counts.sum()


def _text(trainee: Trainee, rows: Tensor) -> TextRows:
    wording = torch.randint(0, trainee.pool.tokens.shape[1], (len(rows),), device=rows.device)
    encoded, log_count = text_rows(trainee.networks, trainee.pool.tokens[rows, wording])
    return TextRows(encoded, log_count)


def pick_rows(trainee: Trainee, kind: str, first: int) -> Tensor:
    """Clips whose scene changes serve chunks that begin at the change, nothing else."""
    fit = trainee.fit[first if kind == "chunks" else 0]
    return fit[torch.randint(0, len(fit), (BATCHES[kind],), device=fit.device)]


def loss_of(trainee: Trainee, step: int) -> Tensor:
    """The loss of the batch whose turn it is."""
    place = (step * 0.618034) % 1
    kind = "whole" if place < SHARES["whole"] else "long" if place < SHARES["whole"] + SHARES["long"] else "chunks"
    first = 1 + step % 3
    rows = pick_rows(trainee, kind, first)
    if kind == "chunks":
        return chunk_loss(trainee, rows, first)
    return whole_loss(trainee, rows, 12 if kind == "whole" else trainee.pool.latent.shape[2])


def train(trainee: Trainee, drawn: list[Drawn], seconds: float, out: Path, peak: float) -> dict[str, nn.Module]:
    """Train for that long, encoding the rest of the drawn clips on the way; returns the averaged modules."""
    trained = {name: part for name, part in trainee.networks.parts().items() if name != "vae"}
    average = copy.deepcopy(trained)
    parameters = [p for part in trained.values() for p in part.parameters()]
    averaged = [p for part in average.values() for p in part.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=peak, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    start, step, total = time.monotonic(), 0, torch.zeros((), device=trainee.device)
    while (progress := (time.monotonic() - start) / seconds) < 1:
        rate = peak * min(1, (step + 1) / WARM_UP_STEPS) * min(1.0, 1.4 * (1 - progress)) + 1e-6
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = loss_of(trainee, step)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        decay = min(EMA_DECAY, (step + 1) / (step + 10))
        with torch.no_grad():
            torch._foreach_lerp_(averaged, parameters, 1 - decay)
        total += loss.detach()
        step += 1
        if step in EARLY_STEPS:
            save_early(trainee, out, step)
        if step % 4 == 0 and drawn:
            trainee.add(encode(drawn.pop(), trainee.networks, trainee.device))
        if step % 100 == 0:
            clips = len(trainee.pool.keys)
            log.info("step %d at %.0f s: loss %.4f, %d clips", step, progress * seconds, total / 100, clips)
            total.zero_()
    log.info("%d steps", step)
    return average


@torch.no_grad()
def save_early(trainee: Trainee, out: Path, step: int) -> None:
    """Clips of the half-trained model, for the judge to refuse."""
    frames = sample_batch(trainee.networks, trainee.forward, trainee.pool, EARLY_COUNT, step)
    torch.save(frames.cpu(), out / f"early-{step}.part")
    (out / f"early-{step}.part").rename(out / f"early-{step}.pt")


def load_networks(folder: Path, device: str, *, with_transformer: bool = False) -> Networks:
    """The trained autoencoder (and what else is there) from a training folder."""
    networks = build_networks()
    for name, part in networks.parts().items():
        if name == "vae" or with_transformer:
            load_part(part, folder / f"{name}.safetensors")
        part.to(device)
    networks.statistics = read_vae_statistics(folder / "vae.json")
    networks.vae.requires_grad_(False)
    return networks


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("vae", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--clips", type=int, default=20_000)
    parser.add_argument("--first-clips", type=int, default=4_000)
    parser.add_argument("--peak", type=float, default=PEAK_RATE)
    parser.add_argument("--start", type=Path, help="folder of weights to go on from")
    parser.add_argument("--seed", type=int, default=10_000)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d ms %(message)s")
    torch.set_float32_matmul_precision("high")
    networks = load_networks(options.vae, options.device)
    if options.start:
        for name in ("transformer", "text", "keys"):
            load_part(networks.parts()[name], options.start / f"{name}.safetensors")
    drawn = draw_all(options.seed, options.clips)
    log.info("drew %d chunks", len(drawn))
    pool = encode(drawn.pop(), networks, options.device)
    while len(pool.keys) < min(options.first_clips, options.clips) and drawn:
        pool = pool.join(encode(drawn.pop(), networks, options.device))
    log.info("encoded %d clips", len(pool.keys))
    forward = TrainingForward(networks.transformer, compiled=options.device == "cuda")
    masks = {first: teacher_mask(first, pool.latent.shape[2], options.device) for first in (1, 2, 3)}
    trainee = Trainee(networks, forward, pool, options.device, masks)
    trainee.add(None)
    average = train(trainee, drawn, options.seconds, options.out, options.peak)
    for name, part in average.items():
        save_part(part, options.out / f"{name}.safetensors", torch.float32)


if __name__ == "__main__":
    main()
