"""Plain English for scenes, in varied wordings, and the reading of it back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.shapes.scene import COLOURS, GROUNDS, LIGHTS, MOTIONS, SIZES, Scene

SHAPE_WORDS: dict[str, tuple[str, ...]] = {
    "circle": ("circle", "circle", "disc"),
    "square": ("square", "square", "box"),
    "triangle": ("triangle",),
    "star": ("star",),
    "ring": ("ring", "ring", "hoop"),
    "cross": ("cross", "cross", "plus"),
}
COLOUR_WORDS: dict[str, tuple[str, ...]] = {name: (name,) for name in COLOURS} | {
    "purple": ("purple", "purple", "violet")
}
SIZE_WORDS: dict[str, tuple[str, ...]] = {
    "small": ("small", "small", "little", "tiny"),
    "medium": ("", "", "medium", "medium", "medium sized"),
    "large": ("large", "large", "big", "huge"),
}
GROUND_WORDS: dict[str, tuple[str, ...]] = {
    "blue ground": ("a blue ground", "a blue ground", "the blue ground", "blue ground", "a blue floor"),
    "green ground": ("a green ground", "a green ground", "the green ground", "green ground", "grass"),
    "sand": ("sand", "sand", "the sand", "a sandy ground"),
    "checkered ground": (
        "a checkered ground",
        "a checkered ground",
        "the checkered ground",
        "a checkered floor",
    ),
    "brick ground": ("a brick ground", "a brick ground", "the brick ground", "bricks", "a brick floor"),
    "dotted ground": ("a dotted ground", "a dotted ground", "the dotted ground", "dots", "a dotted floor"),
}
_DIRECTIONS = ("left", "right", "up", "down")
_VERBS = ("move", "move", "glide", "slide", "drift", "travel")
_FINITE = {"move": "moves", "glide": "glides", "slide": "slides", "drift": "drifts", "travel": "travels"}
_PARTICIPLE = {
    "move": "moving",
    "glide": "gliding",
    "slide": "sliding",
    "drift": "drifting",
    "travel": "travelling",
}
_STILL_FINITE = ("stays still", "stays still", "rests", "stands still", "does not move")
_STILL_PARTICIPLE = ("staying still", "resting", "standing still", "not moving")
LIGHT_WORDS: dict[str, tuple[str, ...]] = {
    "day": ("", "", "", "by day", "in daylight", "during the day"),
    "night": ("at night", "at night", "by night", "in the dark", "after dark"),
}

# {a} the object with its article, {o} without; {moves} {moving}; {g} the ground; {with} the second object as
# a phrase; {light} a phrase that may be empty.
PATTERNS: tuple[str, ...] = (
    "{a} {moves} over {g} {with} {light}",
    "{a} {moves} over {g} {light} {with}",
    "{a} {moving} over {g} {with} {light}",
    "{a} {with} {moves} over {g} {light}",
    "{a} {moves} across {g} {light} {with}",
    "over {g}, {a} {moves} {with} {light}",
    "over {g} {light}, {a} {moves} {with}",
    "a video of {a} that {moves} over {g} {with} {light}",
    "we see {a} {moving} over {g} {light} {with}",
    "there is {a} over {g} {light}. it {moves} {with}.",
    "{g}, {o}, {moving}, {light}, {with}",
    "{o}, {moving}, {g}, {light}, {with}",
    "{a} over {g}, {moving} {light} {with}",
    "the {o} {moves} on {g} {light} {with}",
    "watch {a} as it {moves} over {g} {light} {with}",
    "{moving} over {g}: {a} {with} {light}",
    "{light}, {a} {moves} over {g} {with}",
    "on {g} {a} {with} {moves} {light}",
    "one {o} {moves} over {g} {light} {with}",
    "a clip with {a}, {moving} on {g} {light} {with}",
)
HELD_OUT_PATTERNS: tuple[str, ...] = (
    "{light} there is {a} {moving} across {g} {with}",
    "we watch the {o} as it {moves} on {g} {with} {light}",
    "{g} {light}, and {a} that {moves} {with}",
    "a clip of one {o}, it {moves} over {g} {light} {with}",
    "on {g}, {moving}: the {o} {with} {light}",
)
SECOND_PATTERNS: tuple[str, ...] = (
    "with {s} beside it",
    "beside {s}",
    "next to {s}",
    "near {s}",
    "and {s} rests nearby",
    "while {s} rests",
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a prompt says; None where it says nothing."""

    shape: str | None
    colour: str | None
    ground: str | None
    size: str
    motion: str
    light: str
    second: tuple[str, str] | None


def describe(
    scene: Scene, random: Random, *, patterns: Sequence[str] = PATTERNS, omit_share: float = 0.0
) -> str:
    """A sentence for the scene; with `omit_share` it may leave out the colour or the ground."""
    article, bare = _object(scene, random, "" if random.random() < omit_share else None)
    pattern = random.choice(patterns)
    ground = random.choice(GROUND_WORDS[scene.ground])
    if random.random() < omit_share:
        pattern, ground = "{a} {moves} {with} {light}", ""
    finite, participle = _motion(scene.motion, random)
    text = pattern.format(
        a=article,
        o=bare,
        moves=finite,
        moving=participle,
        g=ground,
        light=random.choice(LIGHT_WORDS[scene.light]),
        **{"with": _second(scene, random)},
    )
    return tidy(text)


def tidy(text: str) -> str:
    """One space between words, none before punctuation, no punctuation left over at either end."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\s+([,.:])", r"\1", text)
    text = re.sub(r"([,:])(\s*[,.:])+", r"\1", text)
    return text.strip(" ,:")


def roughen(text: str, random: Random) -> str:
    """The same words as people type them: capitals at the start, sometimes a full stop."""
    kind = random.random()
    if kind < 0.3:
        text = text[:1].upper() + text[1:]
    elif kind < 0.35:
        text = text.title()
    if random.random() < 0.2 and not text.endswith("."):
        text += "."
    return text


def vocabulary() -> tuple[str, ...]:
    """Every word a prompt of ours can hold, sorted."""
    tables = (SHAPE_WORDS, COLOUR_WORDS, SIZE_WORDS, GROUND_WORDS, LIGHT_WORDS)
    texts: list[str] = [word for table in tables for words in table.values() for word in words]
    texts += [*PATTERNS, *HELD_OUT_PATTERNS, *SECOND_PATTERNS, *_DIRECTIONS]
    texts += [
        *_FINITE.values(),
        *_PARTICIPLE.values(),
        *_STILL_FINITE,
        *_STILL_PARTICIPLE,
        "to the an neon glowing",
    ]
    words: set[str] = set()
    for text in texts:
        words |= set(re.findall(r"[a-z]+", re.sub(r"\{.*?\}", " ", text)))
    return tuple(sorted(words))


def read_prompt(text: str) -> Reading:
    """The attributes a prompt names; unnamed size is medium, light day, motion still."""
    low = text.lower()
    ground, low = _read_ground(low)
    words = re.findall(r"[a-z]+", low)
    nouns = [(index, name) for index, word in enumerate(words) if (name := _name_of(word, SHAPE_WORDS))]
    objects: list[tuple[str | None, str, str]] = []
    start = 0
    for index, shape in nouns:
        before = words[start:index]
        colour = next((name for word in before if (name := _name_of(word, COLOUR_WORDS))), None)
        size = next((name for word in before if (name := _name_of(word, SIZE_WORDS))), "medium")
        objects.append((colour, shape, size))
        start = index + 1
    motion = next((word for word in words if word in _DIRECTIONS), "still")
    night = any(word in ("night", "dark") for word in words)
    first = objects[0] if objects else (None, None, "medium")
    second = (objects[1][0], objects[1][1]) if len(objects) > 1 and objects[1][0] else None
    return Reading(
        shape=first[1],
        colour=first[0],
        ground=ground,
        size=first[2],
        motion=motion,
        light=LIGHTS[night],
        second=(second[0], second[1]) if second and second[0] else None,
    )


def _object(scene: Scene, random: Random, colour: str | None) -> tuple[str, str]:
    size = random.choice(SIZE_WORDS[scene.size])
    name = random.choice(COLOUR_WORDS[scene.colour]) if colour is None else colour
    bare = " ".join(f"{size} {name} {random.choice(SHAPE_WORDS[scene.shape])}".split())
    return f"{_article(bare)} {bare}", bare


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


def _motion(motion: str, random: Random) -> tuple[str, str]:
    if motion == "still":
        return random.choice(_STILL_FINITE), random.choice(_STILL_PARTICIPLE)
    verb = random.choice(_VERBS)
    way = motion
    if motion in ("left", "right") and random.random() < 0.3:
        way = f"to the {motion}"
    return f"{_FINITE[verb]} {way}", f"{_PARTICIPLE[verb]} {way}"


def _second(scene: Scene, random: Random) -> str:
    if scene.second is None:
        return ""
    colour, shape = scene.second
    size, colour_word = random.choice(("", "small ")), random.choice(COLOUR_WORDS[colour])
    noun = f"{size}{colour_word} {random.choice(SHAPE_WORDS[shape])}"
    return random.choice(SECOND_PATTERNS).format(s=f"{_article(noun)} {noun}")


def _read_ground(text: str) -> tuple[str | None, str]:
    marks = (
        (r"blue (ground|floor)", GROUNDS[0]),
        (r"green (ground|floor)|\bgrass\b", GROUNDS[1]),
        (r"\bsandy? ?(ground|floor)?", GROUNDS[2]),
        (r"checkered (ground|floor)", GROUNDS[3]),
        (r"bricks|brick (ground|floor)", GROUNDS[4]),
        (r"\bdots\b|dotted (ground|floor)", GROUNDS[5]),
    )
    for pattern, name in marks:
        if re.search(pattern, text):
            return name, re.sub(pattern, " ", text, count=1)
    return None, text


def _name_of(word: str, table: dict[str, tuple[str, ...]]) -> str | None:
    return next((name for name, words in table.items() if word in words), None)


__all__ = [
    "HELD_OUT_PATTERNS",
    "MOTIONS",
    "PATTERNS",
    "SIZES",
    "Reading",
    "describe",
    "read_prompt",
    "roughen",
    "tidy",
    "vocabulary",
]
