"""Prompts say what the scene shows, in words the tokenizer knows."""

from random import Random

from benchmarks.shapes.prompts import HELD_OUT_PATTERNS, PATTERNS, Reading, describe, read_prompt, roughen
from benchmarks.shapes.scene import random_scene
from benchmarks.shapes.tokenizer import UNKNOWN, build_tokenizer


def test_every_prompt_reads_back_as_its_scene() -> None:
    random = Random(3)
    for _ in range(400):
        scene = random_scene(random, second_share=0.5)
        text = roughen(describe(scene, random, patterns=PATTERNS + HELD_OUT_PATTERNS), random)
        wanted = Reading(
            scene.shape, scene.colour, scene.ground, scene.size, scene.motion, scene.light, scene.second
        )
        assert read_prompt(text) == wanted, text


def test_a_fifth_of_the_sentence_patterns_is_held_out() -> None:
    share = len(HELD_OUT_PATTERNS) / (len(PATTERNS) + len(HELD_OUT_PATTERNS))
    assert share == 0.2
    assert not set(PATTERNS) & set(HELD_OUT_PATTERNS)


def test_known_words_are_one_token_each_and_others_fall_to_characters() -> None:
    tokenizer = build_tokenizer()
    assert len(tokenizer("a large red circle moves left over a blue ground").input_ids) == 11
    tokens = tokenizer.tokenize("a zebra")
    assert tokens[-5:] == ["z", "e", "b", "r", "a"]
    assert UNKNOWN not in tokens
