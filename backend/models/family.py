"""What a model family offers: facts without torch, and components with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rushes.compiler.ir.facts import CheckpointFacts

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from rushes.backend.models.adapters.adapter import Adapter
    from rushes.backend.models.layers.adapted_linear import LaneAdapters
    from rushes.backend.models.layers.joined_rings import JoinedRings
    from rushes.backend.models.layers.ring_kv import RingKVCache


class FamilyError(ValueError):
    """A checkpoint folder that is not what its family expects; the message names the file."""


class Family(Protocol):
    """A kind of model and how its checkpoints look on disk."""

    family_id: str

    def recognises(self, folder: Path) -> bool:
        """Whether the folder is a checkpoint of this family; reads JSON only."""

    def facts(self, folder: Path) -> CheckpointFacts:
        """Facts of the checkpoint; opens no weight. Errors: FamilyError."""

    def build(self, folder: Path, *, device: str, precision: str) -> Components:
        """Load the checkpoint. Errors: FamilyError, TensorFileError."""


class VideoDecoder(Protocol):
    """Latent frames in, frames out, one latent frame after another with the causal history in between."""

    def push(self, latent: Tensor) -> Tensor:
        """[1, C, n, h, w] -> uint8 [frames, H, W, 3]: one frame for the very first, then `temporal` each."""

    def state_dict(self) -> dict[str, Any]:
        """A copy of the history."""

    def load_state(self, state: dict[str, Any]) -> None: ...


class Components(Protocol):
    """A loaded checkpoint. Batch rows are lanes; latents are normalised, fp32, [B, C, T, H, W]."""

    facts: CheckpointFacts
    device: torch.device
    dtype: torch.dtype

    def encode_text(self, texts: Sequence[str], adapters: LaneAdapters | None = None) -> Tensor:
        """[B, 512, D], zero rows after the text"""

    def text_kv(self, text: Tensor, adapters: LaneAdapters | None = None) -> Any:
        """What the transformer reads of a prompt, computed once per prompt and adapter stack."""

    def join_text(self, parts: Sequence[Any]) -> Any:
        """Several `text_kv` as one batch, in order."""

    def predict(  # noqa: PLR0913 - what one forward may be given
        self,
        latent: Tensor,
        sigma: Tensor,
        text: Any,
        *,
        keys: Tensor | None = None,
        cache: RingKVCache | JoinedRings | None = None,
        commit: bool = False,
        adapters: LaneAdapters | None = None,
    ) -> Tensor:
        """Velocity, fp32, shape of the latent.

        Shapes: sigma [B], [B, T] or [B, T, H, W]; keys [B, T, key count] of 0 and 1.
        With `cache` the latent also sees the cached frames; with `commit` it is appended to them.
        """

    def new_cache(
        self, lanes: int, *, sink_frames: int, window_frames: int, height: int, width: int
    ) -> RingKVCache:
        """An empty history for latents of height x width cells."""

    def join_caches(self, caches: Sequence[RingKVCache]) -> RingKVCache | JoinedRings:
        """Several histories with equal clocks as one batch, in order; nothing is copied for good."""

    def rotate_past(self, cache: RingKVCache | JoinedRings, height: int, width: int) -> None:
        """Prepare what the next `predict` for latents of height x width cells would prepare of the past."""

    def encode_video(self, frames: Tensor) -> Tensor:
        """uint8 [F, H, W, 3] -> latent [1, C, T, h, w]"""

    def decoder(self) -> VideoDecoder: ...

    def preview(self, latent: Tensor) -> Tensor:
        """[1, C, T, h, w] -> uint8 [T, h, w, 3], cheaply."""

    def load_adapter(self, path: Path) -> Adapter:
        """Errors: AdapterError."""

    def lanes(self, stacks: Sequence[Sequence[tuple[Adapter, float]]]) -> LaneAdapters | None:
        """The transformer's adapters of each lane; None when no lane has any."""

    def text_lanes(self, stacks: Sequence[Sequence[tuple[Adapter, float]]]) -> LaneAdapters | None:
        """The text encoder's adapters of each lane; None when no lane has any."""
