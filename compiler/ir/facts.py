"""What the compiler is told about the machine it compiles for. Pure data, read by others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """Facts of one checkpoint, known without opening a weight.

    Units: `spatial` is pixels per latent cell, `temporal` pixel frames per latent frame after the
    first, `patch` latent cells per token side. A valid frame count is `1 + temporal * k`.
    """

    checkpoint: str
    family: str
    title: str
    latent_channels: int
    spatial: int
    temporal: int
    patch: int
    width_px: int
    height_px: int
    sizes_fixed: bool  # True: only width_px x height_px; False: multiples of spatial * patch
    fps: int
    frame_count_default: int
    frame_count_max: int
    chunk_latent_frames: int
    step_count: int
    flow_shift: float
    guidance_scale: float
    samplers: tuple[str, ...]
    precisions: tuple[str, ...]
    control_keys: tuple[str, ...]  # () when it takes no keys
    capabilities: frozenset[str]
    content_id: str
    adapter_rank_max: int = 512  # of one LoRA


@dataclass(frozen=True, slots=True)
class AdapterFacts:
    """`family` and `rank` (the highest of its layers) are None where nobody has looked into the file."""

    adapter: str
    content_id: str
    bytes: int
    family: str | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class AssetFacts:
    """An image or clip a workflow may name. An image has one frame and fps 0."""

    asset: str
    kind: Literal["image", "video"]
    width_px: int
    height_px: int
    frame_count: int
    fps: float
    content_id: str


@dataclass(frozen=True, slots=True)
class Target:
    """What we compile for: everything outside the workflow that may change the program."""

    checkpoints: Mapping[str, CheckpointFacts]
    adapters: Mapping[str, AdapterFacts]
    assets: Mapping[str, AssetFacts]
    device_kind: str = "cpu"
