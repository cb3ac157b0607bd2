"""A ComfyUI prompt to rushes.workflow/1: each class that has an equal here is read by a function of its own.

A wire carries what is known of it (a text, a size, one of our sockets); a node of ours is written where all
of it meets. What has no equal is reported with its reason, and so is what needed it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import UnionType
from typing import Any, TypeGuard, TypeVar

from rushes.compiler.ir.showing import label, show
from rushes.compiler.read.coverage import Coverage, Covered, Source

SEED_LIMIT = 2**53
Prompt = Mapping[str, Mapping[str, Any]]
End = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Model:
    """`adapters`: the socket the last LoRA of the chain gives out. `shift` None: the file names none."""

    end: End
    adapters: End | None = None
    shift: float | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A text encoder or autoencoder: it comes with the checkpoint here."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Pictures or a clip. `fps` None: that of its source."""

    end: End
    is_video: bool
    fps: float | None = None


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    node_id: str
    start: Frames | None = None


@dataclass(frozen=True, slots=True)
class Canvas:
    """An empty latent."""

    width_px: int
    height_px: int
    frame_count: int
    start: Frames | None = None


@dataclass(frozen=True, slots=True)
class Mask:
    end: End


@dataclass(frozen=True, slots=True)
class Solid:
    """A mask of one value, drawn only where it is used."""

    value: float
    width_px: int
    height_px: int
    node_id: str


@dataclass(frozen=True, slots=True)
class SourceLatent:
    """A latent made of a clip, to be edited under a mask, or whole."""

    frames: Frames
    mask: Mask | Solid | None = None


@dataclass(frozen=True, slots=True)
class Sampled:
    node_id: str


@dataclass(frozen=True, slots=True)
class Scalar:
    value: Any


@dataclass(frozen=True, slots=True)
class SourceFps:
    """The rate of a loaded clip, known only where it is opened."""


@dataclass(frozen=True, slots=True)
class Guider:
    model: Model
    positive: Text
    negative: Text | None
    cfg: float


@dataclass(frozen=True, slots=True)
class Sigmas:
    scheduler: str
    step_count: int
    denoise: float


@dataclass(frozen=True, slots=True)
class Settings:
    """Sampling params of the vLLM-Omni pack; None: not sent."""

    step_count: int | None = None
    guidance_scale: float | None = None
    seed: int | None = None
    shift: float | None = None


@dataclass(frozen=True, slots=True)
class RemoteLora:
    file: str
    strength: float
    node_id: str


@dataclass(frozen=True, slots=True)
class LatentEdit:
    source: Frames | None
    mask: Mask | Solid | None


@dataclass(frozen=True, slots=True)
class Own:
    """A socket of ours, of a node of our pack."""

    end: End


@dataclass(frozen=True, slots=True)
class Nothing:
    """An output without an equal."""

    reason: str


Known = (
    Model
    | Part
    | Frames
    | Text
    | Canvas
    | Mask
    | Solid
    | SourceLatent
    | Sampled
    | Scalar
    | SourceFps
    | Guider
    | Sigmas
    | Settings
    | RemoteLora
    | LatentEdit
    | Own
    | Nothing
)
K = TypeVar("K", bound=Known)


class NoEqual(Exception):
    """A node cannot be mapped; says why, and what comes nearest."""

    def __init__(self, reason: str, nearest: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.nearest = nearest


@dataclass(slots=True)
class Writing:
    """The workflow as far as it is written, and the wires read so far."""

    prompt: Prompt
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: dict[str, dict[str, Any]] = field(default_factory=dict)
    wires: dict[str, tuple[Known, ...]] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)  # our node: the node it was made for
    rates: dict[str, float] = field(default_factory=dict)  # our node: the rate its frames are played at


@dataclass(slots=True)
class Reading:
    """One node of the prompt: what it is given, and what is written for it."""

    writing: Writing
    node_id: str
    class_type: str
    inputs: Mapping[str, Any]
    title: str | None = None
    made: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)

    def changed(self, reason: str) -> None:
        self.changes.append(reason)

    def find(self, name: str, kind: type[K] | UnionType) -> K | None:
        """What is wired to an input; None if nothing is. Errors: NoEqual for a wire of another kind."""
        given = self.inputs.get(name)
        if not is_edge(given):
            return None
        wires = self.writing.wires.get(given[0], ())
        wire = wires[given[1]] if given[1] < len(wires) else None
        if isinstance(wire, kind):
            return wire
        reason = f": {wire.reason}" if isinstance(wire, Nothing) else ", which has no equal here"
        if wire is not None and not isinstance(wire, Nothing):
            reason = ", which makes something else here"
        raise NoEqual(f"its {name} comes from {label(given[0])}{reason}")

    def need(self, name: str, kind: type[K]) -> K:
        wire = self.find(name, kind)
        if wire is None:
            raise NoEqual(f"its {name} is not connected")
        return wire

    def either(self, name: str, kind: type[K], other: type[Known]) -> K | Known | None:
        """What is wired to an input that takes two kinds."""
        try:
            return self.find(name, kind)
        except NoEqual:
            return self.find(name, other)

    def end(self, name: str) -> End:
        """The socket of ours that an input is wired to. Errors: NoEqual if what is wired has none."""
        wire: Own | Model | Frames | Mask | None = self.find(name, Own | Model | Frames | Mask)
        if wire is None:
            raise NoEqual(f"its {name} is not connected")
        return wire.end

    def number(self, name: str, default: float) -> float:
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e18:
            raise NoEqual(f"expected a number for {name}, got {show(value)}")
        return float(value)

    def whole(self, name: str, default: int) -> int:
        value = self._value(name, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or abs(value) > 2**64
            or value != int(value)
        ):
            raise NoEqual(f"expected a whole number for {name}, got {show(value)}")
        return int(value)

    def text(self, name: str, default: str = "") -> str:
        value = self._value(name, default)
        if not isinstance(value, str):
            raise NoEqual(f"expected text for {name}, got {show(value)}")
        return value

    def _value(self, name: str, default: Any) -> Any:
        given = self.inputs.get(name, default)
        return self.need(name, Scalar).value if is_edge(given) else given

    def seed(self, name: str) -> int:
        seed = self.whole(name, 0)
        if not 0 <= seed < SEED_LIMIT:
            self.changed(f"seed {seed} is over 2^53 here; its remainder {seed % SEED_LIMIT} is used")
        return seed % SEED_LIMIT

    def write(
        self,
        type_id: str,
        params: Mapping[str, Any],
        reads: Mapping[str, End | None] | None = None,
        *,
        suffix: str = "",
    ) -> str:
        """Write a node of ours; returns its id, which is that of the node read, and a suffix."""
        node_id = f"{self.node_id}{suffix}"
        node: dict[str, Any] = {"type": type_id, "version": 1, "params": dict(params)}
        if self.title and not suffix:
            node["title"] = self.title
        self.writing.nodes[node_id] = node
        self.writing.places[node_id] = self.node_id
        self.made.append(node_id)
        for socket, end in (reads or {}).items():
            if end is not None:
                self.writing.edges[f"{node_id}-{socket}"] = {"from": list(end), "to": [node_id, socket]}
        return node_id


def _drop(reading: Reading) -> None:
    writing = reading.writing
    for node_id in reading.made:
        del writing.nodes[node_id], writing.places[node_id]
    made = set(reading.made)
    for edge_id in [one for one, edge in writing.edges.items() if edge["to"][0] in made]:
        del writing.edges[edge_id]


def is_edge(value: object) -> TypeGuard[list[Any]]:
    """True for `[node id, slot]`."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], int)
        and not isinstance(value[1], bool)
        and value[1] >= 0
    )


Handler = Callable[[Reading], tuple[Known, ...]]


@dataclass(frozen=True, slots=True)
class Mapped:
    """The graph of the workflow, its coverage, and for each node of ours the one it was made for."""

    nodes: Mapping[str, dict[str, Any]]
    edges: Mapping[str, dict[str, Any]]
    coverage: Coverage
    places: Mapping[str, str]


def map_prompt(prompt: Prompt, handlers: Mapping[str, Handler], source: Source) -> Mapped:
    """Read every node after what feeds it; nodes in a circle have no equal."""
    writing = Writing(prompt)
    covered: dict[str, Covered] = {}
    for node_id in _ordered(prompt):
        covered[node_id] = _read(writing, node_id, handlers)
    for node_id, node in prompt.items():
        if node_id not in covered:
            reason = "it feeds itself, over other nodes or directly"
            covered[node_id] = Covered(node_id, _class_of(node), "unmapped", (), (reason,))
    coverage = Coverage(source, tuple(covered[node_id] for node_id in sorted(covered, key=_by_number)))
    return Mapped(writing.nodes, writing.edges, coverage, writing.places)


def _by_number(node_id: str) -> tuple[int, str]:
    return (len(node_id), node_id) if node_id.isdecimal() else (1_000, node_id)


def _class_of(node: Mapping[str, Any]) -> str:
    class_type = node.get("class_type")
    return class_type if isinstance(class_type, str) else ""


def _read(writing: Writing, node_id: str, handlers: Mapping[str, Handler]) -> Covered:
    node = writing.prompt[node_id]
    class_type, inputs, meta = _class_of(node), node.get("inputs"), node.get("_meta")
    handler = handlers.get(class_type)
    if handler is None:
        nearest = nearest_type(class_type)
        reason = "no node here does the same" if class_type else "its class is not named"
        return Covered(node_id, class_type, "unmapped", (), (reason,), nearest)
    title = meta.get("title") if isinstance(meta, Mapping) else None
    given = inputs if isinstance(inputs, Mapping) else {}
    shown = title if isinstance(title, str) and title != class_type and len(title) <= 200 else None
    reading = Reading(writing, node_id, class_type, given, shown)
    try:
        writing.wires[node_id] = handler(reading)
    except NoEqual as found:
        _drop(reading)
        return Covered(node_id, class_type, "unmapped", (), (found.reason,), found.nearest)
    made, changes = tuple(reading.made), tuple(reading.changes)
    return Covered(node_id, class_type, "changed" if changes else "mapped", made, changes)


def _ordered(prompt: Prompt) -> Iterator[str]:
    """Node ids, each after those that feed it; those in a circle, or behind one, never."""
    waiting: dict[str, int] = {}
    readers: dict[str, list[str]] = {node_id: [] for node_id in prompt}
    for node_id, node in prompt.items():
        inputs = node.get("inputs")
        values = inputs.values() if isinstance(inputs, Mapping) else ()
        feeds = {value[0] for value in values if is_edge(value) and value[0] in prompt}
        waiting[node_id] = len(feeds)
        for feed in feeds:
            readers[feed].append(node_id)
    ready = sorted(
        (node_id for node_id, count in waiting.items() if count == 0), key=_by_number, reverse=True
    )
    while ready:
        node_id = ready.pop()
        yield node_id
        for reader in sorted(readers[node_id], key=_by_number, reverse=True):
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)


_NEAREST = (
    ("lora", "lora"),
    ("unloadall", None),
    ("savevideo", "save_video"),
    ("videocombine", "save_video"),
    ("saveanimated", "save_video"),
    ("loadvideo", "load_video"),
    ("loadimage", "load_image"),
    ("saveimage", "save_image"),
    ("preview", "preview"),
    ("checkpoint", "load_model"),
    ("unetloader", "load_model"),
    ("modelloader", "load_model"),
    ("inpaint", "edit_video"),
    ("temporalmask", "temporal_mask"),
    ("mask", "latent_mask"),
    ("textencode", "prompt"),
    ("prompt", "prompt"),
    ("imagetovideo", "generate_video"),
    ("imgtovideo", "generate_video"),
    ("texttovideo", "generate_video"),
    ("generatevideo", "generate_video"),
    ("firstlastframe", "generate_video"),
    ("emptylatent", "generate_video"),
    ("latentvideo", "generate_video"),
    ("ksampler", "generate_video"),
    ("samplercustom", "generate_video"),
    ("sampler", "sampler_settings"),
    ("scheduler", "sampler_settings"),
    ("guider", "sampler_settings"),
    ("modelsampling", "sampler_settings"),
    ("lingbot", "streaming_rollout"),
    ("world", "streaming_rollout"),
)


def nearest_type(class_type: str) -> str | None:
    """The node type here that comes closest to a class, by its name."""
    plain = "".join(letter for letter in class_type.lower() if letter.isalnum())
    for part, type_id in _NEAREST:
        if part in plain:
            return type_id
    names = {type_id.replace("_", ""): type_id for _, type_id in _NEAREST if type_id is not None}
    close = difflib.get_close_matches(plain[:64], names, n=1, cutoff=0.75)
    return names[close[0]] if close else None


def with_shift(model: Model, shift: float) -> Model:
    return replace(model, shift=shift)
