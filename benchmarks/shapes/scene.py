"""What a clip of the world shows, as plain data: one `Scene` a clip."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

SHAPES = ("circle", "square", "triangle", "star", "ring", "cross")
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "white")
GROUNDS = ("blue ground", "green ground", "sand", "checkered ground", "brick ground", "dotted ground")
SIZES = ("small", "medium", "large")
MOTIONS = ("left", "right", "up", "down", "still")
LIGHTS = ("day", "night")
KEYS = ("w", "a", "s", "d")

SIDE_PX = 96
FPS = 16
LATENT_STRIDE = 4
MOTION_PX = 2
CAMERA_PX = 2
LATTICE_PX = 8  # where things start; a latent frame moves them by as much
HELD_OUT_PERCENT = 15

Keys = tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """One clip; positions in pixels, `keys` one set per latent frame (() is no camera at all)."""

    shape: str
    colour: str
    ground: str
    size: str = "medium"
    motion: str = "still"
    light: str = "day"
    second: tuple[str, str] | None = None  # (colour, shape), small and at rest
    x: float = 48.0
    y: float = 48.0
    second_x: float = 16.0
    second_y: float = 16.0
    ground_x: int = 0
    ground_y: int = 0
    keys: Keys = ()


def frame_count(latent_frames: int) -> int:
    """Pixel frames of a clip of that many latent frames."""
    return LATENT_STRIDE * (latent_frames - 1) + 1


def is_held_out(shape: str, colour: str, ground: str, motion: str) -> bool:
    """Whether training never sees this combination (15 in 100, by a fixed hash)."""
    digest = hashlib.sha256(f"{shape}|{colour}|{ground}|{motion}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % 100 < HELD_OUT_PERCENT


def camera_step(keys: frozenset[str]) -> tuple[int, int]:
    """Direction (x, y) the camera moves under these keys; opposite keys cancel."""
    return int("d" in keys) - int("a" in keys), int("s" in keys) - int("w" in keys)


def random_keys(random: Random, latent_frames: int) -> Keys:
    """Key sets that stay for 1 to 8 latent frames: none, one key, a pair at right angles, or a clash."""
    out: list[frozenset[str]] = []
    while len(out) < latent_frames:
        out += [_random_key_set(random)] * random.randint(1, 8)
    return tuple(out[:latent_frames])


def _random_key_set(random: Random) -> frozenset[str]:
    kind = random.random()
    if kind < 0.2:
        return frozenset()
    if kind < 0.6:
        return frozenset(random.choice(KEYS))
    if kind < 0.95:
        return frozenset((random.choice("ws"), random.choice("ad")))
    return frozenset(random.sample(KEYS, random.choice((2, 3))))


def random_scene(
    random: Random,
    *,
    latent_frames: int = 12,
    held_out: bool | None = None,
    second_share: float = 0.3,
    keys_share: float = 0.6,
) -> Scene:
    """A scene drawn evenly; `held_out` None takes any combination, True or False only that part."""
    while True:
        scene = _draw(random, second_share)
        combination = (scene.shape, scene.colour, scene.ground, scene.motion)
        if held_out is None or is_held_out(*combination) == held_out:
            break
    if random.random() < keys_share:
        scene = replace(scene, keys=random_keys(random, latent_frames))
    return scene


def _draw(random: Random, second_share: float) -> Scene:
    second = None
    if random.random() < second_share:
        second = (random.choice(COLOURS), random.choice(SHAPES))
    sizes: Sequence[str] = SIZES[1:] if second else SIZES
    x, y = (float(random.randrange(0, SIDE_PX, LATTICE_PX)) for _ in range(2))
    return Scene(
        shape=random.choice(SHAPES),
        colour=random.choice(COLOURS),
        ground=random.choice(GROUNDS),
        size=random.choice(sizes),
        motion=random.choice(MOTIONS),
        light=random.choice(LIGHTS),
        second=second,
        x=x,
        y=y,
        second_x=(x + random.randrange(32, 65, LATTICE_PX)) % SIDE_PX,
        second_y=(y + random.randrange(32, 65, LATTICE_PX)) % SIDE_PX,
        ground_x=random.randrange(0, SIDE_PX, LATTICE_PX),
        ground_y=random.randrange(0, SIDE_PX, LATTICE_PX),
    )


def changed_scene(random: Random, scene: Scene) -> Scene:
    """The same scene with one named attribute changed, as when a prompt changes while a rollout runs."""
    field, values = random.choice(
        (("colour", COLOURS), ("shape", SHAPES), ("motion", MOTIONS), ("ground", GROUNDS), ("light", LIGHTS))
    )
    now = {
        "colour": scene.colour,
        "shape": scene.shape,
        "motion": scene.motion,
        "ground": scene.ground,
        "light": scene.light,
    }
    now[field] = random.choice([value for value in values if value != now[field]])
    return replace(scene, **now)
