"""Trains the autoencoder on renders of the world, then fits the latent statistics and the linear preview.

Run on a GPU: python -m benchmarks.shapes.train_vae OUT --seconds 220
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import time
from pathlib import Path
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.shapes.networks import Networks, build_networks, load_part, save_part, write_json
from benchmarks.shapes.scene import Scene, changed_scene, random_scene
from benchmarks.shapes.vae_statistics import read_vae_statistics
from benchmarks.shapes.world import render_batch, render_change, stack_scenes
from rushes.backend.models.wan.vae import WanVae

LATENT_FRAMES = 5
CLIP_COUNT = 8_000
BATCH = 48
PEAK_RATE = 2e-3
WARM_UP_STEPS = 200
KL_WEIGHT = 2e-5
ABSOLUTE_WEIGHT = 0.5
SQUARED_WEIGHT = 6.0
EDGE_WEIGHT = 0.25
EMA_DECAY = 0.998
EVAL_BATCH = 16

log = logging.getLogger("shapes.vae")


def render_pool(random: Random, count: int, latent_frames: int, device: str) -> Tensor:
    """uint8 [count, 3, F, 96, 96]: 80 % plain clips, the rest neon, and clips whose scene changes."""
    clips = []
    for start in range(0, count, 100):
        scenes = [random_scene(random, latent_frames=latent_frames) for _ in range(min(100, count - start))]
        kind = random.random()
        clips.append(_quantised(_render(scenes, kind, latent_frames, device)))
    return torch.cat(clips)


def _render(scenes: list[Scene], kind: float, latent_frames: int, device: str) -> Tensor:
    batch = stack_scenes(scenes, latent_frames).to(device)
    if kind < 0.8:
        return render_batch(batch)
    if kind < 0.94:
        return render_batch(batch, "neon")
    random = Random(len(scenes))
    after = stack_scenes([changed_scene(random, scene) for scene in scenes], latent_frames).to(device)
    switch = torch.randint(1, latent_frames, (len(scenes),), device=device)
    return render_change(batch, after, switch)


def _quantised(video: Tensor) -> Tensor:
    return (video * 255).round().to(torch.uint8)


def as_input(clips: Tensor) -> Tensor:
    """uint8 to -1..1."""
    return clips.float() / 127.5 - 1


def loss_of(vae: WanVae, video: Tensor) -> tuple[Tensor, Tensor]:
    """The training loss, and the mean squared error alone."""
    mean, log_variance = vae.moments(video)
    latent = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
    out = vae.decode(latent, clamp=False).float()
    error = out - video
    squared = error.square().mean()
    edges = (error[..., 1:] - error[..., :-1]).abs().mean() + (
        error[..., 1:, :] - error[..., :-1, :]
    ).abs().mean()
    divergence = 0.5 * (mean.float().square() + log_variance.float().exp() - 1 - log_variance.float()).mean()
    loss = ABSOLUTE_WEIGHT * error.abs().mean() + SQUARED_WEIGHT * squared + EDGE_WEIGHT * edges
    return loss + KL_WEIGHT * divergence, squared.detach()


def train(vae: WanVae, seconds: float, peak: float, device: str) -> WanVae:
    """Train for that long; returns the averaged weights."""
    pool = render_pool(Random(1), CLIP_COUNT, LATENT_FRAMES, device)
    log.info("rendered %d clips", len(pool))
    step_loss = torch.compile(loss_of, dynamic=False) if device == "cuda" else loss_of
    average = copy.deepcopy(vae)
    trained = [parameter for parameter in vae.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=peak, betas=(0.9, 0.99), weight_decay=1e-3)
    step_loss(vae, as_input(pool[:BATCH]))[0].backward() if device == "cuda" else None
    start, step = time.monotonic(), 0
    while (progress := (time.monotonic() - start) / seconds) < 1:
        rate = peak * min(1, (step + 1) / WARM_UP_STEPS) * min(1.0, 1.15 * (1 - progress)) + 1e-6
        for group in optimizer.param_groups:
            group["lr"] = rate
        rows = torch.randint(0, len(pool), (BATCH,), device=device)
        with torch.autocast(device, torch.bfloat16):
            loss, squared = step_loss(vae, as_input(pool[rows]))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(vae.parameters(), 1.0)
        optimizer.step()
        decay = min(EMA_DECAY, (step + 1) / (step + 10))
        with torch.no_grad():
            torch._foreach_lerp_(list(average.parameters()), list(vae.parameters()), 1 - decay)
        if step % 200 == 0:
            log.info("step %d at %.0f s: loss %.4f, %.2f dB", step, progress * seconds, loss, psnr(squared))
        step += 1
    log.info("%d steps", step)
    return average


def psnr(squared_error: Tensor) -> float:
    """In dB for values in -1..1."""
    return float(10 * torch.log10(4 / squared_error.double()))


@torch.no_grad()
def measure(vae: WanVae, style: str, device: str, count: int = 96) -> tuple[float, float]:
    """PSNR of fresh held-out clips of 45 frames: mean over clips, and the worst clip."""
    random = Random(999)
    scores = []
    for _ in range(0, count, EVAL_BATCH):
        scenes = [random_scene(random, held_out=True) for _ in range(EVAL_BATCH)]
        video = as_input(_quantised(render_batch(stack_scenes(scenes, 12).to(device), style)))
        out = vae.decode(vae.encode(video))
        scores += [psnr(value) for value in (out - video).square().flatten(1).mean(1)]
    return sum(scores) / len(scores), min(scores)


@torch.no_grad()
def fit_statistics(networks: Networks, device: str) -> dict[str, list[list[float]] | list[float]]:
    """Set the channel statistics; returns the linear preview, normalised latent to RGB in 0..1."""
    pool = render_pool(Random(2), 800, 12, device)
    latents, colours = [], []
    for start in range(0, len(pool), 20):
        video = as_input(pool[start : start + 20])
        latents.append(networks.vae.encode(video))
        later = F.avg_pool3d(video[:, :, 1:], (4, 8, 8))
        colours.append(torch.cat((F.avg_pool3d(video[:, :, :1], (1, 8, 8)), later), 2))
    latent, colour = torch.cat(latents), torch.cat(colours) / 2 + 0.5
    networks.statistics = (latent.mean((0, 2, 3, 4)).cpu(), latent.std((0, 2, 3, 4)).cpu())
    cells = networks.normalised(latent).movedim(1, -1).reshape(-1, latent.shape[1])
    cells = torch.cat((cells, torch.ones_like(cells[:, :1])), 1)
    fit = torch.linalg.lstsq(cells, colour.movedim(1, -1).reshape(-1, 3)).solution.T.cpu()
    return {"weight": fit[:, :-1].tolist(), "bias": fit[:, -1].tolist()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=220)
    parser.add_argument("--peak", type=float, default=PEAK_RATE)
    parser.add_argument("--start", type=Path, help="weights to go on from")
    parser.add_argument("--decoder-only", action="store_true", help="keep encoder and statistics as they are")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d ms %(message)s")
    torch.set_float32_matmul_precision("high")
    networks = build_networks()
    if options.start:
        load_part(networks.vae, options.start)
    if options.decoder_only:
        networks.vae.encoder.requires_grad_(False)
        networks.vae.quant_conv.requires_grad_(False)
    networks.vae = train(networks.vae.to(options.device), options.seconds, options.peak, options.device)
    save_part(networks.vae, options.out / "vae.safetensors")
    for parameter in networks.vae.parameters():
        parameter.data = parameter.data.half().float()
    if options.decoder_only:
        networks.statistics = read_vae_statistics(options.start.parent / "vae.json")
        preview = json.loads((options.start.parent / "vae.json").read_text())["preview"]
    else:
        preview = fit_statistics(networks, options.device)
    mean, std = (value.tolist() for value in networks.statistics)
    scores = {style: measure(networks.vae, style, options.device) for style in ("plain", "neon")}
    log.info("PSNR mean, worst: %s; latent std %s", scores, [round(value, 2) for value in std])
    write_json(
        options.out / "vae.json", {"mean": mean, "std": std, "preview": preview, "psnr": scores}
    )


if __name__ == "__main__":
    main()
