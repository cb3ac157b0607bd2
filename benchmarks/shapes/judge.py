"""Reads a clip from its pixels alone: what it shows, how the camera moved, or that it shows no such world."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from benchmarks.shapes.scene import COLOURS, GROUNDS, LATENT_STRIDE, LIGHTS, MOTIONS, SHAPES, SIZES

WEIGHTS = Path(__file__).parent / "judge.safetensors"
SNIPPET_FRAMES = LATENT_STRIDE + 1
NO_SECOND = len(SHAPES)
HEADS: dict[str, int] = {
    "shape": len(SHAPES),
    "colour": len(COLOURS),
    "ground": len(GROUNDS),
    "size": len(SIZES),
    "motion": len(MOTIONS),
    "light": len(LIGHTS),
    "second_shape": len(SHAPES) + 1,
    "second_colour": len(COLOURS),
    "camera_x": 3,
    "camera_y": 3,
    "valid": 1,
}
VALID_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Verdict:
    """`camera` holds the (x, y) direction, each -1, 0 or 1, for every latent frame after the first."""

    shape: str
    colour: str
    ground: str
    size: str
    motion: str
    light: str
    second: tuple[str, str] | None
    camera: tuple[tuple[int, int], ...]


class _Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, kernel: int = 3) -> None:
        super().__init__()
        self.down = _conv(inputs, outputs, kernel, 2)
        self.norm = nn.GroupNorm(8, outputs)
        self.first = _conv(outputs, outputs, 3, 1)
        self.first_norm = nn.GroupNorm(8, outputs)
        self.second = _conv(outputs, outputs, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.silu(self.norm(self.down(x)))
        return x + self.second(nn.functional.silu(self.first_norm(self.first(x))))


def _conv(inputs: int, outputs: int, kernel: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, padding_mode="circular")


class JudgeNetwork(nn.Module):
    """Five frames [B, 5, 96, 96, 3] uint8 -> logits by head. The last frame of one latent frame and the four
    of the next make one snippet."""

    def __init__(self) -> None:
        super().__init__()
        widths = (3 * SNIPPET_FRAMES, 32, 48, 72, 96)
        self.blocks = nn.Sequential(
            *(_Block(a, b, 5 if a < 32 else 3) for a, b in itertools.pairwise(widths))
        )
        self.hidden = nn.Linear(2 * widths[-1], 192)
        self.heads = nn.Linear(192, sum(HEADS.values()))

    def forward(self, snippets: Tensor) -> dict[str, Tensor]:
        x = snippets.permute(0, 1, 4, 2, 3).flatten(1, 2)
        x = self.blocks(x.to(self.hidden.weight.dtype) / 127.5 - 1)
        pooled = torch.cat((x.mean((2, 3)), x.amax((2, 3))), 1)
        logits = self.heads(nn.functional.silu(self.hidden(pooled)))
        return dict(zip(HEADS, logits.split(list(HEADS.values()), 1), strict=True))


class Judge:
    """The trained network with its weights from this folder."""

    def __init__(self, device: str = "cpu", weights: Path = WEIGHTS) -> None:
        self._network = JudgeNetwork().eval()
        self._network.load_state_dict({name: value.float() for name, value in load_file(weights).items()})
        self._network.to(device)
        self._device = device

    @torch.inference_mode()
    def read(self, frames: Tensor) -> Verdict | None:
        """frames uint8 [F, 96, 96, 3], F = 4k + 1, any time of a clip; None: no clip of this world."""
        return self.read_all(frames[None])[0]

    @torch.inference_mode()
    def read_all(self, clips: Tensor, batch: int = 32) -> list[Verdict | None]:
        """clips uint8 [B, F, 96, 96, 3]."""
        verdicts: list[Verdict | None] = []
        for part in clips.split(batch):
            count = len(part)
            logits = self._network(snippets_of(part.to(self._device)).flatten(0, 1))
            by_clip = {name: value.float().unflatten(0, (count, -1)).cpu() for name, value in logits.items()}
            verdicts += [
                _verdict({name: value[row] for name, value in by_clip.items()}) for row in range(count)
            ]
        return verdicts


def snippets_of(clips: Tensor) -> Tensor:
    """[B, F, H, W, 3] -> [B, k, 5, H, W, 3]; a single frame counts as one that stands still."""
    frames = clips.shape[1]
    if frames % LATENT_STRIDE != 1:
        raise ValueError(f"a clip must have 4k + 1 frames, got {frames}")
    if frames == 1:
        return clips[:, None].expand(-1, -1, SNIPPET_FRAMES, -1, -1, -1)
    return clips.unfold(1, SNIPPET_FRAMES, LATENT_STRIDE).movedim(-1, 2)


def _verdict(logits: dict[str, Tensor]) -> Verdict | None:
    """One clip's logits [k, classes]."""
    if logits["valid"].sigmoid().mean() < VALID_SHARE:
        return None
    second_shape = _vote(logits["second_shape"])
    second = (
        None if second_shape == NO_SECOND else (COLOURS[_vote(logits["second_colour"])], SHAPES[second_shape])
    )
    camera = zip(logits["camera_x"].argmax(1).tolist(), logits["camera_y"].argmax(1).tolist(), strict=True)
    return Verdict(
        shape=_named(logits["shape"], SHAPES),
        colour=_named(logits["colour"], COLOURS),
        ground=_named(logits["ground"], GROUNDS),
        size=_named(logits["size"], SIZES),
        motion=_named(logits["motion"], MOTIONS),
        light=_named(logits["light"], LIGHTS),
        second=second,
        camera=tuple((x - 1, y - 1) for x, y in camera),
    )


def _vote(logits: Tensor) -> int:
    return int(logits.log_softmax(1).clamp(min=-6).mean(0).argmax())


def _named(logits: Tensor, names: Sequence[str]) -> str:
    return names[_vote(logits)]
