"""What travels along an edge while the graph is lowered: a name in the spec, and its facts.

Values without a `name` are symbolic: the node that consumes them emits their stages, because only
there all facts are known (a prompt needs a model to be encoded, a mask needs a clip to lie on).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rushes.compiler.ir.facts import CheckpointFacts
from rushes.compiler.ir.lowering import Lowering, LoweringError
from rushes.compiler.ir.showing import closest
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
    """One LoRA of a stack. `node_id` is the node that names it."""

    adapter: str
    strength: float
    text_strength: float
    content_id: str
    node_id: str


@dataclass(frozen=True, slots=True)
class AdaptersValue:
    """A stack in chain order. `node_id` is the last node of the chain. May be empty."""

    node_id: str
    entries: tuple[AdapterEntry, ...]

    def stack(self, to: Lowering, model: ModelValue) -> str | None:
        """Emit the stack; None when it is empty, which is the bare model.

        Errors: E_CAPABILITY at the consuming node if the checkpoint takes no adapters; E_ADAPTER at the
        node of each LoRA that is of another family or over the checkpoint's highest rank.
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
        refusals = [refusal for entry in self.entries if (refusal := _misfit(to, entry, model.facts))]
        if refusals:
            raise refusals[0]
        entries = tuple((entry.adapter, entry.strength, entry.text_strength) for entry in self.entries)
        content_ids = tuple(entry.content_id for entry in self.entries)
        attrs: dict[str, Attr] = {"entries": entries, "content_ids": content_ids}
        return to.at(self.node_id).stage("stack_adapters", {}, attrs)["adapters"]


def _misfit(to: Lowering, entry: AdapterEntry, facts: CheckpointFacts) -> LoweringError | None:
    """The error for a LoRA that does not fit, with the nearest that would; None if none is known."""
    adapter = to.target.adapters[entry.adapter]
    if adapter.family not in (None, facts.family):
        expected, given = f"a LoRA of family {facts.family}", f"one of {adapter.family}"
    elif adapter.rank is not None and adapter.rank > facts.adapter_rank_max:
        expected, given = f"a LoRA of rank {facts.adapter_rank_max} or less", f"rank {adapter.rank}"
    else:
        return None
    fitting = [
        other.adapter
        for other in to.target.adapters.values()
        if other.family == facts.family and (other.rank or 0) <= facts.adapter_rank_max
    ]
    return to.at(entry.node_id).error(
        "E_ADAPTER",
        f"{facts.checkpoint} takes {expected}, got {entry.adapter}, {given}",
        param="file",
        expected=expected,
        given=given,
        suggestion=closest(entry.adapter, fitting) or next(iter(sorted(fitting)), None),
    )


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
    frames after the source. `source`: the picture it was designed on, if connected. `frame_count`: of the
    clip whose frames it tells apart; 0 where it is the same in every frame, or for any clip.
    """

    node_id: str
    draw: Callable[[Lowering, Clip], str]
    profile: Callable[[Clip], tuple[tuple[float, float], ...]]
    extends: bool
    source: VideoValue | ImageValue | None
    frame_count: int = 0

    def check_length(self, to: Lowering, clip: Clip) -> None:
        """Errors: E_FRAME_COUNT at the consuming node if the mask was made for a longer video."""
        longest = max(clip.frame_count, clip.source_frame_count)
        if self.frame_count > longest:
            raise to.error(
                "E_FRAME_COUNT",
                f"expected a mask no longer than its video, {longest} frames, got {self.frame_count}",
                param="mask",
                expected=f"a mask of at most {longest} frames",
                given=f"{self.frame_count} frames",
                suggestion=longest,
            )


@dataclass(frozen=True, slots=True)
class LatentValue:
    """Size and length are those of the frames it decodes to, `family` that of the checkpoint that made it."""

    name: str
    family: str
    width_px: int
    height_px: int
    frame_count: int


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
