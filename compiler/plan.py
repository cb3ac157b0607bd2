"""How long videos are cut into chunks. One pure planner for compiler, engine, editor and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CONDITIONING_FLOOR = 2  # clean latent frames below which quality visibly drops


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """A counted video in chunks.

    `latent_frame_count` counts a resumed head in. `padded_latent_frame_count` fills the last chunk:
    what lies past the video is made and trimmed. `chunk_frames`: new pixel frames per chunk; their sum
    is the video, each is above 0.
    """

    latent_frame_count: int
    padded_latent_frame_count: int
    overlap_latent_frames: int
    chunk_frames: tuple[int, ...]

    @property
    def chunk_count(self) -> int:
        return len(self.chunk_frames)


def plan_chunks(
    frame_count: int,
    *,
    mode: Literal["chained", "kv"],
    chunk_frames: int = 29,
    overlap_frames: int = 0,
    temporal: int = 4,
    head_latent_frames: int = 0,
) -> ChunkPlan:
    """Plan a video of `frame_count` new pixel frames.

    `chunk_frames` is the pixel size of one chunk, `overlap_frames` how many pixel frames of a chunk the
    next one begins with (mode chained only). `head_latent_frames` above 0 resumes a video: so many
    clean latent frames stand at the start, and every new latent frame is `temporal` pixel frames.

    Errors: ValueError on counts below 1, an overlap in mode kv, a chunk without room for new frames.
    """
    if frame_count < 1 or chunk_frames < 1 or temporal < 1 or overlap_frames < 0 or head_latent_frames < 0:
        raise ValueError("counts of frames must be positive")
    if mode == "kv" and overlap_frames:
        raise ValueError(f"mode kv has no overlap, got overlap_frames {overlap_frames}")
    chunk = 1 + (chunk_frames - 1) // temporal
    overlap = overlap_latent_frames(overlap_frames, temporal, chunk)
    stride = chunk - overlap
    first_new = chunk - head_latent_frames
    if stride < 1 or first_new < 1:
        raise ValueError(f"a chunk of {chunk} latent frames leaves no room for new ones")
    is_resumed = head_latent_frames > 0
    new = -(-frame_count // temporal) if is_resumed else 1 + -(-(frame_count - 1) // temporal)
    later_count = max(0, -(-(new - first_new) // stride))
    return ChunkPlan(
        latent_frame_count=head_latent_frames + new,
        padded_latent_frame_count=chunk + later_count * stride,
        overlap_latent_frames=overlap,
        chunk_frames=_frames_per_chunk(
            frame_count,
            first_new * temporal - (0 if is_resumed else temporal - 1),
            stride * temporal,
            later_count,
        ),
    )


def overlap_latent_frames(overlap_frames: int, temporal: int, chunk_latent_frames: int) -> int:
    """Nearest latent frames of an overlap in pixel frames, half to even.

    Limited to one below the chunk, then lifted to the conditioning floor unless it is 0.
    """
    nearest = min(round(overlap_frames / temporal), chunk_latent_frames - 1)
    return max(nearest, CONDITIONING_FLOOR) if nearest > 0 else 0


def rollout_frame_count(chunk_count: int, chunk_latent_frames: int, temporal: int, *, has_start: bool) -> int:
    """Pixel frames a kv rollout sends in all; 0 for an endless one (chunk_count 0)."""
    if chunk_count == 0:
        return 0
    latent_frames = chunk_count * chunk_latent_frames
    return latent_frames * temporal - (0 if has_start else temporal - 1)


def rollout_chunk_frames(
    chunk_index: int, chunk_latent_frames: int, temporal: int, *, has_start: bool
) -> int:
    """Pixel frames one chunk sends: 9, 12, 12, ... for chunks of 3 latent frames; with a start all 12."""
    is_first_of_all = chunk_index == 0 and not has_start
    return chunk_latent_frames * temporal - (temporal - 1 if is_first_of_all else 0)


def _frames_per_chunk(frame_count: int, first: int, later: int, later_count: int) -> tuple[int, ...]:
    if later_count == 0:
        return (frame_count,)
    whole = (first, *(later for _ in range(later_count - 1)))
    return (*whole, frame_count - sum(whole))
