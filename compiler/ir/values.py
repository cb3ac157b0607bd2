"""What travels along an edge while the graph is lowered: a name in the spec, and its facts.

Values without a `name` are symbolic: the node that consumes them emits their stages, because only
there all facts are known (a prompt needs a model to be encoded, a mask needs a clip to lie on).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rushes.compiler.ir.facts import CheckpointFacts
from rushes.compiler.ir.lowering import Lowering
from rushes.compiler.ir.spec import Attr


@dataclass(frozen=True, slots=True)
class ModelValue:
    name: str
    facts: CheckpointFacts


@dataclass(frozen=True, slots=True)
class Conditioning:
    """Names of the encoded branches; `negative` is None without guidance."""

    positive: str
    negative: str | None


@dataclass(frozen=True, slots=True)
class PromptValue:
    node_id: str
    text: str
    negative: str

    def encode(
        self, to: Lowering, model: ModelValue, adapters: str | None, *, has_guidance: bool
    ) -> Conditioning:
        """Emit the text encodes of both branches; the negative one only where guidance needs it."""
        reads = {"model": model.name, "adapters": adapters}
        here = to.at(self.node_id)
        positive = here.stage("encode_text", reads, {"text": self.text})["conditioning"]
        if not has_guidance:
            return Conditioning(positive, None)
        attrs: dict[str, Attr] = {"text": self.negative}
        return Conditioning(
            positive, here.stage("encode_text", reads, attrs, label="negative")["conditioning"]
        )


@dataclass(frozen=True, slots=True)
class AdapterEntry:
    adapter: str
    strength: float
    text_strength: float
    content_id: str


@dataclass(frozen=True, slots=True)
class AdaptersValue:
    """A stack in chain order. `node_id` is the last node of the chain. May be empty."""

    node_id: str
    entries: tuple[AdapterEntry, ...]

    def stack(self, to: Lowering, model: ModelValue) -> str | None:
        """Emit the stack; None when it is empty, which is the bare model.

        Errors: E_CAPABILITY at the consuming node if the checkpoint takes no adapters.
        """
        if not self.entries:
            return None
        if "adapters" not in model.facts.capabilities:
            raise to.error(
                "E_CAPABILITY",
                f"expected a checkpoint that takes adapters, got {model.facts.checkpoint}",
                param="adapters",
                expected="adapters",
                given=model.facts.checkpoint,
            )
        entries = tuple((entry.adapter, entry.strength, entry.text_strength) for entry in self.entries)
        content_ids = tuple(entry.content_id for entry in self.entries)
        attrs: dict[str, Attr] = {"entries": entries, "content_ids": content_ids}
        return to.at(self.node_id).stage("stack_adapters", {}, attrs)["adapters"]


@dataclass(frozen=True, slots=True)
class SamplerValue:
    node_id: str
    step_count: int
    guidance_scale: float
    shift: float
    sampler: str


@dataclass(frozen=True, slots=True)
class VideoValue:
    """`frame_count` 0: endless. `fps` is a rate of playback."""

    name: str
    width_px: int
    height_px: int
    frame_count: int
    fps: float


@dataclass(frozen=True, slots=True)
class ImageValue:
    name: str
    width_px: int
    height_px: int


@dataclass(frozen=True, slots=True)
class Clip:
    """The clip a mask is drawn on. Frames from `source_frame_count` on have no source picture."""

    frame_count: int
    fps: float
    source_frame_count: int


@dataclass(frozen=True, slots=True)
class MaskValue:
    """A mask, still without a clip. 0 keeps, 1 regenerates.

    `draw` emits its stages and returns the name of the mask. `profile` returns, per frame of the
    clip, the lowest and the highest value the mask can have there. `extends`: it is made to add
    frames after the source. `source`: the picture it was designed on, if connected.
    """

    node_id: str
    draw: Callable[[Lowering, Clip], str]
    profile: Callable[[Clip], tuple[tuple[float, float], ...]]
    extends: bool
    source: VideoValue | ImageValue | None


@dataclass(frozen=True, slots=True)
class LatentValue:
    name: str


@dataclass(frozen=True, slots=True)
class ActionsValue:
    """`keys`: every control key it can press. `latent_frame_count` 0: as long as someone plays."""

    name: str
    node_id: str
    param: str
    keys: frozenset[str]
    latent_frame_count: int
    is_live: bool


@dataclass(frozen=True, slots=True)
class SessionValue:
    name: str


Value = (
    ModelValue
    | PromptValue
    | AdaptersValue
    | SamplerValue
    | VideoValue
    | ImageValue
    | MaskValue
    | LatentValue
    | ActionsValue
    | SessionValue
)
