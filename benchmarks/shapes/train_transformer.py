"""Trains transformer, text encoder and key embedding together by flow matching on encoded clips.

Three kinds of batch take turns: whole clips of 12 latent frames with cells kept clean or noisier as editing
does, the same with 24 latent frames, and chunk after chunk with a clean history as a rollout does.

Run on a GPU: python -m benchmarks.shapes.train_transformer VAE_FOLDER OUT --until 545
"""

from __future__ import annotations

import argparse
import copy
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.shapes.configs import LATENT_SIDE
from benchmarks.shapes.forward import CHUNK_FRAMES, TrainingForward, chunk_mask, token_timesteps
from benchmarks.shapes.masks import draw_masks
from benchmarks.shapes.networks import Networks, build_networks, load_part, save_part
from benchmarks.shapes.pool import (
    LATENT_FRAMES,
    TOKEN_COUNT,
    WORDINGS,
    Drawn,
    Pool,
    draw_all,
    encode,
    near,
    text_rows,
)
from benchmarks.shapes.sampling import SIGMAS, sample_batch
from benchmarks.shapes.vae_statistics import read_vae_statistics
from rushes.backend.models.wan.transformer import TextRows

PEAK_RATE = 1.2e-3
WARM_UP_STEPS = 250
EMA_DECAY = 0.9985
HISTORY_NOISE = 0.12
OBJECT_WEIGHT = 5.0
SHARES = {"whole": 0.40, "long": 0.10, "chunks": 0.50}
BATCHES = {"whole": 192, "long": 96, "chunks": 48}
EARLY_STEPS = (60, 90, 120, 160, 200)
EARLY_COUNT = 96
POLL_S = 0.5

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
        """Take in more clips and list anew which serve what: 0 whole, 1 to 3 chunks by their first size."""
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


def paired_noise(clean: Tensor, template: Tensor) -> Tensor:
    """Noise like clean [B, C, T, H, W], rolled over the torus to where it resembles the template best.

    Everything in the world may start anywhere on the torus, so over all clips the noise stays white; but
    which noise leads where is settled, so that few steps suffice.
    """
    noise = torch.randn_like(clean)
    frames = template.shape[2]
    likeness = torch.fft.rfft2(template) * torch.fft.rfft2(noise[:, :, :frames]).conj()
    scores = torch.fft.irfft2(likeness.sum((1, 2)), s=clean.shape[-2:])
    best = scores.flatten(1).argmax(1)
    side = clean.shape[-1]
    axis = torch.arange(side, device=clean.device)
    rows = (axis - (best // side)[:, None]) % side
    columns = (axis - (best % side)[:, None]) % side
    index = (rows[:, :, None] * side + columns[:, None]).flatten(1)[:, None, None]
    return noise.flatten(3).gather(3, index.expand(-1, *clean.shape[1:3], -1)).view_as(clean)


def whole_loss(trainee: Trainee, rows: Tensor, frames: int) -> Tensor:
    """Whole clips at once; kept cells lie at sigma 0 (or another, lower sigma) and carry no loss at 0."""
    pool, device = trainee.pool, trainee.device
    clean = pool.latent[rows, :, :frames].float()
    mask, is_whole = draw_masks(pool, rows, frames)
    high = draw_sigmas((len(rows), 1, 1, 1), device)
    soft = torch.rand(len(rows), 1, 1, 1, device=device) < 0.12
    low = torch.where(soft, high * torch.rand_like(high), 0.0)
    sigma = torch.where(mask, high, low)
    told = torch.where((sigma == 0) & (torch.rand_like(high) < 0.3), 0.001, sigma)
    place = near(pool.centre[rows, :frames], pool.radius[rows])
    noise = torch.where(
        is_whole.view(-1, 1, 1, 1, 1), paired_noise(clean, clean * place[:, None]), torch.randn_like(clean)
    )
    kept_noise = torch.rand(len(rows), 1, 1, 1, device=device).sub(0.6).clamp(min=0) * 0.15
    level = torch.where(sigma == 0, kept_noise, sigma)[:, None]
    noisy = mix(clean, noise, level)
    keys = trainee.networks.keys(pool.keys[rows, :frames])
    positions = torch.arange(frames, device=device)
    with torch.autocast(device, torch.bfloat16):
        out = trainee.forward(noisy, token_timesteps(told), _text(trainee, rows), keys, positions, None)
    weight = (1 + OBJECT_WEIGHT * pool.shown[rows, :frames]) * (sigma > 0)
    return weighted(out, noise - clean, weight)


def weighted(out: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Mean squared error over cells, weight [B, T, H, W]."""
    error = (out.float() - target).square().mean(1)
    return (error * weight).sum() / weight.sum()


def chunk_loss(trainee: Trainee, rows: Tensor, first: int) -> Tensor:
    """Every chunk noisy at its own sigma, seeing the clean chunks before it, made slightly wrong."""
    pool, device = trainee.pool, trainee.device
    empty = CHUNK_FRAMES - first
    clean = nn.functional.pad(pool.latent[rows].float(), (0, 0, 0, 0, empty, -empty))
    count, _, frames = clean.shape[:3]
    sigma = draw_sigmas((count, frames // CHUNK_FRAMES), device).repeat_interleave(CHUNK_FRAMES, 1)
    place = near(pool.centre[rows, :first], pool.radius[rows])
    begun = nn.functional.pad(clean[:, :, empty:CHUNK_FRAMES] * place[:, None], (0, 0, 0, 0, empty, 0))
    noise = paired_noise(clean, begun)
    noisy = mix(clean, noise, sigma[:, None, :, None, None])
    spoil = torch.rand(count, 1, frames, 1, 1, device=device).sub(0.3).clamp(min=0) * HISTORY_NOISE / 0.7
    history = mix(clean, torch.randn_like(clean), spoil)
    keys = trainee.networks.keys(nn.functional.pad(pool.keys[rows], (0, 0, empty, -empty)))
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
    frame = torch.arange(frames, device=device) - empty
    counts = (frame >= 0) & (frame >= pool.switch[rows][:, None])
    shown = nn.functional.pad(pool.shown[rows], (0, 0, 0, 0, empty, -empty))
    return weighted(out[:, :, frames:], noise - clean, (1 + OBJECT_WEIGHT * shown) * counts[..., None, None])


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
    kind = (
        "whole"
        if place < SHARES["whole"]
        else "long"
        if place < SHARES["whole"] + SHARES["long"]
        else "chunks"
    )
    return loss_of_kind(trainee, kind, 1 + step % 3)


def loss_of_kind(trainee: Trainee, kind: str, first: int) -> Tensor:
    rows = pick_rows(trainee, kind, first)
    if kind == "chunks":
        return chunk_loss(trainee, rows, first)
    return whole_loss(trainee, rows, 12 if kind == "whole" else LATENT_FRAMES)


def train(
    trainee: Trainee, drawn: list[Drawn], seconds: float, out: Path, peak: float, keep_early: bool
) -> dict[str, nn.Module]:
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
        if step in EARLY_STEPS and keep_early:
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


def empty_pool(device: str) -> Pool:
    """Noise in the shape of clips, to compile on."""
    count = 8
    return Pool(
        latent=torch.randn(count, 16, LATENT_FRAMES, 12, 12, device=device).bfloat16(),
        keys=torch.zeros(count, LATENT_FRAMES, 4, device=device),
        tokens=torch.ones(count, WORDINGS, TOKEN_COUNT, device=device, dtype=torch.long),
        centre=torch.zeros(count, LATENT_FRAMES, 2, device=device),
        radius=torch.ones(count, device=device),
        shown=torch.zeros(count, LATENT_FRAMES, LATENT_SIDE, LATENT_SIDE, device=device, dtype=torch.bool),
        switch=torch.zeros(count, device=device, dtype=torch.long),
    )


def warm_up(trainee: Trainee) -> None:
    """Compile all kinds of batch, and log how long each takes afterwards."""
    trainee.add(None)
    for kind in SHARES:
        for repeat in range(4):
            start = time.monotonic()
            loss_of_kind(trainee, kind, 1 + repeat % 3).backward()
            if trainee.device == "cuda":
                torch.cuda.synchronize()
            log.info("%s: %.3f s", kind, time.monotonic() - start)
    for part in trainee.networks.parts().values():
        part.zero_grad(set_to_none=True)


def wait_for(path: Path) -> Path:
    """Returns once the file is there."""
    while not path.exists():
        time.sleep(POLL_S)
    return path


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
    parser.add_argument("--until", type=float, default=545, help="seconds after the start of the process")
    parser.add_argument("--clips", type=int, default=20_000)
    parser.add_argument("--first-clips", type=int, default=4_000)
    parser.add_argument("--peak", type=float, default=PEAK_RATE)
    parser.add_argument("--start", type=Path, help="folder of weights to go on from")
    parser.add_argument("--seed", type=int, default=10_000)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    began = time.monotonic()
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d ms %(message)s")
    torch.set_float32_matmul_precision("high")
    networks = build_networks()
    for name, part in networks.parts().items():
        if options.start and name != "vae":
            load_part(part, options.start / f"{name}.safetensors")
        part.to(options.device)
    drawn = draw_all(options.seed, options.clips)
    log.info("drew %d chunks", len(drawn))
    forward = TrainingForward(networks.transformer, compiled=options.device == "cuda")
    masks = {first: chunk_mask(first, LATENT_FRAMES // CHUNK_FRAMES, options.device) for first in (1, 2, 3)}
    trainee = Trainee(networks, forward, empty_pool(options.device), options.device, masks)
    warm_up(trainee)
    wait_for(options.vae / "vae.json")
    fresh = load_networks(options.vae, options.device)
    networks.vae, networks.statistics = fresh.vae, fresh.statistics
    trainee.pool = encode(drawn.pop(), networks, options.device)
    while len(trainee.pool.keys) < min(options.first_clips, options.clips) and drawn:
        trainee.pool = trainee.pool.join(encode(drawn.pop(), networks, options.device))
    trainee.add(None)
    log.info("encoded %d clips", len(trainee.pool.keys))
    seconds = options.until - (time.monotonic() - began)
    average = train(trainee, drawn, seconds, options.out, options.peak, options.start is None)
    for name, part in average.items():
        save_part(part, options.out / f"{name}.safetensors", torch.float16)
        networks.parts()[name].load_state_dict(part.state_dict())
    with torch.no_grad():
        frames = sample_batch(networks, forward, trainee.pool, 24, 1)
    torch.save(frames.cpu(), options.out / "final.pt")


if __name__ == "__main__":
    main()
