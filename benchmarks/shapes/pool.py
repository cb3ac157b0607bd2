"""Encoded clips with their prompts and keys, what the transformer trains on; rendered as needed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from random import Random

import torch
from torch import Tensor
from transformers import T5TokenizerFast

from benchmarks.shapes.configs import LATENT_SIDE
from benchmarks.shapes.networks import Networks
from benchmarks.shapes.prompts import PATTERNS, describe, roughen
from benchmarks.shapes.scene import LATENT_STRIDE, Scene, changed_scene, is_held_out, random_scene
from benchmarks.shapes.tokenizer import TEXT_ROWS, build_tokenizer
from benchmarks.shapes.train_vae import as_input
from benchmarks.shapes.world import (
    MOTION_PX,
    MOTION_STEP,
    RADIUS_PX,
    SECOND_RADIUS_PX,
    camera_path,
    render_batch,
    render_change,
    stack_scenes,
)

LATENT_FRAMES = 24
TOKEN_COUNT = 40
WORDINGS = 4
CHANGE_SHARE = 0.1
DROP_SHARE = 0.1
OMIT_SHARE = 0.04
WORKERS = 12
CELL_PX = 8
MARGIN_PX = 6
CHUNK = 250

Drawn = tuple[list[Scene], list[Scene], list[int], list[list[int]]]


@dataclass(slots=True)
class Pool:
    """N clips. latent [N, 16, 24, 12, 12] bf16; keys [N, 24, 4]; tokens [N, wordings, 40]; centre [N, 24, 2]
    of the object in pixels; radius [N]; shown bool [N, 24, 12, 12], cells near either object; switch [N], the
    latent frame where the scene changes to what the prompt says, or 0.
    """

    latent: Tensor
    keys: Tensor
    tokens: Tensor
    centre: Tensor
    radius: Tensor
    shown: Tensor
    switch: Tensor

    def join(self, other: Pool) -> Pool:
        return Pool(*(torch.cat((getattr(self, f.name), getattr(other, f.name))) for f in fields(self)))


def draw(seed: int, count: int) -> Drawn:
    """Scenes, what they change to, when (0 never), and token rows: `count` of each, wordings in a row."""
    random, tokenizer = Random(seed), build_tokenizer()
    before, after, switches, tokens = [], [], [], []
    for _ in range(count):
        keys_share = 0.65
        scene = random_scene(random, latent_frames=LATENT_FRAMES, held_out=False, keys_share=keys_share)
        later, switch = scene, 0
        if random.random() < CHANGE_SHARE:
            later, switch = _changed(random, scene), random.randint(3, LATENT_FRAMES - 6)
        before.append(scene)
        after.append(later)
        switches.append(switch)
        tokens += tokenise([_wording(later, random) for _ in range(WORDINGS)], tokenizer)
    return before, after, switches, tokens


def _changed(random: Random, scene: Scene) -> Scene:
    while True:
        later = changed_scene(random, scene)
        if not is_held_out(later.shape, later.colour, later.ground, later.motion):
            return later


def _wording(scene: Scene, random: Random) -> str:
    if random.random() < DROP_SHARE:
        return ""
    return roughen(describe(scene, random, patterns=PATTERNS, omit_share=OMIT_SHARE), random)


def tokenise(texts: Sequence[str], tokenizer: T5TokenizerFast) -> list[list[int]]:
    """Rows of TOKEN_COUNT ids, padded with 0."""
    rows = tokenizer(list(texts), max_length=TOKEN_COUNT, truncation=True, padding="max_length").input_ids
    return [list(row) for row in rows]


def draw_all(seed: int, count: int) -> list[Drawn]:
    """`draw` in several processes: chunks of CHUNK clips."""
    seeds = [seed + index for index in range((count + CHUNK - 1) // CHUNK)]
    with ProcessPoolExecutor(WORKERS) as workers:
        return list(workers.map(draw, seeds, [CHUNK] * len(seeds)))


@torch.no_grad()
def encode(drawn: Drawn, networks: Networks, device: str, style: str = "plain", batch: int = 25) -> Pool:
    """Render and encode one drawn chunk."""
    before, after, switches, tokens = drawn
    latents = []
    first = stack_scenes(before, LATENT_FRAMES).to(device)
    second = stack_scenes(after, LATENT_FRAMES).to(device)
    switch = torch.tensor(switches, device=device)
    for start in range(0, len(before), batch):
        rows = slice(start, start + batch)
        if style == "plain" and bool(switch[rows].any()):
            when = torch.where(switch[rows] > 0, switch[rows], LATENT_FRAMES + 1)
            video = render_change(first[rows], second[rows], when)
        else:
            video = render_batch(first[rows], style)
        with torch.autocast(device, torch.bfloat16):
            latent = networks.vae.encode(as_input((video * 255).round().to(torch.uint8)))
        latents.append(networks.normalised(latent.float()).bfloat16())
    step = torch.tensor(MOTION_STEP, device=device, dtype=torch.float32)[first.motion] * MOTION_PX
    frame = torch.arange(LATENT_FRAMES, device=device) * LATENT_STRIDE
    centre = first.position[:, None] + step[:, None] * frame[None, :, None]
    camera = camera_path(first.keys)[:, ::LATENT_STRIDE]
    centre = centre - camera
    radius = torch.tensor(RADIUS_PX, device=device)[first.size]
    second = near(first.second_position[:, None] - camera, torch.full_like(radius, SECOND_RADIUS_PX))
    shown = near(centre, radius) | (second & (first.second_shape >= 0)[:, None, None, None])
    return Pool(
        latent=torch.cat(latents),
        keys=first.keys,
        tokens=torch.tensor(tokens, device=device).view(len(before), WORDINGS, TOKEN_COUNT),
        centre=centre,
        radius=radius,
        shown=shown,
        switch=switch,
    )


def near(centre: Tensor, radius: Tensor) -> Tensor:
    """bool [N, T, 12, 12]: cells within the radius [N] and a margin of the centre [N, T, 2], on the torus."""
    axis = (torch.arange(LATENT_SIDE, device=centre.device) + 0.5) * CELL_PX
    half = LATENT_SIDE * CELL_PX / 2
    dx = torch.remainder(axis - centre[..., 0:1] + half, 2 * half) - half
    dy = torch.remainder(axis - centre[..., 1:2] + half, 2 * half) - half
    return dx[..., None, :] ** 2 + dy[..., :, None] ** 2 < (radius[:, None, None, None] + MARGIN_PX) ** 2


def text_rows(networks: Networks, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Encoded text [B, 40, dim] with zero rows after the end, and log_count [B, 40]: the 512 - n zero rows
    of the full layout are equal, so one stands for all of them."""
    mask = tokens != 0
    encoded = networks.text(input_ids=tokens, attention_mask=mask.long()).last_hidden_state
    count = mask.sum(1, keepdim=True)
    place = torch.arange(tokens.shape[1], device=tokens.device)
    hidden = torch.full_like(place, float("-inf"), dtype=torch.float32).expand(mask.shape)
    log_count = torch.where(mask, 0.0, torch.where(place == count, (TEXT_ROWS - count).float().log(), hidden))
    return encoded * mask[..., None], log_count
