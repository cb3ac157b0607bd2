"""Trains the judge: first on true renders, then also on clips through the autoencoder and on clips it must
refuse.

Run on a GPU: python -m benchmarks.shapes.train_judge VAE_FOLDER OUT
It waits for the autoencoder and for clips of the half-trained transformer to appear in VAE_FOLDER.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.shapes.judge import NO_SECOND, JudgeNetwork
from benchmarks.shapes.networks import Networks, save_part
from benchmarks.shapes.sampling import decode
from benchmarks.shapes.scene import random_scene
from benchmarks.shapes.train_transformer import load_networks, wait_for
from benchmarks.shapes.train_vae import as_input
from benchmarks.shapes.world import SceneBatch, render_batch, stack_scenes

LATENT_FRAMES = 4
CLIP_COUNT = 9_000
BATCH = 384
PEAK_RATE = 1.5e-3
NEGATIVE_SHARE = 0.22
EARLY_FOR_TRAINING = (60, 120, 200)

log = logging.getLogger("shapes.judge")


@dataclass(slots=True)
class Clips:
    """frames uint8 [N, F, 96, 96, 3], labels by head [N] (camera [N, T]); is_plain: ground, light count."""

    frames: Tensor
    labels: dict[str, Tensor]
    is_plain: Tensor


def labels_of(batch: SceneBatch) -> dict[str, Tensor]:
    """Class indices by head; cameras per latent frame."""
    keys = batch.keys
    return {
        "shape": batch.shape,
        "colour": batch.colour,
        "ground": batch.ground,
        "size": batch.size,
        "motion": batch.motion,
        "light": batch.light,
        "second_shape": torch.where(batch.second_shape < 0, NO_SECOND, batch.second_shape),
        "second_colour": batch.second_colour,
        "camera_x": (keys[..., 3] - keys[..., 1] + 1).long(),
        "camera_y": (keys[..., 2] - keys[..., 0] + 1).long(),
    }


def render_clips(random: Random, count: int, device: str) -> Clips:
    """True clips, one in six neon."""
    frames, labels, plain = [], [], []
    for start in range(0, count, 100):
        scenes = [
            random_scene(random, latent_frames=LATENT_FRAMES, second_share=0.4, keys_share=0.75)
            for _ in range(100)
        ]
        batch = stack_scenes(scenes, LATENT_FRAMES).to(device)
        style = "neon" if (start // 100) % 6 == 5 else "plain"
        video = (render_batch(batch, style) * 255).round().to(torch.uint8)
        frames.append(video.permute(0, 2, 3, 4, 1).contiguous())
        labels.append(labels_of(batch))
        plain.append(torch.full((100,), style == "plain", device=device))
    joined = {name: torch.cat([one[name] for one in labels]) for name in labels[0]}
    return Clips(torch.cat(frames), joined, torch.cat(plain))


@torch.no_grad()
def through_vae(clips: Clips, networks: Networks) -> Clips:
    """The same clips after the autoencoder."""
    out = []
    for part in clips.frames.split(100):
        with torch.autocast(part.device.type, torch.bfloat16):
            latent = networks.vae.encode(as_input(part.permute(0, 4, 1, 2, 3)))
            out.append(decode(networks, networks.normalised(latent.float())))
    return Clips(torch.cat(out), clips.labels, clips.is_plain)


def corrupt(frames: Tensor) -> Tensor:
    """Light damage that must not change the reading: noise, a slight blur, brightness."""
    x = frames.float()
    count = len(x)
    pick = torch.rand(count, 1, 1, 1, 1, device=x.device)
    x = torch.where(pick < 0.3, x + torch.randn_like(x) * 24 * torch.rand_like(pick), x)
    soft = _blurred(x, 3)
    x = torch.where((pick > 0.3) & (pick < 0.5), soft, x)
    gain = 1 + 0.12 * (torch.rand_like(pick) - 0.5)
    return (x * gain).round().clamp(0, 255).to(torch.uint8)


def _blurred(x: Tensor, width: int) -> Tensor:
    images = x.permute(0, 1, 4, 2, 3).flatten(0, 1)
    padded = F.pad(images, (width // 2,) * 4, mode="circular")
    return F.avg_pool2d(padded, width, 1).unflatten(0, x.shape[:2]).permute(0, 1, 3, 4, 2)


def refused(frames: Tensor) -> Tensor:
    """Clips of nothing made from snippets [B, 5, 96, 96, 3]: noise, blanks, mush, mixtures."""
    x = frames.float()
    count, device = len(x), x.device
    other = x[torch.randperm(count, device=device)]
    kind = torch.randint(0, 9, (count, 1, 1, 1, 1), device=device)
    level = torch.rand(count, 1, 1, 1, 3, device=device) * 255
    size = int(torch.randint(2, 25, ()))
    coarse = F.interpolate(torch.rand(count, 3, size, size, device=device) * 255, (96, 96), mode="bilinear")
    still_noise = coarse.permute(0, 2, 3, 1)[:, None].expand_as(x)
    ramp = torch.linspace(-80, 80, 96, device=device)
    mixtures: Sequence[Tensor] = (
        torch.rand_like(x) * 255,
        level + torch.randn_like(x) * 50 * torch.rand_like(level[..., :1]),
        level.expand_as(x),
        still_noise,
        still_noise * 0.4 + _blurred(x, 25) * 0.6,
        _blurred(_blurred(x, 19), 19),
        0.5 * x + 0.5 * other,
        torch.where(ramp[:, None, None] > 0, x, other),
        level + ramp[:, None].expand(96, 3)
        if bool(torch.rand(()) < 0.5)
        else x[:, torch.randperm(5)] * 0.5 + other * 0.5,
    )
    out = x
    for index, mixture in enumerate(mixtures):
        out = torch.where(kind == index, mixture, out)
    return out.round().clamp(0, 255).to(torch.uint8)


def loss_of(network: JudgeNetwork, sources: Sequence[Clips], negatives: Tensor | None) -> Tensor:
    """Cross-entropy of every head on one batch, and of the refusal on good and bad snippets."""
    clips = sources[int(torch.randint(0, len(sources), ()))]
    device = clips.frames.device
    rows = torch.randint(0, len(clips.frames), (BATCH,), device=device)
    at = torch.randint(1, LATENT_FRAMES, (BATCH,), device=device)
    index = (at * 4)[:, None] + torch.arange(-4, 1, device=device)
    snippets = clips.frames[rows[:, None], index]
    good = corrupt(snippets)
    bad = refused(snippets[: int(BATCH * NEGATIVE_SHARE)])
    if negatives is not None:
        some = negatives[torch.randint(0, len(negatives), (len(bad),), device=device)]
        start = 4 * int(torch.randint(0, (some.shape[1] - 1) // 4, ()))
        bad = torch.cat((bad, some[:, start : start + 5]))
    with torch.autocast(device.type, torch.bfloat16):
        logits = network(torch.cat((good, bad)))
    plain = clips.is_plain[rows].float()
    labels = {name: value[rows] for name, value in clips.labels.items()}
    labels |= {name: labels[name].gather(1, at[:, None])[:, 0] for name in ("camera_x", "camera_y")}
    total = torch.zeros((), device=device)
    for name, target in labels.items():
        each = F.cross_entropy(logits[name][:BATCH].float(), target, reduction="none")
        if name in ("ground", "light"):
            each = each * plain
        if name == "second_colour":
            each = each * (labels["second_shape"] != NO_SECOND)
        total = total + each.mean()
    is_good = torch.cat((torch.ones(BATCH, device=device), torch.zeros(len(bad), device=device)))
    return total + F.binary_cross_entropy_with_logits(logits["valid"][:, 0].float(), is_good)


def train(network: JudgeNetwork, loss: Callable[[], Tensor], seconds: float, peak: float) -> None:
    """Adam for that long, the rate falling to zero."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=peak, weight_decay=0.01)
    start, step = time.monotonic(), 0
    while (progress := (time.monotonic() - start) / seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = peak * min(1, (step + 1) / 100) * min(1.0, 1.3 * (1 - progress)) + 1e-6
        value = loss()
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if step % 200 == 0:
            log.info("step %d: loss %.4f", step, value.detach())
        step += 1
    log.info("%d steps", step)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("vae", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--more-seconds", type=float, default=60)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="judge %(relativeCreated)d ms %(message)s")
    network = JudgeNetwork().to(options.device)
    clips = render_clips(Random(50), CLIP_COUNT, options.device)
    log.info("rendered %d clips", len(clips.frames))
    train(network, lambda: loss_of(network, [clips], None), options.seconds, PEAK_RATE)
    save_part(network, options.out / "judge.safetensors")
    early = [wait_for(options.vae / f"early-{step}.pt") for step in EARLY_FOR_TRAINING]
    negatives = torch.cat([torch.load(path) for path in early]).to(options.device)
    networks = load_networks(options.vae, options.device)
    coded = through_vae(clips, networks)
    log.info("passed the clips through the autoencoder")
    sources = [clips, coded, coded]
    train(network, lambda: loss_of(network, sources, negatives), options.more_seconds, 0.8 * PEAK_RATE)
    save_part(network, options.out / "judge.safetensors")


if __name__ == "__main__":
    main()
