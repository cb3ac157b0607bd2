"""Measures the shipped model: each sub-command prints a table and can write JSON.

Run: python -m benchmarks.shapes.evaluate generate --count 500 --device cpu --json out.json
Sub-commands: judge, autoencoder, generate, rollout, edit, extend, picture, neon.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import torch
from torch import Tensor

from benchmarks.shapes.judge import Judge, Verdict
from benchmarks.shapes.pool import near
from benchmarks.shapes.prompts import HELD_OUT_PATTERNS, PATTERNS, describe
from benchmarks.shapes.scene import (
    COLOURS,
    LATENT_STRIDE,
    MOTIONS,
    SHAPES,
    SIZES,
    Scene,
    camera_step,
    is_held_out,
    random_keys,
    random_scene,
)
from benchmarks.shapes.studio import Studio
from benchmarks.shapes.style import fit_style_score
from benchmarks.shapes.world import MOTION_PX, MOTION_STEP, RADIUS_PX, render, stack_scenes

CHECKPOINT = Path(__file__).parents[2] / "backend" / "checkpoints" / "shapes"
LATENT_FRAMES = 12
ATTRIBUTES = ("shape", "colour", "ground", "size", "motion", "light")
CHUNK = 50

Shares = dict[str, float]


@dataclass(frozen=True, slots=True)
class Setup:
    """What every sub-command gets."""

    checkpoint: Path
    device: str
    count: int
    seed: int

    def studio(self, adapter: Path | None = None, strength: float = 1.0) -> Studio:
        return Studio(self.checkpoint, self.device, adapter, strength)

    @property
    def neon(self) -> Path:
        return self.checkpoint / "adapters" / "neon.safetensors"


def shares(
    scenes: Sequence[Scene], verdicts: Sequence[Verdict | None], attributes: Sequence[str] = ATTRIBUTES
) -> Shares:
    """Share of clips read right, by attribute; a refused clip is wrong in all. Cameras per latent frame."""
    pairs = list(zip(scenes, verdicts, strict=True))
    out = {
        name: sum(v is not None and getattr(v, name) == getattr(s, name) for s, v in pairs) / len(pairs)
        for name in attributes
    }
    right, total = 0, 0
    for scene, verdict in pairs:
        wanted = camera_of(scene)
        total += len(wanted)
        if verdict is not None:
            right += sum(a == b for a, b in zip(wanted, verdict.camera, strict=True))
    return out | {"camera": right / total, "refused": sum(v is None for v in verdicts) / len(pairs)}


def camera_of(scene: Scene, frames: int = LATENT_FRAMES) -> list[tuple[int, int]]:
    """The way the camera should move in every latent frame after the first."""
    keys = scene.keys or (frozenset[str](),) * frames
    return [camera_step(held) for held in keys[1:frames]]


def second_share(scenes: Sequence[Scene], verdicts: Sequence[Verdict | None]) -> float:
    """Share of clips whose second object, or its absence, was read right."""
    return sum(v is not None and v.second == s.second for s, v in zip(scenes, verdicts, strict=True)) / len(
        scenes
    )


def truths(setup: Setup) -> list[Scene]:
    random = Random(setup.seed)
    return [random_scene(random, latent_frames=LATENT_FRAMES) for _ in range(setup.count)]


def in_parts(
    scenes: Sequence[Scene], work: Callable[[Sequence[Scene]], Tensor], judge: Judge
) -> list[Verdict | None]:
    """Verdicts on what `work` makes of the scenes, a part at a time."""
    out: list[Verdict | None] = []
    for start in range(0, len(scenes), CHUNK):
        out += judge.read_all(work(scenes[start : start + CHUNK]))
    return out


def judge_itself(setup: Setup) -> dict[str, Shares]:
    """On true clips, the same after the autoencoder, noise and blanks."""
    judge, studio, scenes = Judge(setup.device), setup.studio(), truths(setup)
    truth = in_parts(scenes, lambda part: render(part, LATENT_FRAMES), judge)
    coded = in_parts(scenes, lambda part: studio.decode(studio.encode(render(part, LATENT_FRAMES))), judge)
    generator = torch.Generator().manual_seed(setup.seed)
    count = max(8, setup.count // 10)
    noise = torch.randint(0, 256, (count, 9, 96, 96, 3), generator=generator, dtype=torch.uint8)
    blank = torch.randint(0, 256, (count, 1, 1, 1, 3), generator=generator, dtype=torch.uint8).expand_as(
        noise
    )
    refused = {
        name: sum(v is None for v in judge.read_all(clips)) / count
        for name, clips in (("noise", noise), ("blank", blank))
    }
    return {
        "truth": shares(scenes, truth) | {"second": second_share(scenes, truth)},
        "autoencoder": shares(scenes, coded) | {"second": second_share(scenes, coded)},
        "refused": refused,
    }


def autoencoder(setup: Setup) -> dict[str, Shares]:
    """PSNR in dB of held-out clips of 45 frames."""
    studio, random = setup.studio(), Random(setup.seed)
    scores: list[float] = []
    for _ in range(0, setup.count, 10):
        clips = render([random_scene(random, held_out=True) for _ in range(10)], LATENT_FRAMES)
        scores += psnr(studio.decode(studio.encode(clips)), clips).tolist()
    return {"psnr": {"mean": sum(scores) / len(scores), "worst": min(scores)}}


def psnr(a: Tensor, b: Tensor, where: Tensor | None = None) -> Tensor:
    """[B] in dB, of uint8 clips; `where` bool [B, F, H, W] limits it."""
    error = (a.float() - b.float()).square().mean(-1)
    weight = torch.ones_like(error) if where is None else where.float()
    mean = (error * weight).flatten(1).sum(1) / weight.flatten(1).sum(1)
    return 10 * torch.log10(255**2 / mean.clamp(min=1e-6))


def generate(setup: Setup) -> dict[str, Shares]:
    """Whole clips from prompts, by what training has seen of the combination and of the sentence."""
    judge, studio, random = Judge(setup.device), setup.studio(), Random(setup.seed + 1)
    scenes = truths(setup)
    patterns = [random.choice((*PATTERNS, *HELD_OUT_PATTERNS)) for _ in scenes]
    prompts = [
        describe(scene, random, patterns=[pattern]) for scene, pattern in zip(scenes, patterns, strict=True)
    ]
    verdicts: list[Verdict | None] = []
    for start in range(0, len(scenes), CHUNK):
        rows = slice(start, start + CHUNK)
        keys = stack_scenes(scenes[rows], LATENT_FRAMES).keys
        verdicts += judge.read_all(studio.decode(studio.generate(prompts[rows], keys, setup.seed + start)))
    new_scene = [is_held_out(s.shape, s.colour, s.ground, s.motion) for s in scenes]
    new_pattern = [pattern in HELD_OUT_PATTERNS for pattern in patterns]
    table = {"all": shares(scenes, verdicts) | {"second": second_share(scenes, verdicts)}}
    for name, flags in (("held-out combinations", new_scene), ("held-out sentences", new_pattern)):
        rows_in = [row for row, flag in enumerate(flags) if flag]
        if rows_in:
            table[name] = shares([scenes[row] for row in rows_in], [verdicts[row] for row in rows_in])
    return table


def rollout(setup: Setup, chunks: int = 80) -> dict[str, Shares]:
    """Rollouts of 80 chunks, keys changed every 2; the last 10 chunks are read in three windows."""
    judge, studio, random = Judge(setup.device), setup.studio(), Random(setup.seed + 2)
    frames = 3 * chunks
    scenes = []
    for scene in truths(setup):
        sets = random_keys(random, chunks * 3)[:: 3 * 2]
        keys = tuple(sets[(index // 6) % len(sets)] for index in range(frames))
        scenes.append(replace(scene, keys=keys))
    prompts = [describe(scene, random, patterns=PATTERNS) for scene in scenes]
    latent = studio.rollout(prompts, stack_scenes(scenes, frames).keys, setup.seed)
    table: dict[str, Shares] = {}
    for name, starts in (
        ("first 10 chunks", (0, 9, 18)),
        ("last 10 chunks", (frames - 30, frames - 21, frames - 12)),
    ):
        rows, verdicts = [], []
        for start in starts:
            lead = max(0, start - 12)
            clips = studio.decode(latent[:, :, lead : start + 12], batch=4)[
                :, LATENT_STRIDE * (start - lead) :
            ]
            verdicts += judge.read_all(clips)
            rows += [replace(scene, keys=scene.keys[start : start + 12]) for scene in scenes]
        table[name] = shares(rows, verdicts)
    return table


def edit(setup: Setup) -> dict[str, Shares]:
    """A region that follows the object shows the object of another prompt; outside it the source stays."""
    judge, studio, random = Judge(setup.device), setup.studio(), Random(setup.seed + 3)
    sources = [
        replace(
            random_scene(random, latent_frames=LATENT_FRAMES, second_share=0, keys_share=0), size="medium"
        )
        for _ in range(setup.count)
    ]
    targets = [
        replace(
            scene,
            shape=random.choice([name for name in SHAPES if name != scene.shape]),
            colour=random.choice([name for name in COLOURS if name != scene.colour]),
        )
        for scene in sources
    ]
    source = studio.encode(render(sources, LATENT_FRAMES))
    mask = object_mask(sources, margin_px=12).to(setup.device)
    prompts = [describe(scene, random) for scene in targets]
    keys = torch.zeros(len(sources), LATENT_FRAMES, 4)
    latent = studio.generate(prompts, keys, setup.seed, source=source, mask=mask)
    clips, before = studio.decode(latent), studio.decode(source)
    outside = ~pixel_mask(mask.cpu(), clips.shape[1])
    kept = bool((latent == source)[(~mask)[:, None].expand_as(latent)].all())
    table = shares(targets, judge.read_all(clips), ("shape", "colour", "ground", "motion"))
    return {
        "edit": table
        | {"psnr outside": float(psnr(clips, before, outside).mean()), "kept equal": float(kept)}
    }


def object_mask(scenes: Sequence[Scene], margin_px: float) -> Tensor:
    """bool [B, T, 12, 12]: the cells where the object is, with a margin, in each latent frame."""
    batch = stack_scenes(scenes, LATENT_FRAMES)
    step = (
        torch.tensor([MOTION_STEP[MOTIONS.index(s.motion)] for s in scenes]).float()
        * MOTION_PX
        * LATENT_STRIDE
    )
    centre = batch.position[:, None] + step[:, None] * torch.arange(LATENT_FRAMES)[None, :, None]
    radius = torch.tensor([RADIUS_PX[SIZES.index(s.size)] for s in scenes])
    return near(centre, radius + margin_px)


def pixel_mask(mask: Tensor, frames: int) -> Tensor:
    """[B, T, 12, 12] to [B, F, 96, 96], grown by a cell and a latent frame for the decoder's reach."""
    grown = torch.nn.functional.max_pool3d(mask[:, None].float(), 3, 1, 1)[:, 0] > 0
    index = [0 if frame == 0 else 1 + (frame - 1) // LATENT_STRIDE for frame in range(frames)]
    return grown[:, index].repeat_interleave(8, 2).repeat_interleave(8, 3)


def extend(setup: Setup) -> dict[str, Shares]:
    """A true clip of 12 latent frames kept, 12 more made after it."""
    judge, studio, random = Judge(setup.device), setup.studio(), Random(setup.seed + 4)
    scenes = [
        random_scene(random, latent_frames=24, second_share=0, keys_share=0) for _ in range(setup.count)
    ]
    source = studio.encode(render(scenes, LATENT_FRAMES))
    padded = torch.cat((source, torch.zeros_like(source)), 2)
    mask = torch.zeros(len(scenes), 24, 12, 12, dtype=torch.bool, device=setup.device)
    mask[:, LATENT_FRAMES:] = True
    prompts = [describe(scene, random) for scene in scenes]
    keys = torch.zeros(len(scenes), 24, 4)
    latent = studio.generate(prompts, keys, setup.seed, source=padded, mask=mask)
    clips = studio.decode(latent)[:, LATENT_STRIDE * LATENT_FRAMES :]
    return {
        "extension": shares(
            [replace(s, keys=((frozenset[str]()),) * 12) for s in scenes], judge.read_all(clips)
        )
    }


def picture(setup: Setup) -> dict[str, Shares]:
    """Rollouts from one true picture: the first chunks go on with it as the prompt says."""
    judge, studio, random = Judge(setup.device), setup.studio(), Random(setup.seed + 5)
    scenes = [random_scene(random, second_share=0, keys_share=0) for _ in range(setup.count)]
    start = studio.encode(render(scenes, 1))
    prompts = [describe(scene, random) for scene in scenes]
    latent = studio.rollout(prompts, torch.zeros(len(scenes), 13, 4), setup.seed, start=start)
    clips = studio.decode(latent[:, :, :7])
    held = [replace(scene, keys=(frozenset[str](),) * 7) for scene in scenes]
    return {"picture start": shares(held, judge.read_all(clips))}


def neon(setup: Setup) -> dict[str, Shares]:
    """Style score by strength, between plain (0) and true neon (1), and what the judge reads at 1."""
    score, random = fit_style_score(), Random(setup.seed + 6)
    scenes = [random_scene(random, second_share=0) for _ in range(setup.count)]
    prompts = [describe(scene, random) for scene in scenes]
    keys = stack_scenes(scenes, LATENT_FRAMES).keys
    table: Shares = {"true neon": float(score.of(render(scenes, LATENT_FRAMES, "neon")).mean())}
    clips = torch.empty(0)
    for strength in (0.0, 0.25, 0.5, 0.75, 1.0):
        studio = setup.studio(setup.neon, strength)
        clips = studio.decode(studio.generate(prompts, keys, setup.seed))
        table[f"strength {strength}"] = float(score.of(clips).mean())
    read = shares(scenes, Judge(setup.device).read_all(clips), ("shape", "motion", "colour"))
    return {"style score": table, "read at 1": read}


COMMANDS: dict[str, Callable[[Setup], dict[str, Shares]]] = {
    "judge": judge_itself,
    "autoencoder": autoencoder,
    "generate": generate,
    "rollout": rollout,
    "edit": edit,
    "extend": extend,
    "picture": picture,
    "neon": neon,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=[*COMMANDS, "all"])
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    setup = Setup(options.checkpoint, options.device, options.count, options.seed)
    results: dict[str, dict[str, Shares]] = {}
    for name in COMMANDS if options.what == "all" else (options.what,):
        limited = replace(setup, count=min(setup.count, 24)) if name == "rollout" else setup
        results[name] = COMMANDS[name](limited)
        for row, values in results[name].items():
            cells = "  ".join(f"{key} {value:.3f}" for key, value in values.items())
            sys.stdout.write(f"{name:12} {row:24} {cells}\n")
            sys.stdout.flush()
        if options.json:
            options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
