"""The judge on a few true clips, and on what it must refuse."""

from random import Random

import pytest
import torch

from benchmarks.shapes.evaluate import shares
from benchmarks.shapes.judge import Judge
from benchmarks.shapes.scene import random_scene
from benchmarks.shapes.world import render


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge()


def test_true_clips_are_read_right(judge: Judge) -> None:
    random = Random(21)
    scenes = [random_scene(random) for _ in range(16)]
    read = shares(scenes, judge.read_all(render(scenes, 12)))
    assert read.pop("refused") == 0
    assert min(read.values()) >= 15 / 16, read


def test_neon_clips_are_read_by_shape_and_motion(judge: Judge) -> None:
    random = Random(22)
    scenes = [random_scene(random) for _ in range(16)]
    read = shares(scenes, judge.read_all(render(scenes, 12, "neon")), ("shape", "motion"))
    assert min(read["shape"], read["motion"]) >= 15 / 16, read


def test_noise_and_blanks_are_refused(judge: Judge) -> None:
    noise = torch.randint(
        0, 256, (8, 9, 96, 96, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(1)
    )
    blank = torch.full((4, 9, 96, 96, 3), 90, dtype=torch.uint8)
    assert judge.read_all(noise) == [None] * 8
    assert judge.read_all(blank) == [None] * 4


def test_a_frame_count_off_the_lattice_is_an_error(judge: Judge) -> None:
    with pytest.raises(ValueError, match="4k \\+ 1 frames, got 8"):
        judge.read(torch.zeros(8, 96, 96, 3, dtype=torch.uint8))
