"""A saved ComfyUI file to the prompt its page would send: modes, reroutes, primitives, subgraphs resolved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rushes.compiler.read.comfyui_file import (
    BYPASSED,
    INPUT_SIDE,
    MUTED,
    OUTPUT_SIDE,
    SavedFile,
    SavedGraph,
    SavedNode,
    SavedSubgraph,
)
from rushes.compiler.read.comfyui_widgets import Facts, settle_text, widgets_of

VIRTUAL = frozenset({"Note", "MarkdownNote", "Reroute", "PrimitiveNode"})
DEPTH_LIMIT = 16
PLACED_LIMIT = 20_000
HOP_LIMIT = 2_000
# Two classes the page has a name of its own for, whatever the server says.
_PAGE_TITLES = {name: name for name in ("LTXVConcatAVLatent", "LTXVSeparateAVLatent")}
_PATTERN = re.compile(r"%([^%.\n]+)\.([^%\n]+)%")
_UNFIT = re.compile(r'[/?<>\\:*|"\x00-\x1f\x7f]')

Prompt = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Found:
    """What reaches an input: an output, or a value from a subgraph's instance or a primitive."""

    output: tuple[str, int] | None = None
    value: Any = None
    is_primitive: bool = False


@dataclass(frozen=True, slots=True)
class _Scope:
    """The root graph, or the inside of one instance."""

    prefix: str
    graph: SavedGraph
    definition: SavedSubgraph | None = None
    instance: SavedNode | None = None
    parent: _Scope | None = None
    depth: int = 0

    def node_path(self, node: SavedNode) -> str:
        return self.prefix + node.node_id


class TooLarge(Exception):
    """The instances of a file expand to more nodes than a graph may have."""


@dataclass(slots=True)
class _Converter:
    file: SavedFile
    classes: Mapping[str, Facts]
    names_unknown: bool = False
    prompt: Prompt = field(default_factory=dict)
    scopes: dict[str, _Scope] = field(default_factory=dict)

    def run(self) -> Prompt:
        root = _Scope("", self.file.graph)
        for scope, node in self._active(root):
            if len(self.prompt) >= PLACED_LIMIT:
                raise TooLarge
            self.prompt[scope.node_path(node)] = self._entry(scope, node)
        for entry in self.prompt.values():
            entry["inputs"] = {
                name: value
                for name, value in entry["inputs"].items()
                if not (_is_edge(value) and value[0] not in self.prompt)
            }
        return self.prompt

    def _active(self, scope: _Scope) -> Iterator[tuple[_Scope, SavedNode]]:
        """Nodes that are sent, instances entered, in the order of the page."""
        for node in sorted(scope.graph.nodes.values(), key=lambda one: one.order):
            if node.mode in (MUTED, BYPASSED) or node.class_type in VIRTUAL:
                continue
            inside = self._inside(scope, node)
            if inside is not None:
                yield from self._active(inside)
            elif node.class_type not in self.file.subgraphs:
                yield scope, node

    def _inside(self, scope: _Scope, node: SavedNode) -> _Scope | None:
        definition = self.file.subgraphs.get(node.class_type)
        if definition is None or scope.depth >= DEPTH_LIMIT:
            return None
        prefix = f"{scope.node_path(node)}:"
        if prefix not in self.scopes:
            if len(self.scopes) >= PLACED_LIMIT:
                raise TooLarge
            self.scopes[prefix] = _Scope(prefix, definition.graph, definition, node, scope, scope.depth + 1)
        return self.scopes[prefix]

    def _entry(self, scope: _Scope, node: SavedNode) -> dict[str, Any]:
        facts = self.classes.get(node.class_type)
        inputs = self._unknown(node) if facts is None else self._widgets(scope, node, facts)
        for slot in node.inputs:
            found = None if slot.link is None else self._origin(scope, slot.link, slot.kind)
            if found is None or (found.is_primitive and not slot.widget):
                continue
            inputs[slot.name] = _sent(found.value) if found.output is None else list(found.output)
        if facts is None:
            named = {"class_type": node.class_type} if self.names_unknown else {}
            return {"inputs": inputs, **named, "_meta": {"title": node.title} if node.title else {}}
        title = (
            node.title or _PAGE_TITLES.get(node.class_type) or facts.get("display_name") or node.class_type
        )
        return {"inputs": inputs, "class_type": node.class_type, "_meta": {"title": title}}

    def _unknown(self, node: SavedNode) -> dict[str, Any]:
        values = node.values if isinstance(node.values, tuple) else tuple(node.values.values())
        return {f"UNKNOWN_{at}" if at else "UNKNOWN": _sent(value) for at, value in enumerate(values)}

    def _widgets(self, scope: _Scope, node: SavedNode, facts: Facts) -> dict[str, Any]:
        inputs: dict[str, Any] = {}
        for widget in widgets_of(facts, node.values):
            value = self._overridden(scope, node, widget.name, widget.value)
            if isinstance(value, str):
                if widget.is_text_template:
                    value = settle_text(value)
                if widget.name == "filename_prefix":
                    value = self._named(value)
                if widget.name == "sampler_name":
                    value = value.removeprefix("sample_")
            inputs[widget.name] = _sent(value)
        return inputs

    def _named(self, text: str) -> str:
        """`%Node.widget%` in a file name replaced by that widget's value."""

        def value_of(match: re.Match[str]) -> str:
            for node in self.file.graph.nodes.values():
                if match[1] in (node.search_name, node.title):
                    facts = self.classes.get(node.class_type, {})
                    for widget in widgets_of(facts, node.values):
                        if widget.name == match[2]:
                            return _UNFIT.sub("_", str(widget.value))
            return match[0]

        return _PATTERN.sub(value_of, text)

    def _overridden(self, scope: _Scope, node: SavedNode, widget: str, value: Any) -> Any:
        """The value an old instance holds for a widget inside it, else the widget's own."""
        if scope.instance is None or scope.parent is None:
            return value
        held = self._held(scope.parent, scope.instance)
        return held.get((node.node_id, widget), value)

    def _held(self, scope: _Scope, instance: SavedNode) -> dict[tuple[str, str], Any]:
        """The values of an instance: by ("", input) if exposed, by (inner node, widget) in old files."""
        definition = self.file.subgraphs[instance.class_type]
        values = instance.values if isinstance(instance.values, tuple) else ()
        keys = [("", name) if inner == "-1" else (inner, name) for inner, name in instance.promoted]
        if not keys:
            keys = [
                ("", name) for at, (name, _) in enumerate(definition.inputs) if self._is_typed(definition, at)
            ]
        held = dict(zip(keys, values, strict=False))
        return {
            key: self._overridden(scope, instance, key[1], value) if key[0] == "" else value
            for key, value in held.items()
        }

    def _is_typed(self, definition: SavedSubgraph, slot: int) -> bool:
        """True if an input of a definition leads to a widget."""
        for link in definition.graph.links.values():
            target = definition.graph.nodes.get(link.target)
            if target is None or (link.origin, link.origin_slot) != (INPUT_SIDE, slot):
                continue
            if any(one.link == link.link_id and one.widget for one in target.inputs):
                return True
        return False

    def _origin(self, scope: _Scope, link_id: str, kind: str, hops: int = 0) -> _Found | None:
        """What really feeds the end of a link: through reroutes, bypassed nodes and borders, in or out."""
        is_direct = True
        while hops < HOP_LIMIT:
            hops += 1
            link = scope.graph.links.get(link_id)
            if link is None:
                return None
            step: tuple[_Scope, str] | _Found | None
            if link.origin == INPUT_SIDE:
                step = self._outward(scope, link.origin_slot)
            else:
                step = self._into(scope, scope.graph.nodes.get(link.origin), link.origin_slot, kind)
            if isinstance(step, _Found):
                return step if is_direct or not step.is_primitive else None
            if step is None:
                return None
            origin = scope.graph.nodes.get(link.origin)
            is_direct = is_direct and not (origin is not None and origin.class_type == "Reroute")
            scope, link_id = step
        return None

    def _outward(self, scope: _Scope, slot: int) -> tuple[_Scope, str] | _Found | None:
        """From inside an instance to what is connected to its input, or to the value it holds."""
        if scope.definition is None or scope.instance is None or scope.parent is None:
            return None
        if slot >= len(scope.definition.inputs):
            return None
        name = scope.definition.inputs[slot][0]
        for one in scope.instance.inputs:
            if one.name == name and one.link is not None:
                return scope.parent, one.link
        held = self._held(scope.parent, scope.instance)
        return _Found(value=held["", name]) if ("", name) in held else self._own(scope, slot)

    def _own(self, scope: _Scope, slot: int) -> _Found | None:
        """What the first widget on the wire of an input holds itself."""
        for link in scope.graph.links.values():
            if (link.origin, link.origin_slot) != (INPUT_SIDE, slot) or link.target not in scope.graph.nodes:
                continue
            node = scope.graph.nodes[link.target]
            named = [one.name for one in node.inputs if one.link == link.link_id and one.widget]
            inside = self._inside(scope, node)
            if named and inside is not None:
                return self._own_of_instance(scope, inside, named[0])
            for widget in widgets_of(self.classes.get(node.class_type, {}), node.values) if named else ():
                if widget.name == named[0]:
                    return _Found(value=self._overridden(scope, node, widget.name, widget.value))
        return None

    def _own_of_instance(self, scope: _Scope, inside: _Scope, name: str) -> _Found | None:
        """What an instance holds for one of its inputs, or the first widget inside it."""
        held = {} if inside.instance is None else self._held(scope, inside.instance)
        if ("", name) in held:
            return _Found(value=held["", name])
        inputs = () if inside.definition is None else inside.definition.inputs
        slots = [at for at, (known, _) in enumerate(inputs) if known == name]
        return self._own(inside, slots[0]) if slots else None

    def _into(
        self, scope: _Scope, origin: SavedNode | None, slot: int, kind: str
    ) -> tuple[_Scope, str] | _Found | None:
        if origin is None or origin.mode == MUTED:
            return None
        if origin.mode == BYPASSED:
            link_id = _bypass(origin, slot, kind)
            return None if link_id is None else (scope, link_id)
        if origin.class_type == "Reroute":
            link_id = origin.inputs[0].link if origin.inputs else None
            return None if link_id is None else (scope, link_id)
        if origin.class_type == "PrimitiveNode":
            values = origin.values
            return (
                _Found(value=values[0], is_primitive=True) if isinstance(values, tuple) and values else None
            )
        inside = self._inside(scope, origin)
        if inside is None:
            return _Found(output=(scope.node_path(origin), slot))
        link_id = _leaving(inside, slot)
        return None if link_id is None else (inside, link_id)


def _leaving(scope: _Scope, slot: int) -> str | None:
    """The link that makes an output of an instance; of several, the one its definition names first."""
    links = scope.graph.links
    listed = () if scope.definition is None else scope.definition.output_links[slot : slot + 1]
    known = [link_id for link_ids in listed for link_id in link_ids if link_id in links]
    found = [
        link.link_id for link in links.values() if (link.target, link.target_slot) == (OUTPUT_SIDE, slot)
    ]
    return next(iter([*known, *found]), None)


def _bypass(node: SavedNode, slot: int, kind: str) -> str | None:
    """The link a bypassed node passes on for an output: same place, exact type, then any that fits."""
    made = node.output_kinds[slot] if slot < len(node.output_kinds) else "*"
    inputs = node.inputs
    if kind == "*":
        chosen = inputs[slot] if slot < len(inputs) else (inputs[0] if inputs else None)
        return None if chosen is None else chosen.link
    if slot < len(inputs) and _fits(inputs[slot].kind, made) and _fits(inputs[slot].kind, kind):
        return inputs[slot].link
    exact = [one for one in inputs if one.kind == kind]
    fitting = [one for one in inputs if _fits(one.kind, made) and _fits(one.kind, kind)]
    chosen = next(iter([*exact, *fitting]), None)
    return None if chosen is None else chosen.link


def _fits(one: str, other: str) -> bool:
    if "*" in (one, other):
        return True
    return not {word.upper() for word in one.split(",")}.isdisjoint(word.upper() for word in other.split(","))


def _sent(value: Any) -> Any:
    return {"__value__": value} if isinstance(value, list) else value


def _is_edge(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


def saved_to_prompt(file: SavedFile, classes: Mapping[str, Facts], *, names_unknown: bool = False) -> Prompt:
    """The API-format prompt of a saved file, given the facts of its node classes.

    Ids inside instances are joined by colons. A class without facts is sent without its name, as the page
    does, unless `names_unknown`. Guarantees: no clock, no dice; `%date%` stays as written.
    Errors: TooLarge.
    """
    return _Converter(file, classes, names_unknown).run()
