"""The transformer's forward as training runs it: blocks compiled once for all layers, clean and noisy copies
of a clip side by side."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.shapes.configs import LATENT_SIDE
from rushes.backend.models.layers.adapted_linear import LaneAdapters
from rushes.backend.models.layers.rotary import rotary_3d, rotate
from rushes.backend.models.wan.transformer import BlockInputs, TextKV, TextRows, WanBlock, WanTransformer

TOKEN_SIDE = LATENT_SIDE // 2
FRAME_TOKENS = TOKEN_SIDE**2
WINDOW_FRAMES = 9
CHUNK_FRAMES = 3


class TrainingBlock(WanBlock):
    """A block whose mask, when given, is that of `chunk_mask`: then x holds a clean and a noisy copy of a
    clip, and each chunk of either attends to the nine clean frames before it and to itself."""

    def self_attention(self, x: Tensor, inputs: BlockInputs) -> Tensor:
        if inputs.mask is None:
            return super().self_attention(x, inputs)
        query = _in_chunks(rotate(self.attn1.query(x, inputs.adapters), inputs.rotary))
        keys, values = self.attn1.key_value(x, inputs.adapters)
        keys, values = _with_history(rotate(keys, inputs.rotary)), _with_history(values)
        mask = (
            inputs.mask[None, :, None, None].expand(x.shape[0] * 2, -1, -1, query.shape[1], -1).flatten(0, 1)
        )
        attended = self.attn1.choice.attend(query, keys, values, mask)
        return self.attn1.output(
            attended.reshape(x.shape[0], x.shape[1], *attended.shape[2:]), inputs.adapters
        )


def _in_chunks(x: Tensor) -> Tensor:
    """[B, 2N, heads, d] -> [B * 2 * chunks, tokens of a chunk, heads, d]"""
    return x.unflatten(1, (-1, CHUNK_FRAMES * FRAME_TOKENS)).flatten(0, 1)


def _with_history(x: Tensor) -> Tensor:
    """[B, 2N, heads, d] -> [B * 2 * chunks, tokens of window and chunk, heads, d]"""
    copies = x.unflatten(1, (2, -1, CHUNK_FRAMES * FRAME_TOKENS))
    before = WINDOW_FRAMES // CHUNK_FRAMES
    padded = nn.functional.pad(copies[:, 0], (0, 0, 0, 0, 0, 0, before, 0))
    chunks = copies.shape[2]
    past = torch.stack([padded[:, start : start + chunks] for start in range(before)], 2).flatten(2, 3)
    past = past[:, None].expand(-1, 2, -1, -1, -1, -1)
    return torch.cat((past, copies), 3).flatten(0, 2)


def chunk_mask(first: int, chunks: int, device: str) -> Tensor:
    """bool [chunks, tokens of window and chunk]: False before the clip begins. The first chunk has `first`
    frames, after 3 - first empty ones that fill it up."""
    frame = torch.arange(CHUNK_FRAMES * chunks, device=device).view(chunks, CHUNK_FRAMES)
    past = torch.arange(-WINDOW_FRAMES, 0, device=device)[None] + frame[:, :1]
    seen = torch.cat((past, frame), 1) >= CHUNK_FRAMES - first
    return seen.repeat_interleave(FRAME_TOKENS, 1)


class TrainingForward(nn.Module):
    """WanTransformer.forward with frame positions given by the caller.

    Every block is told it is layer 0 and gets its own text keys and values alone, so that one compiled block
    serves all layers. The wrapped transformer is for training only from then on.
    """

    adapters: LaneAdapters | None = None

    def __init__(self, transformer: WanTransformer, *, compiled: bool) -> None:
        super().__init__()
        self.transformer = transformer
        for block in transformer.blocks:
            block.__class__ = TrainingBlock
            block.layer = 0
            if compiled:
                block.compile(dynamic=False)

    def forward(
        self,
        latent: Tensor,
        timestep: Tensor,
        text: TextRows,
        keys: Tensor,
        positions: Tensor,
        mask: Tensor | None,
    ) -> Tensor:
        """latent [B, C, T, 12, 12]; timestep [B, T] or [B, tokens]; keys [B, T, dim]; positions [T]."""
        model = self.transformer
        embedder = model.condition_embedder
        embedded = embedder.embed_time(timestep, None)
        groups = embedded.shape[1]
        if groups > len(positions):
            keys = keys.repeat_interleave(FRAME_TOKENS, dim=1)
        embedded = embedded + keys
        modulation = embedder.project_time(embedded, None)
        head_dim = model.config.attention_head_dim
        rotary = rotary_3d(positions, TOKEN_SIDE, TOKEN_SIDE, head_dim)
        x = model.patch_embedding(latent).flatten(2).transpose(1, 2)
        x = x.unflatten(1, (groups, x.shape[1] // groups))
        text_rows = embedder.embed_text(text.rows, None)
        for block in model.blocks:
            text_kv = TextKV((block.attn2.key_value(text_rows, self.adapters),), text.log_count)
            x = block(x, modulation, BlockInputs(text_kv, rotary, mask, None, self.adapters))
        shift, scale = (model.scale_shift_table[None] + embedded.float().unsqueeze(2)).unsqueeze(3).unbind(2)
        normed = nn.functional.layer_norm(x.float(), x.shape[-1:], eps=model.config.eps)
        out = model.proj_out((normed * (1 + scale) + shift).flatten(1, 2))
        grid = (len(positions), TOKEN_SIDE, TOKEN_SIDE)
        out = out.unflatten(1, grid).unflatten(-1, (*model.config.patch_size, -1))
        return out.permute(0, 7, 1, 4, 2, 5, 3, 6).flatten(6, 7).flatten(4, 5).flatten(2, 3)


def block_starts(first: int, frames: int) -> list[int]:
    """First frame of each block: one of `first` frames, then of three."""
    return [0, *range(first, frames, CHUNK_FRAMES)]


def block_of_frames(first: int, frames: int) -> list[int]:
    """Index of the block each frame belongs to."""
    return [0 if frame < first else 1 + (frame - first) // CHUNK_FRAMES for frame in range(frames)]


def teacher_mask(first: int, frames: int, device: str) -> Tensor:
    """bool [2N, 2N] over a clean copy and then a noisy copy: each block sees the nine clean frames before it
    and itself in its own copy, which is what a rollout with a cache of nine frames sees."""
    block = torch.tensor(block_of_frames(first, frames), device=device)
    starts = torch.tensor(block_starts(first, frames), device=device)[block]
    frame = torch.arange(frames, device=device)
    history = (frame[None] < starts[:, None]) & (frame[None] >= starts[:, None] - WINDOW_FRAMES)
    own = block[None] == block[:, None]
    none = torch.zeros_like(own)
    clean = torch.cat((history | own, none), 1)
    noisy = torch.cat((history, own), 1)
    by_frame = torch.cat((clean, noisy))
    return by_frame.repeat_interleave(FRAME_TOKENS, 0).repeat_interleave(FRAME_TOKENS, 1)


def token_timesteps(sigma: Tensor) -> Tensor:
    """sigma [B, T, 12, 12] per cell to timesteps [B, tokens]: a token takes the most of its four cells."""
    pooled = nn.functional.max_pool2d(sigma, 2)
    return pooled.flatten(1) * 1000
