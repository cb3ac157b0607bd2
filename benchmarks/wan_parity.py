"""Our Wan beside diffusers' Wan, same random weights of the full 1.3B size, on one GPU.

    python benchmarks/wan_parity.py --out parity.json

For 480x832x81 and for three latent frames: the error of our bf16 to diffusers' fp32, beside the error of
diffusers' own bf16 (ours should be at most 1.2 times that), and the median time of both, taken in turns in
the same run with CUDA events. Then the same for decoding three latent frames. `--tiny` does it all on a CPU
with a tiny model, to test the script.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

TARGET_RATIO = 1.2
FULL = {
    "num_attention_heads": 12,
    "attention_head_dim": 128,
    "num_layers": 30,
    "ffn_dim": 8960,
    "text_dim": 4096,
}
TINY = {"num_attention_heads": 2, "attention_head_dim": 16, "num_layers": 2, "ffn_dim": 64, "text_dim": 32}
FULL_VAE: dict[str, object] = {}
TINY_VAE = {"base_dim": 8, "dim_mult": [1, 2, 2, 2], "num_res_blocks": 1}


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison. Errors are |x - fp32| / |fp32|, root mean square; times are medians in ms."""

    case: str
    diffusers_error: float
    our_error: float
    error_ratio: float
    diffusers_ms: float
    our_ms: float
    speed_up: float
    our_attention: str


@dataclass(frozen=True, slots=True)
class Bench:
    device: torch.device
    is_tiny: bool
    runs: int

    def latent(self, frames: int) -> Tensor:
        height, width = (8, 12) if self.is_tiny else (60, 104)
        generator = torch.Generator().manual_seed(frames)
        return torch.randn(1, 16, frames, height, width, generator=generator).to(self.device)

    def text(self, dim: int) -> Tensor:
        text = torch.randn(1, 512, dim, generator=torch.Generator().manual_seed(7))
        text[:, 40:] = 0
        return text.to(self.device)

    def medians_ms(self, first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
        """Both in turns, so that clocks and heat are shared."""
        pairs = []
        for index in range(self.runs + 2):
            pair = (self._ms(first), self._ms(second))
            if index >= 2:
                pairs.append(pair)
        return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)

    def _ms(self, call: Callable[[], object]) -> float:
        if self.device.type != "cuda":
            start_s = time.perf_counter()
            call()
            return (time.perf_counter() - start_s) * 1e3
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop)


def fill_random(module: nn.Module, device: torch.device) -> None:
    """Ones for norm weights, zeros for biases, normal(0, 0.02) for the rest."""
    generator = torch.Generator(device).manual_seed(0)
    for name, parameter in module.named_parameters():
        if name.endswith(".weight") and ".norm" in f".{name}":
            parameter.fill_(1.0)
        elif name.endswith(".bias"):
            parameter.zero_()
        else:
            parameter.normal_(0, 0.02, generator=generator)


def to_bf16(module: nn.Module, kept: list[str]) -> nn.Module:
    """bf16, but for the parts that diffusers keeps in fp32."""
    for name, parameter in module.named_parameters():
        if not set(kept) & set(name.split(".")):
            parameter.data = parameter.data.bfloat16()
    return module


def relative_error(got: Tensor, reference: Tensor) -> float:
    got, reference = got.double(), reference.double()
    return float((got - reference).square().mean().sqrt() / reference.square().mean().sqrt())


def row(case: str, errors: tuple[float, float], times_ms: tuple[float, float], attention: str) -> Row:
    theirs, ours = errors
    return Row(case, theirs, ours, ours / theirs, *times_ms, times_ms[0] / times_ms[1], attention)


def transformer_rows(bench: Bench) -> list[Row]:
    from diffusers import WanTransformer3DModel

    from rushes.backend.models.layers.attention import case_of, choose_attention
    from rushes.backend.models.wan.transformer import WanTransformer, WanTransformerConfig
    from rushes.backend.models.wan.weights import KEPT_FP32

    with bench.device:
        theirs = WanTransformer3DModel(**(TINY if bench.is_tiny else FULL)).eval().requires_grad_(False)
    fill_random(theirs, bench.device)
    with torch.device("meta"):
        ours = WanTransformer(WanTransformerConfig.from_json(theirs.config)).eval().requires_grad_(False)
    state = {
        name: value.clone() if any(part in name for part in KEPT_FP32) else value.bfloat16()
        for name, value in theirs.state_dict().items()
    }
    ours.load_state_dict(state, strict=True, assign=True)
    choice = choose_attention(case_of(ours.proj_out.weight, ours.config.attention_head_dim))
    ours.use_attention(choice)

    text = bench.text(ours.config.text_dim)
    timestep = torch.tensor([700.0], device=bench.device)
    cases = {"480x832x81, one forward": 21, "three latent frames, one forward": 3}
    references = {name: theirs(bench.latent(count), timestep, text).sample for name, count in cases.items()}
    theirs = to_bf16(theirs, theirs._keep_in_fp32_modules)
    rows = []
    for name, count in cases.items():
        latent, half_text = bench.latent(count).bfloat16(), text.bfloat16()

        def run_theirs(latent: Tensor = latent, half_text: Tensor = half_text) -> Tensor:
            return theirs(latent, timestep, half_text).sample

        def run_ours(latent: Tensor = latent, half_text: Tensor = half_text) -> Tensor:
            return ours(latent, timestep, half_text)

        errors = (
            relative_error(run_theirs(), references[name]),
            relative_error(run_ours(), references[name]),
        )
        keys = latent.shape[2] * latent.shape[3] * latent.shape[4] // 4
        rows.append(row(name, errors, bench.medians_ms(run_theirs, run_ours), choice.backend(keys).name))
    return rows


def decoder_row(bench: Bench) -> Row:
    from diffusers import AutoencoderKLWan

    from rushes.backend.models.wan.stream import StreamDecoder
    from rushes.backend.models.wan.vae import WanVae, WanVaeConfig

    theirs = AutoencoderKLWan(**(TINY_VAE if bench.is_tiny else FULL_VAE)).eval().requires_grad_(False)
    theirs = theirs.to(bench.device)
    latent = bench.latent(3)
    reference = theirs.decode(latent).sample
    theirs = theirs.bfloat16()
    ours = (
        WanVae(WanVaeConfig.from_json(theirs.config)).to(bench.device, torch.bfloat16).requires_grad_(False)
    )
    ours.load_state_dict(theirs.state_dict(), strict=True)
    stream = StreamDecoder(ours)
    half = latent.bfloat16()

    def run_ours() -> Tensor:
        state = stream.new_state()
        return torch.cat([stream.decode_next(part, state) for part in half.split(1, dim=2)], dim=2)

    def run_theirs() -> Tensor:
        return theirs.decode(half).sample

    errors = (relative_error(run_theirs(), reference), relative_error(run_ours(), reference))
    return row("three latent frames, decode", errors, bench.medians_ms(run_theirs, run_ours), "sdpa")


def table(rows: list[Row]) -> str:
    head = (
        f"{'case':34} {'error: diffusers':>16} {'ours':>9} {'ratio':>6} "
        f"{'ms: diffusers':>13} {'ours':>8} {'faster':>7} attention"
    )
    lines = [
        f"{r.case:34} {r.diffusers_error:16.2e} {r.our_error:9.2e} {r.error_ratio:6.2f} "
        f"{r.diffusers_ms:13.2f} {r.our_ms:8.2f} {r.speed_up:6.2f}x {r.our_attention}"
        for r in rows
    ]
    return "\n".join((head, *lines))


@torch.no_grad()
def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="write the rows as JSON to this path")
    parser.add_argument("--tiny", action="store_true", help="a tiny model on the CPU, to test the script")
    parser.add_argument("--runs", type=int, default=10, help="timed runs of each (default 10)")
    options = parser.parse_args()
    if not options.tiny and not torch.cuda.is_available():
        print("no CUDA device: nothing measured")
        return 0

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    device = torch.device("cpu" if options.tiny else "cuda")
    bench = Bench(device, options.tiny, options.runs)
    rows = [*transformer_rows(bench), decoder_row(bench)]
    machine = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    print(f"{machine}, torch {torch.__version__}, bf16, median of {options.runs}")
    print(table(rows))
    worst = max(r.error_ratio for r in rows)
    verdict = "held" if worst <= TARGET_RATIO else "missed"
    print(f"largest error ratio {worst:.2f}, target {TARGET_RATIO}: {verdict}")
    if options.out:
        told = {"machine": machine, "torch": torch.__version__, "runs": options.runs}
        options.out.write_text(json.dumps({**told, "rows": [asdict(r) for r in rows]}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
