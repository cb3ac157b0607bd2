"""Frames from latent frames as they come."""

from typing import Any

import torch
from torch import Tensor

from rushes.backend.models.wan.stream import DecoderState, StreamDecoder
from rushes.backend.models.wan.vae import WanVae


class WanVideoDecoder:
    """Decodes one latent frame at a time, so that how they are pushed never shows.

    State: the causal history of one video; a failed push leaves it as it was.
    """

    def __init__(self, vae: WanVae, stream: StreamDecoder) -> None:
        self._vae = vae
        self._stream = stream
        self._state = stream.new_state()

    @torch.no_grad()
    def push(self, latent: Tensor) -> Tensor:
        """[1, C, n, h, w], normalised -> uint8 [frames, H, W, 3]"""
        if latent.shape[0] != 1 or latent.ndim != 5:
            raise ValueError(f"latent must be [1, C, n, h, w], got {list(latent.shape)}")
        weight = self._vae.decoder.conv_in.weight
        latent = self._vae.denormalised(latent.to(weight.device).float()).to(weight.dtype)
        state = self._state.clone()
        frames = [_as_bytes(self._stream.decode_next(part, state)) for part in latent.split(1, dim=2)]
        self._state = state
        return torch.cat(frames)

    def state_dict(self) -> dict[str, Any]:
        """A copy of the history: `frames`, the latent frames decoded, and `tails`, one a causal layer."""
        copy = self._state.clone()
        return {"frames": copy.frames, "tails": copy.tails}

    def load_state(self, state: dict[str, Any]) -> None:
        if len(state["tails"]) != len(self._state.tails):
            raise ValueError(f"state must have {len(self._state.tails)} tails, got {len(state['tails'])}")
        self._state = DecoderState(list(state["tails"]), state["frames"]).clone()


def _as_bytes(video: Tensor) -> Tensor:
    """[1, 3, f, H, W] in -1..1 -> uint8 [f, H, W, 3]"""
    return (video[0].float() * 127.5 + 127.5).round_().to(torch.uint8).permute(1, 2, 3, 0).contiguous()
