"""Decoding a video as it comes: one latent frame after another, with what the causal layers remember between.

The same arithmetic as `WanVae.decode`, laid out for speed: frames are the batch of 2-D convolutions, the
three frames under a kernel lie side by side in the channels, and channels are innermost in memory (on a CPU
three times as fast as 3-D convolutions). An upsampling and the convolution after it are one convolution.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rushes.backend.models.wan.vae import Decoder, UpBlock, WanVae, unpatchified
from rushes.backend.models.wan.vae_layers import (
    AttentionBlock,
    CausalConv3d,
    ResidualBlock,
    RMSNorm,
    Upsample,
)


@dataclass(slots=True)
class DecoderState:
    """What the causal layers remember: for each, the last two frames it was given.

    Shapes: tails[slot] [2, h, w, channels], None before the layer has seen a frame.
    State: `frames` counts latent frames decoded.
    """

    tails: list[Tensor | None]
    frames: int = 0

    def clone(self) -> "DecoderState":
        return DecoderState([None if tail is None else tail.clone() for tail in self.tails], self.frames)


Step = Callable[[Tensor, DecoderState], Tensor]


class StreamDecoder:
    """A decoder for `decode_next`, prepared from the weights of a WanVae; it does not follow later changes.

    Shapes: latent [B = 1, z_dim, 1, h, w] -> video [1, 3, 1 or 4, H, W] in -1..1.
    """

    def __init__(self, vae: WanVae) -> None:
        self._slot_count = 0
        self._patch = vae.config.patch
        decoder, middle = vae.decoder, vae.decoder.mid_block
        self._steps: list[Step] = [
            self._conv(vae.post_quant_conv),
            self._conv(decoder.conv_in),
            self._residual(middle.resnets[0]),
            _attention(cast(AttentionBlock, middle.attentions[0])),
            self._residual(middle.resnets[1]),
            *self._up_blocks(decoder),
            self._norm_silu_conv(decoder.norm_out, decoder.conv_out),
        ]

    def new_state(self) -> DecoderState:
        return DecoderState([None] * self._slot_count)

    def decode_next(self, latent: Tensor, state: DecoderState) -> Tensor:
        """Decode one latent frame, advancing `state`: one frame for the first, four for each after it."""
        if latent.shape[0] != 1 or latent.shape[2] != 1:
            raise ValueError(f"latent must be [1, C, 1, h, w], got {list(latent.shape)}")
        frames = latent[:, :, 0].contiguous(memory_format=torch.channels_last)
        for step in self._steps:
            frames = step(frames, state)
        state.frames += 1
        return unpatchified(frames.transpose(0, 1)[None], self._patch).clamp(-1.0, 1.0)

    def _up_blocks(self, decoder: Decoder) -> list[Step]:
        steps: list[Step] = []
        for block in cast(list[UpBlock], decoder.up_blocks):
            steps += [self._residual(resnet) for resnet in block.resnets]
            if block.upsamplers is not None:
                steps += self._upsample(cast(Upsample, block.upsamplers[0]))
        return steps

    def _conv(self, conv: CausalConv3d) -> Step:
        """A causal convolution as a 2-D one over the frames under its kernel, laid side by side."""
        depth = conv.kernel_size[0]
        weight = conv.weight.transpose(1, 2).flatten(1, 2).contiguous(memory_format=torch.channels_last)
        bias, padding = conv.bias, conv.padding[1:]
        if depth == 1:
            return lambda x, state: F.conv2d(x, weight, bias, padding=padding)
        slot = self._slot_count
        self._slot_count += 1

        def run(x: Tensor, state: DecoderState) -> Tensor:
            frames = x.permute(0, 2, 3, 1)
            tail = state.tails[slot]
            if tail is None:
                tail = frames.new_zeros(depth - 1, *frames.shape[1:])
            seen = torch.cat((tail, frames))
            state.tails[slot] = seen[1 - depth :].clone()
            beside = torch.cat([seen[k : k + x.shape[0]] for k in range(depth)], dim=-1)
            return F.conv2d(beside.permute(0, 3, 1, 2), weight, bias, padding=padding)

        return run

    def _norm_silu_conv(self, norm: RMSNorm, conv: CausalConv3d) -> Step:
        scale = _norm_scale(norm)
        run = self._conv(conv)
        return lambda x, state: run(F.silu(_normalised(x, scale)), state)

    def _residual(self, layer: nn.Module) -> Step:
        block = cast(ResidualBlock, layer)
        first = self._norm_silu_conv(block.norm1, block.conv1)
        second = self._norm_silu_conv(block.norm2, block.conv2)
        if isinstance(block.conv_shortcut, nn.Identity):
            return lambda x, state: x + second(first(x, state), state)
        shortcut = self._conv(block.conv_shortcut)
        return lambda x, state: shortcut(x, state) + second(first(x, state), state)

    def _upsample(self, layer: Upsample) -> list[Step]:
        steps: list[Step] = []
        if layer.time_conv is not None:
            longer = self._conv(layer.time_conv)
            # The very first frame stays alone, and the layer never sees it.
            steps.append(lambda x, state: x if state.frames == 0 else _interleaved(longer(x, state)))
        return [*steps, _grow(cast(nn.Conv2d, layer.resample[1]))]


def _attention(block: AttentionBlock) -> Step:
    scale = _norm_scale(block.norm)

    def run(x: Tensor, state: DecoderState) -> Tensor:
        qkv = F.conv2d(_normalised(x, scale), block.to_qkv.weight, block.to_qkv.bias)
        rows = qkv.flatten(2).transpose(1, 2)[:, None]
        query, key, value = rows.chunk(3, dim=-1)
        attended = F.scaled_dot_product_attention(query, key, value)[:, 0]
        return x + F.conv2d(attended.transpose(1, 2).reshape(x.shape), block.proj.weight, block.proj.bias)

    return run


def _grow(conv: nn.Conv2d) -> Step:
    """Nearest upsampling by two and a 3x3 convolution, as one 2x2 convolution for each quarter of the pixels.

    Of three rows under the kernel two are copies of one row, so their weights are added up.
    """
    pairs = torch.tensor([[[1.0, 0, 0], [0, 1, 1]], [[1, 1, 0], [0, 0, 1]]], device=conv.weight.device)
    quarters = torch.einsum("pak,qbl,oikl->pqoiab", pairs, pairs, conv.weight.float())
    weight = quarters.flatten(0, 2).to(conv.weight.dtype).contiguous(memory_format=torch.channels_last)
    bias = None if conv.bias is None else conv.bias.repeat(4)
    outputs = conv.out_channels

    def run(x: Tensor, state: DecoderState) -> Tensor:
        count, _, height, width = x.shape
        found = F.conv2d(x, weight, bias, padding=1).permute(0, 2, 3, 1)
        grown = found.new_empty(count, height, 2, width, 2, outputs)
        for quarter in range(4):
            row, column = divmod(quarter, 2)
            channels = slice(quarter * outputs, (quarter + 1) * outputs)
            grown[:, :, row, :, column] = found[:, row : row + height, column : column + width, channels]
        return grown.view(count, 2 * height, 2 * width, outputs).permute(0, 3, 1, 2)

    return run


def _norm_scale(norm: RMSNorm) -> Tensor:
    return (norm.gamma.float() * norm.gamma.shape[0] ** 0.5).to(norm.gamma.dtype).view(1, -1, 1, 1)


def _normalised(x: Tensor, scale: Tensor) -> Tensor:
    return F.normalize(x.float(), dim=1).type_as(x) * scale


def _interleaved(x: Tensor) -> Tensor:
    """[n, 2C, h, w] -> [2n, C, h, w], the halves being even and odd frames; channels innermost."""
    count, channels, height, width = x.shape
    rows = x.permute(0, 2, 3, 1).unflatten(-1, (2, -1)).permute(0, 3, 1, 2, 4)
    return rows.reshape(2 * count, height, width, channels // 2).permute(0, 3, 1, 2)
