"""Runs a checkpoint through the same components the engine uses, many clips at a time, for measuring."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from benchmarks.shapes.configs import LATENT_CHANNELS, LATENT_SIDE
from benchmarks.shapes.forward import CHUNK_FRAMES, WINDOW_FRAMES
from benchmarks.shapes.train_vae import as_input
from rushes.backend.models.registry import find_checkpoints
from rushes.backend.models.wan.vae import WanVae, WanVaeConfig

SIGMAS = (1.0, 0.9001, 0.7504, 0.5010, 0.0)
BATCH = 50


class Studio:
    """A checkpoint folder on a device, in fp32; `adapter` and `strength` apply to everything it makes."""

    def __init__(self, folder: Path, device: str, adapter: Path | None = None, strength: float = 1.0) -> None:
        family, path, _ = find_checkpoints([folder.parent])[folder.name]
        self.device = device
        self._components = family.build(path, device=device, precision="fp32")
        self._vae = WanVae(WanVaeConfig.from_json(json.loads((folder / "vae" / "config.json").read_text())))
        weights = load_file(folder / "vae" / "diffusion_pytorch_model.safetensors")
        self._vae.load_state_dict({name: value.float() for name, value in weights.items()})
        self._vae.to(device).eval()
        self._adapter = self._components.load_adapter(adapter) if adapter else None
        self.strength = strength

    @torch.inference_mode()
    def encode(self, clips: Tensor) -> Tensor:
        """uint8 [B, F, 96, 96, 3] to a normalised latent."""
        parts = []
        for part in clips.split(BATCH):
            video = as_input(part.to(self.device).permute(0, 4, 1, 2, 3))
            parts.append(self._vae.normalised(self._vae.encode(video)))
        return torch.cat(parts)

    @torch.inference_mode()
    def decode(self, latent: Tensor, batch: int = BATCH) -> Tensor:
        """A normalised latent to uint8 [B, F, 96, 96, 3] on the CPU."""
        parts = []
        for part in latent.split(batch):
            video = self._vae.decode(self._vae.denormalised(part))
            parts.append(((video + 1) * 127.5).round().to(torch.uint8).permute(0, 2, 3, 4, 1).cpu())
        return torch.cat(parts)

    @torch.inference_mode()
    def generate(
        self,
        prompts: Sequence[str],
        keys: Tensor,
        seed: int,
        *,
        source: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Latent [B, 16, T, 12, 12] of whole clips; keys [B, T, 4]. With a source latent, cells outside the
        bool mask [B, T, 12, 12] are kept."""
        noise = self._noise((len(prompts), LATENT_CHANNELS, keys.shape[1], LATENT_SIDE, LATENT_SIDE), seed)
        out = []
        for start in range(0, len(prompts), BATCH):
            rows = slice(start, start + BATCH)
            text, adapters = self._text(prompts[rows])
            latent, cells = noise[rows], None
            if source is not None and mask is not None:
                cells = mask[rows]
                latent = torch.where(cells[:, None], latent, source[rows])
            out.append(self._denoise(latent, text, keys[rows].to(self.device), cells, source, rows, adapters))
        return torch.cat(out)

    def _denoise(self, latent, text, keys, cells, source, rows, adapters, cache=None):  # type: ignore[no-untyped-def]  # noqa: PLR0913
        for now, after in itertools.pairwise(SIGMAS):
            if cells is None:
                sigma = torch.full(latent.shape[:1] + latent.shape[2:3], now, device=self.device)
            else:
                sigma = torch.where(cells, now, 0.0)
            velocity = self._components.predict(
                latent, sigma, text, keys=keys, adapters=adapters, cache=cache
            )
            moved = latent + (after - now) * velocity
            latent = moved if cells is None else torch.where(cells[:, None], moved, source[rows])
        return latent

    @torch.inference_mode()
    def rollout(
        self,
        prompts: Sequence[str],
        keys: Tensor,
        seed: int,
        *,
        start: Tensor | None = None,
        change: tuple[int, Sequence[str]] | None = None,
    ) -> Tensor:
        """Latent [B, 16, T, 12, 12] made chunk by chunk with a cache of nine frames; keys [B, T, 4]. The
        first chunk has T mod 3 (or 3) frames; `start` [B, 16, 1, 12, 12] is given as the first frame.
        `change` is a chunk index from which other prompts hold."""
        text, adapters = self._text(prompts)
        cache = self._components.new_cache(
            len(prompts), sink_frames=0, window_frames=WINDOW_FRAMES, height=LATENT_SIDE, width=LATENT_SIDE
        )
        keys = keys.to(self.device)
        noise = self._noise((len(prompts), LATENT_CHANNELS, keys.shape[1], LATENT_SIDE, LATENT_SIDE), seed)
        frames, at, index, chunks = keys.shape[1], 0, 0, []
        while at < frames:
            if change and index == change[0]:
                text, adapters = self._text(change[1])
            size = (frames - at) % CHUNK_FRAMES or CHUNK_FRAMES
            held = keys[:, at : at + size]
            if start is not None and at == 0:
                size, held = 1, keys[:, :1]
                latent = start
            else:
                latent = self._denoise(
                    noise[:, :, at : at + size], text, held, None, None, slice(None), adapters, cache
                )
            chunks.append(latent)
            clean = torch.zeros(len(prompts), size, device=self.device)
            self._components.predict(
                latent, clean, text, keys=held, cache=cache, commit=True, adapters=adapters
            )
            at += size
            index += 1
        return torch.cat(chunks, 2)

    def _text(self, prompts):  # type: ignore[no-untyped-def]
        adapters = None
        if self._adapter is not None:
            adapters = self._components.lanes([[(self._adapter, self.strength)]] * len(prompts))
        return self._components.text_kv(self._components.encode_text(list(prompts)), adapters), adapters

    def _noise(self, shape: tuple[int, ...], seed: int) -> Tensor:
        return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(self.device)
