"""The word-level tokenizer: a piece for each word of the prompts, single characters for all other text."""

from __future__ import annotations

import string

from transformers import T5TokenizerFast

from benchmarks.shapes.prompts import vocabulary

PAD, END, UNKNOWN, SPACE = "<pad>", "</s>", "<unk>", "▁"
TEXT_ROWS = 512


def pieces() -> list[tuple[str, float]]:
    """The vocabulary in id order, with unigram scores."""
    words = vocabulary()
    out = [(PAD, 0.0), (END, 0.0), (UNKNOWN, -100.0), (SPACE, -20.0)]
    out += [(SPACE + word, -1.0) for word in words]
    out += [(SPACE + word.capitalize(), -1.0) for word in words]
    out += [(mark, -2.0) for mark in string.punctuation if mark not in "<>"]
    out += [(character, -20.0) for character in string.ascii_letters + string.digits]
    taken = dict(out)
    return list(taken.items())


def build_tokenizer() -> T5TokenizerFast:
    """T5's fast tokenizer over these pieces; rows are padded to 512 by its users."""
    return T5TokenizerFast(vocab=pieces(), extra_ids=0, model_max_length=TEXT_ROWS)
