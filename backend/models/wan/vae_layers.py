"""Layers of Wan's video autoencoder, for a whole clip at once; differentiable."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class CausalConv3d(nn.Conv3d):
    """A convolution that sees this frame and the ones before it; zeros lie before the first."""

    def __init__(
        self, inputs: int, outputs: int, kernel: tuple[int, int, int], *, time_stride: int = 1
    ) -> None:
        spatial = (kernel[1] // 2, kernel[2] // 2)
        super().__init__(inputs, outputs, kernel, stride=(time_stride, 1, 1), padding=(0, *spatial))

    def forward(self, x: Tensor) -> Tensor:
        before = self.kernel_size[0] - 1
        return super().forward(F.pad(x, (0, 0, 0, 0, before, 0)) if before else x)


class RMSNorm(nn.Module):
    """Each position's channels divided by their length, times sqrt(channels) and gamma."""

    def __init__(self, channels: int, *, axes: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(channels, *[1] * axes))

    def forward(self, x: Tensor) -> Tensor:
        normed = F.normalize(x.float(), dim=1).type_as(x)
        return normed * (self.gamma * self.gamma.shape[0] ** 0.5)


class ResidualBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.norm1 = RMSNorm(inputs, axes=3)
        self.conv1 = CausalConv3d(inputs, outputs, (3, 3, 3))
        self.norm2 = RMSNorm(outputs, axes=3)
        self.conv2 = CausalConv3d(outputs, outputs, (3, 3, 3))
        self.conv_shortcut = CausalConv3d(inputs, outputs, (1, 1, 1)) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        h = self.conv1(F.silu(self.norm1(x)))
        h = self.conv2(F.silu(self.norm2(h)))
        return self.conv_shortcut(x) + h


class AttentionBlock(nn.Module):
    """One head of attention over the positions of each frame."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = RMSNorm(channels, axes=2)
        self.to_qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.proj = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        frames = _as_images(x)
        qkv = self.to_qkv(self.norm(frames)).flatten(2).transpose(1, 2)
        query, key, value = qkv[:, None].chunk(3, dim=-1)
        attended = F.scaled_dot_product_attention(query, key, value)[:, 0]
        attended = self.proj(attended.transpose(1, 2).reshape(frames.shape))
        return x + _as_clip(attended, x.shape[0])


class MidBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.attentions = nn.ModuleList([AttentionBlock(channels)])
        self.resnets = nn.ModuleList([ResidualBlock(channels, channels), ResidualBlock(channels, channels)])

    def forward(self, x: Tensor) -> Tensor:
        x = self.resnets[0](x)
        return self.resnets[1](self.attentions[0](x))


class Downsample(nn.Module):
    """Half the size; in time too when asked, where the first frame stays alone: 4k+1 -> 2k+1."""

    def __init__(self, channels: int, *, in_time: bool) -> None:
        super().__init__()
        conv = nn.Conv2d(channels, channels, 3, stride=2)
        self.resample = nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), conv)
        self.time_conv = CausalConv3d(channels, channels, (3, 1, 1), time_stride=2) if in_time else None

    def forward(self, x: Tensor) -> Tensor:
        x = _as_clip(self.resample(_as_images(x)), x.shape[0])
        if self.time_conv is None or x.shape[2] == 1:
            return x
        # No frames before the first here: each output stands on the three frames that end with it.
        return torch.cat(
            (x[:, :, :1], F.conv3d(x, self.time_conv.weight, self.time_conv.bias, (2, 1, 1))), dim=2
        )


class Upsample(nn.Module):
    """Twice the size; in time too when asked, where the first frame stays alone: 2k+1 -> 4k+1."""

    def __init__(self, channels: int, outputs: int, *, in_time: bool) -> None:
        super().__init__()
        grow = nn.Upsample(scale_factor=(2.0, 2.0), mode="nearest-exact")
        self.resample = nn.Sequential(grow, nn.Conv2d(channels, outputs, 3, padding=1))
        self.time_conv = CausalConv3d(channels, 2 * channels, (3, 1, 1)) if in_time else None

    def forward(self, x: Tensor) -> Tensor:
        if self.time_conv is not None:
            x = self._longer(x)
        return _as_clip(self.resample(_as_images(x)), x.shape[0])

    def _longer(self, x: Tensor) -> Tensor:
        """Every frame becomes two, but for the very first; the layer never sees that one."""
        assert self.time_conv is not None
        if x.shape[2] == 1:
            return x
        return torch.cat((x[:, :, :1], interleaved(self.time_conv(x[:, :, 1:]))), dim=2)


def interleaved(x: Tensor) -> Tensor:
    """[B, 2C, T, H, W] -> [B, C, 2T, H, W], the halves being even and odd frames."""
    return torch.stack(x.chunk(2, dim=1), dim=3).flatten(2, 3)


def _as_images(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(0, 1)


def _as_clip(images: Tensor, batch: int) -> Tensor:
    return images.unflatten(0, (batch, -1)).transpose(1, 2)
