from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.spec import Attr
from rushes.compiler.ir.values import Clip, MaskValue, VideoValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param

Span = tuple[float, float]  # seconds
FrameRange = tuple[int, int, float]  # first frame, one past the last, mask value
EPSILON = 1e-6


@dataclass(frozen=True, kw_only=True)
class TemporalMask(NodeType):
    """Choose frames: some of the source are kept, the others are made anew.

    - continuation: keep the beginning, make the rest anew.
    - extension: keep the whole source, make the frames added after it.
    - keep_ranges: keep the listed seconds.
    - bridge: keep both ends, make the middle anew.

    How much the first and last mode keep is `keep_s`, or where that is 0 `preserve_fraction`. A model
    keeps whole latent frames only; where kept frames are lost to that, the compiler says which.
    """

    type_id = "temporal_mask"
    title = "Temporal mask"
    inputs: ClassVar = {
        "source": Socket(
            (SocketType.VIDEO,), "The clip whose frames are kept; that of the edit if absent.", optional=True
        )
    }
    outputs: ClassVar = {"mask": Socket((SocketType.MASK,), "The frames.")}

    mode: str = param(
        "continuation", choices=("continuation", "extension", "keep_ranges", "bridge"), doc="What is kept."
    )
    keep_s: float = param(
        0.0,
        ge=0.0,
        le=3600.0,
        step=0.1,
        unit="s",
        widget="number",
        doc="Seconds to keep (bridge: at each end). 0: by share.",
    )
    preserve_fraction: float = param(
        0.5, ge=0.0, le=1.0, step=0.05, doc="Share of the source to keep (bridge: half of it at each end)."
    )
    ranges: str = param(
        "0-1", max_length=4000, unit="s", doc="Seconds to keep, as 0-1, 2.5-3: from the first to the second."
    )
    value: float = param(1.0, ge=0.0, le=1.0, step=0.05, doc="Mask of the frames that are not kept.")

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        source = inputs.find("source", VideoValue)
        if source is not None and source.frame_count == 0:
            raise to.error("E_ENDLESS", "the source must have an end, got an endless rollout", param="source")
        kept_seconds = self._kept_seconds(to) if self.mode == "keep_ranges" else ()
        node_id = to.node_id

        def frames_of(clip: Clip) -> int:
            return clip.source_frame_count if source is None else source.frame_count

        def ranges_on(clip: Clip) -> tuple[FrameRange, ...]:
            return self._ranges(clip, min(frames_of(clip), clip.frame_count), kept_seconds)

        def draw(at: Lowering, clip: Clip) -> str:
            self._check_times(at.at(node_id), max(frames_of(clip), clip.frame_count), clip.fps, kept_seconds)
            attrs: dict[str, Attr] = {
                "ranges": ranges_on(clip),
                "other_value": self.value,
                "frame_count": clip.frame_count,
            }
            return at.at(node_id).stage("temporal_mask", {}, attrs)["mask"]

        def profile(clip: Clip) -> tuple[tuple[float, float], ...]:
            values = [self.value] * clip.frame_count
            for first, end, value in ranges_on(clip):
                values[first:end] = [value] * (end - first)
            return tuple((value, value) for value in values)

        made_for = 0 if source is None else source.frame_count
        return {"mask": MaskValue(node_id, draw, profile, self.mode == "extension", source, made_for)}

    def _check_times(self, to: Lowering, frames: int, fps: float, kept_seconds: tuple[Span, ...]) -> None:
        """Errors: E_PARAM_RANGE for times after the end of the video, with the nearest that lie in it."""
        end_s = int(frames / fps * 1000) / 1000
        late = [end for _, end in kept_seconds if end * fps > frames + 1]
        if late:
            inside = [(start, min(end, end_s)) for start, end in kept_seconds if start < end_s]
            nearest = ", ".join(f"{start:g}-{end:g}" for start, end in inside)
            raise to.error(
                "E_PARAM_RANGE",
                f"the video ends at {end_s:g} s, got a range up to {late[0]:g} s",
                param="ranges",
                expected=f"times up to {end_s:g} s",
                given=f"{late[0]:g} s",
                suggestion=nearest,
            )
        if self.mode in ("continuation", "bridge") and self.keep_s * fps > frames + 1:
            raise to.error(
                "E_PARAM_RANGE",
                f"the video has {end_s:g} s, got {self.keep_s:g} s to keep",
                param="keep_s",
                expected=f"at most {end_s:g} s",
                given=f"{self.keep_s:g} s",
                suggestion=end_s,
            )

    def _ranges(
        self, clip: Clip, source_frames: int, kept_seconds: tuple[Span, ...]
    ) -> tuple[FrameRange, ...]:
        """The kept frames of a clip, disjoint and in order."""
        if self.mode == "extension":
            spans = [(0, source_frames)]
        elif self.mode == "continuation":
            spans = [(0, min(source_frames, self._kept_frames(clip, source_frames)))]
        elif self.mode == "bridge":
            at_each_end = self._kept_frames(clip, source_frames, ends=2)
            spans = [(0, at_each_end), (clip.frame_count - at_each_end, clip.frame_count)]
        else:
            spans = [(round(start * clip.fps), round(end * clip.fps)) for start, end in kept_seconds]
        return tuple((first, end, 0.0) for first, end in _merged(spans, clip.frame_count))

    def _kept_frames(self, clip: Clip, source_frames: int, ends: int = 1) -> int:
        if self.keep_s > 0:
            return int(self.keep_s * clip.fps + EPSILON)
        return int(source_frames * self.preserve_fraction / ends + EPSILON)

    def _kept_seconds(self, to: Lowering) -> tuple[Span, ...]:
        words = [word.strip() for word in self.ranges.replace("\n", ",").split(",") if word.strip()]
        spans = []
        for word in words:
            span = _span(word)
            if span is None:
                raise to.error(
                    "E_PARAM_VALUE",
                    f"a range is two times in seconds such as 0.5-2, the second later, got {word!r}",
                    param="ranges",
                    expected="ranges such as 0-1, 2.5-3",
                    given=repr(word),
                    suggestion="0-1",
                )
            spans.append(span)
        return tuple(spans)


def _span(word: str) -> Span | None:
    left, _, right = word.removesuffix("s").partition("-")
    try:
        start, end = float(left), float(right)
    except ValueError:
        return None
    return (start, end) if 0.0 <= start < end <= 86_400.0 else None


def _merged(spans: list[tuple[int, int]], frame_count: int) -> list[tuple[int, int]]:
    """Spans inside the clip, sorted, touching ones joined, empty ones dropped."""
    merged: list[tuple[int, int]] = []
    for first, end in sorted((max(0, first), min(end, frame_count)) for first, end in spans):
        if first >= end:
            continue
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((first, end))
    return merged
