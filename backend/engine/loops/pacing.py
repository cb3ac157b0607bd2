"""When a live rollout begins its next chunk: as late as a viewer allows. The clock is an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Pacer:
    """Keeps a live rollout just ahead of playback, so that keys are read as late as possible.

    A viewer shows a part when it arrives and then plays at the frame rate; the next chunk is due when all of
    this one has been shown. It begins ``lead`` before that: the usual time from a chunk's beginning to its
    first part, plus twice the usual deviation. A late part moves the viewer's clock: nothing is made faster
    afterwards to catch up.

    Units: seconds.
    """

    fps: float
    margin_s: float = 0.01
    mean_s: float | None = None
    deviation_s: float = 0.0
    due_s: float | None = None
    """When the viewer has shown all that was sent; None before the first part."""
    began_s: float = 0.0
    owed_frames: int = 0
    """Frames of the chunk at hand that were not sent yet."""

    @property
    def lead_s(self) -> float:
        if self.mean_s is None:
            return 0.0
        return self.mean_s + 2.0 * self.deviation_s + self.margin_s

    @property
    def not_before_s(self) -> float:
        """When the next chunk should begin; 0 is at once."""
        return 0.0 if self.due_s is None else self.due_s + self.owed_frames / self.fps - self.lead_s

    def begin(self, now_s: float, chunk_frames: int) -> None:
        """A chunk of so many frames begins now."""
        self.began_s = now_s
        self.owed_frames += chunk_frames

    def sent(self, now_s: float, frame_count: int, *, is_first: bool) -> None:
        """A part of so many frames leaves now; ``is_first`` of its chunk."""
        if is_first:
            self._learn(now_s - self.began_s)
        shown_s = now_s if self.due_s is None else max(self.due_s, now_s)
        self.due_s = shown_s + frame_count / self.fps
        self.owed_frames = max(0, self.owed_frames - frame_count)

    def state_dict(self) -> dict[str, Any]:
        """What was learnt. Times of this process's clock mean nothing in another and are left out."""
        return {"mean_s": self.mean_s, "deviation_s": self.deviation_s}

    def _learn(self, took_s: float) -> None:
        if self.mean_s is None:
            self.mean_s, self.deviation_s = took_s, took_s / 4.0
            return
        error = took_s - self.mean_s
        self.mean_s += error / 8.0
        self.deviation_s += (abs(error) - self.deviation_s) / 8.0
