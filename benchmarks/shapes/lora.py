"""Trains the neon LoRA on neon renders with the same prompts, the base frozen, and writes it as PEFT does.

Run on a GPU: python -m benchmarks.shapes.lora TRAINED OUT --seconds 35
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from benchmarks.shapes import train_transformer
from benchmarks.shapes.forward import CHUNK_FRAMES, TrainingForward, chunk_mask
from benchmarks.shapes.pool import LATENT_FRAMES, draw_all, encode
from benchmarks.shapes.train_transformer import Trainee, load_networks, loss_of_kind
from rushes.backend.models.layers.adapted_linear import AdaptedLinear, LaneAdapters, LaneDelta

RANK = 8
PEAK_RATE = 3e-3
TARGETS = ("to_q", "to_k", "to_v", "to_out.0", "net.0.proj", "net.2")
BATCHES = {"whole": 64, "long": 32, "chunks": 16}
SEED = 90_000

log = logging.getLogger("shapes.lora")


def new_deltas(transformer: nn.Module) -> dict[str, tuple[nn.Parameter, nn.Parameter]]:
    """Down [rank, in] and up [out, rank] of every adapted layer, up zero."""
    device = next(transformer.parameters()).device
    deltas = {}
    for name, module in transformer.named_modules():
        if isinstance(module, AdaptedLinear) and name.startswith("blocks.") and name.endswith(TARGETS):
            down = torch.randn(RANK, module.in_features, device=device) / module.in_features**0.5
            up = torch.zeros(module.out_features, RANK, device=device)
            deltas[name] = (nn.Parameter(down), nn.Parameter(up))
    return deltas


def as_adapters(deltas: dict[str, tuple[nn.Parameter, nn.Parameter]]) -> LaneAdapters:
    """All lanes share the one adapter at strength 1."""
    scale = {name: down.new_ones(1, RANK) for name, (down, _) in deltas.items()}
    return LaneAdapters(
        1, {name: LaneDelta(down[None], up[None], scale[name]) for name, (down, up) in deltas.items()}
    )


def write_peft(deltas: dict[str, tuple[Tensor, Tensor]], path: Path) -> None:
    """fp16, with the header diffusers reads rank and alpha from."""
    tensors = {}
    for name, (down, up) in deltas.items():
        tensors[f"transformer.{name}.lora_A.weight"] = down.detach().half().cpu().contiguous()
        tensors[f"transformer.{name}.lora_B.weight"] = up.detach().half().cpu().contiguous()
    header = {
        "transformer.r": RANK,
        "transformer.lora_alpha": RANK,
        "transformer.target_modules": sorted(TARGETS),
        "transformer.lora_bias": False,
        "transformer.use_rslora": False,
    }
    save_file(
        tensors, path, metadata={"format": "pt", "lora_adapter_metadata": json.dumps(header, sort_keys=True)}
    )


def train(trainee: Trainee, deltas: dict[str, tuple[nn.Parameter, nn.Parameter]], seconds: float) -> None:
    """Adam for that long, on whole clips and on chunks in turn."""
    parameters = [value for pair in deltas.values() for value in pair]
    optimizer = torch.optim.AdamW(parameters, lr=PEAK_RATE, betas=(0.9, 0.98), weight_decay=0.0)
    start, step = time.monotonic(), 0
    while (progress := (time.monotonic() - start) / seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = PEAK_RATE * min(1, (step + 1) / 30) * min(1.0, 1.5 * (1 - progress)) + 1e-6
        trainee.forward.adapters = as_adapters(deltas)
        loss = loss_of_kind(trainee, "whole" if step % 2 else "chunks", 1 + step % 3)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        if step % 40 == 0:
            log.info("step %d: loss %.4f", step, loss.detach())
        step += 1
    log.info("%d steps", step)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("trained", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=35)
    parser.add_argument("--clips", type=int, default=1500)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="lora %(relativeCreated)d ms %(message)s")
    torch.set_float32_matmul_precision("high")
    networks = load_networks(options.trained, options.device, with_transformer=True)
    for part in networks.parts().values():
        part.requires_grad_(False)
    drawn = draw_all(SEED, options.clips)
    forward = TrainingForward(networks.transformer, compiled=False)
    pool = encode(drawn.pop(), networks, options.device, "neon")
    for chunk in drawn:
        pool = pool.join(encode(chunk, networks, options.device, "neon"))
    masks = {first: chunk_mask(first, LATENT_FRAMES // CHUNK_FRAMES, options.device) for first in (1, 2, 3)}
    trainee = Trainee(networks, forward, pool, options.device, masks)
    trainee.add(None)
    for first in (1, 2, 3):
        trainee.fit[first] = trainee.fit[0]
    train_transformer.BATCHES = BATCHES
    deltas = new_deltas(networks.transformer)
    train(trainee, deltas, options.seconds)
    write_peft(deltas, options.out / "neon.safetensors")


if __name__ == "__main__":
    main()
