"""Training runs the same function as inference: chunks with a clean history equal a masked forward."""

import pytest
import torch

from benchmarks.shapes.forward import TrainingBlock, TrainingForward, chunk_mask, teacher_mask
from benchmarks.shapes.networks import build_networks
from rushes.backend.models.wan.transformer import TextRows, WanBlock

FRAMES = 12


@pytest.mark.parametrize("first", [1, 2, 3])
def test_chunked_attention_equals_the_masked_one(first: int) -> None:
    torch.manual_seed(first)
    networks = build_networks()
    torch.nn.init.normal_(networks.transformer.proj_out.weight, std=0.05)
    forward = TrainingForward(networks.transformer, compiled=False)
    empty = 3 - first
    count = FRAMES - empty
    clean, noisy = torch.randn(2, 1, 16, count, 12, 12)
    sigma = torch.rand(1, FRAMES // 3).repeat_interleave(3, 1) * 1000
    text = TextRows(torch.randn(1, 5, 96), torch.zeros(1, 5))
    keys = torch.zeros(1, 2 * FRAMES, 256)
    filled = [torch.nn.functional.pad(x, (0, 0, 0, 0, empty, 0)) for x in (clean, noisy)]
    place = torch.arange(FRAMES)
    with torch.no_grad():
        chunked = forward(
            torch.cat(filled, 2),
            torch.cat((torch.zeros_like(sigma), sigma), 1),
            text,
            keys,
            torch.cat((place, place)),
            chunk_mask(first, FRAMES // 3, "cpu"),
        )[:, :, FRAMES + empty :]
        for block in networks.transformer.blocks:
            block.__class__ = WanBlock
        place = place[:count]
        masked = forward(
            torch.cat((clean, noisy), 2),
            torch.cat((torch.zeros(1, count), sigma[:, empty:]), 1),
            text,
            keys[:, : 2 * count],
            torch.cat((place, place)),
            teacher_mask(first, count, "cpu"),
        )[:, :, count:]
    assert TrainingBlock is not WanBlock
    torch.testing.assert_close(chunked, masked, atol=2e-5, rtol=0)
