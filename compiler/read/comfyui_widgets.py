"""Which widgets a node class of ComfyUI has, in which order, and the values a file gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Facts = Mapping[str, Any]  # what GET /object_info/{class} says of a class

_TYPED = frozenset(
    {
        "INT",
        "FLOAT",
        "BOOLEAN",
        "STRING",
        "COMBO",
        "MARKDOWN",
        "TEXTAREA",
        "COLOR",
        "COLORS",
        "CURVE",
        "RANGE",
        "CHART",
        "GALLERIA",
        "PAINTER",
        "BOUNDING_BOX",
        "BOUNDING_BOXES",
        "IMAGECOMPARE",
        "IMAGEUPLOAD",
        "AUDIO_UI",
        "AUDIOUPLOAD",
        "AUDIO_RECORD",
        "WEBCAM",
        "LOAD_3D",
        "COMPOSITOR",
    }
)
_WITH_PICTURE = ("SaveGLB", "Preview3D")  # the page adds a widget for the picture it draws
_DYNAMIC = "COMFY_DYNAMICCOMBO_V3"
_NESTING = 8
_EMPTY: Mapping[str, Any] = {"INT": 0, "FLOAT": 0, "BOOLEAN": False, "STRING": "", "IMAGECOMPARE": ["", ""]}


@dataclass(frozen=True, slots=True)
class Widget:
    """One value that is sent. `is_text_template`: its text may hold choices and comments."""

    name: str
    kind: str
    value: Any
    is_text_template: bool = False


@dataclass(slots=True)
class _Values:
    """Values by position; by name where the file has names. Used up ones are gone, extra ones ignored."""

    values: Sequence[Any] | Mapping[str, Any]
    position: int = 0

    def take(self, name: str, default: Any) -> Any:
        if isinstance(self.values, Mapping):
            return self.values.get(name, default)
        self.position += 1
        return self.values[self.position - 1] if self.position <= len(self.values) else default


def widgets_of(facts: Facts, values: Sequence[Any] | Mapping[str, Any]) -> Iterator[Widget]:
    """The widgets of a node in the order of the page, each with its value or its default."""
    taken = _Values(values)
    yield from _section(facts, "", taken, 0)
    class_type = facts.get("name")
    if class_type in _WITH_PICTURE:
        yield Widget("image", "STRING", taken.take("image", ""))
    if class_type == "CustomCombo" and isinstance(values, Sequence):
        yield Widget("index", "INT", taken.take("index", 0))
        options = range(1, max(0, len(values) - 2) + 1)
        yield from (Widget(f"option{number}", "STRING", taken.take("option", "")) for number in options)


def _section(facts: Facts, prefix: str, values: _Values, depth: int) -> Iterator[Widget]:
    inputs = facts.get("input")
    for name, kind, options in input_specs(facts if isinstance(inputs, Mapping) else {"input": facts}):
        full = prefix + name
        if options.get("forceInput") or (kind != _DYNAMIC and kind not in _TYPED):
            continue
        value = values.take(full, _default(kind, options))
        if kind == _DYNAMIC:
            yield Widget(full, kind, value)
            yield from _chosen(full, options, value, values, depth)
            continue
        if kind == "COMBO" and value is None:
            value = _default(kind, options)
        yield Widget(full, kind, value, bool(options.get("dynamicPrompts")))
        if _has_control(name, kind, options, depth):
            values.take(f"{full}.control", None)


def input_specs(facts: Facts) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Name, type and options of every input that can be shown: required ones first, then optional ones."""
    inputs = facts.get("input")
    order = facts.get("input_order")
    if not isinstance(inputs, Mapping):
        return
    for section in ("required", "optional"):
        found = inputs.get(section)
        if not isinstance(found, Mapping):
            continue
        names = order.get(section) if isinstance(order, Mapping) else None
        for name in names if isinstance(names, list) else list(found):
            spec = found.get(name)
            if isinstance(spec, list) and spec:
                options = spec[1] if len(spec) > 1 and isinstance(spec[1], Mapping) else {}
                kind = "COMBO" if isinstance(spec[0], list) else str(options.get("widgetType") or spec[0])
                choices = {"options": spec[0]} if isinstance(spec[0], list) else {}
                yield str(name), kind, {**choices, **options}


def _chosen(
    name: str, options: Mapping[str, Any], value: Any, values: _Values, depth: int
) -> Iterator[Widget]:
    """The widgets that come with the chosen option of a dynamic choice."""
    for option in options.get("options", ()):
        if isinstance(option, Mapping) and option.get("key") == value and depth < _NESTING:
            inputs = option.get("inputs")
            if isinstance(inputs, Mapping):
                yield from _section({"input": inputs}, f"{name}.", values, depth + 1)


def _has_control(name: str, kind: str, options: Mapping[str, Any], depth: int) -> bool:
    """True where a widget "control after generate" follows; it takes a place and is not sent."""
    if depth == 0 and kind == "INT" and name in ("seed", "noise_seed"):
        return True
    return kind in ("INT", "FLOAT", "COMBO") and bool(options.get("control_after_generate"))


def _default(kind: str, options: Mapping[str, Any]) -> Any:
    if "default" in options:
        return options["default"]
    choices = options.get("options")
    if kind in ("COMBO", _DYNAMIC) and isinstance(choices, list) and choices:
        first = choices[0]
        return first.get("key") if isinstance(first, Mapping) else first
    return _EMPTY.get(kind)


_COMMENT = re.compile(r"/\*.*?\*/|(?<![\\:])//[^\n]*", re.DOTALL)


def settle_text(text: str) -> str:
    """A text template without comments, with the first of every `{a|b}`; a backslash keeps what follows.

    The page draws at random; a compiler may not, so a file gives the same prompt every time.
    """
    settled, _ = _alternatives(_COMMENT.sub("", text), 0, is_inside=False)
    return settled


def _alternatives(text: str, at: int, *, is_inside: bool, depth: int = 0) -> tuple[str, int]:
    """Text up to the end of this `{...}`, its first alternative only; and where it ends."""
    parts = [""]
    while at < len(text):
        mark = text[at]
        if mark == "\\" and at + 1 < len(text) and text[at + 1] in "{}|\\":
            parts[-1] += text[at + 1]
            at += 2
        elif mark == "{" and depth < 50:
            inner, at = _alternatives(text, at + 1, is_inside=True, depth=depth + 1)
            parts[-1] += inner
        elif is_inside and mark == "}":
            return parts[0], at + 1
        elif is_inside and mark == "|":
            parts.append("")
            at += 1
        else:
            parts[-1] += mark
            at += 1
    return parts[0], at
