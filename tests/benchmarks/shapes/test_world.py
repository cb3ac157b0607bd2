"""The procedural world: same scene same pixels, and every attribute can be seen."""

from dataclasses import replace
from random import Random

import pytest
import torch

from benchmarks.shapes.scene import (
    COLOURS,
    GROUNDS,
    HELD_OUT_PERCENT,
    LIGHTS,
    MOTIONS,
    SHAPES,
    SIZES,
    Scene,
    camera_step,
    is_held_out,
    random_scene,
)
from benchmarks.shapes.world import render

BASE = Scene(shape="circle", colour="red", ground="sand", size="large", motion="left", x=40, y=48)
CHOICES = {
    "shape": SHAPES,
    "colour": COLOURS,
    "ground": GROUNDS,
    "size": SIZES,
    "motion": MOTIONS,
    "light": LIGHTS,
}


def test_a_seed_gives_the_same_pixels_and_another_seed_others() -> None:
    first, again, other = (render([random_scene(Random(seed))], 2) for seed in (7, 7, 8))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("name", CHOICES)
def test_every_value_of_an_attribute_renders_differently(name: str) -> None:
    clips = [render([replace(BASE, **{name: value})], 3)[0].float() for value in CHOICES[name]]
    for index, clip in enumerate(clips):
        for other in clips[index + 1 :]:
            assert (clip - other).abs().mean() > 0.5


def test_the_first_key_moves_nothing_and_opposite_keys_cancel() -> None:
    still = render([BASE], 3)
    first_only = render([replace(BASE, keys=(frozenset("d"), frozenset(), frozenset()))], 3)
    cancelling = render([replace(BASE, keys=(frozenset(),) + (frozenset("ws"),) * 2)], 3)
    assert torch.equal(still, first_only)
    assert torch.equal(still, cancelling)
    assert camera_step(frozenset("wd")) == (1, -1)


def test_the_camera_scrolls_ground_and_object_alike_round_the_torus() -> None:
    scene = replace(BASE, motion="still")
    moved = render([replace(scene, keys=(frozenset(), frozenset("d")))], 2)[0]
    assert torch.equal(moved[-1], moved[0].roll(-8, dims=1))


def test_about_fifteen_in_a_hundred_combinations_are_held_out() -> None:
    flags = [is_held_out(a, b, c, d) for a in SHAPES for b in COLOURS for c in GROUNDS for d in MOTIONS]
    assert sum(flags) / len(flags) == pytest.approx(HELD_OUT_PERCENT / 100, abs=0.02)
    random = Random(1)
    for _ in range(50):
        scene = random_scene(random, held_out=False)
        assert not is_held_out(scene.shape, scene.colour, scene.ground, scene.motion)


def test_neon_is_darker_than_plain_and_keeps_the_scene() -> None:
    plain, neon = (render([BASE], 1, style)[0].float() for style in ("plain", "neon"))
    assert neon.mean() < 0.5 * plain.mean()
    assert neon.max() > 150
