"""Our Wan beside diffusers' Wan, same random weights of the full 1.3B size, on one GPU.

    python benchmarks/wan_parity.py --out parity.json

For 480x832x81 and for three latent frames: the error of our bf16 to diffusers' fp32, beside the error of
diffusers' own bf16 (ours should be at most 1.2 times that), the first layer where that does not hold, and the
median times of diffusers, of our plain PyTorch, of our kernels, of a graph of these, and of a step of the
engine around that graph, taken in turns in the same run with CUDA events. Then three latent frames with a
history of nine, the kernels of one forward as a profiler saw them, and the decoding of three latent frames.
`--tiny` does it all on a CPU with a tiny model, kernels interpreted, to test the script.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

TARGET_RATIO = 1.2
TARGET_MS = 36.0
TARGET_OVERHEAD = 0.02
OUR_KERNELS = ("_adaln_modulate_kernel", "_rms_rotary_kernel")
ENGINE_STEPS = 10
HISTORY_FRAMES = 9
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
SMALL = "three latent frames"
LARGE = "480x832x81"

Run = Callable[[], Tensor]


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison. Errors are |x - fp32| / |fp32|, root mean square; times are medians in ms."""

    case: str
    diffusers_error: float
    our_error: float
    error_ratio: float
    attention: str
    ms: Mapping[str, float]
    notes: Mapping[str, object] = field(default_factory=dict)


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

    def medians_ms(
        self, calls: Mapping[str, tuple[Callable[[], object], int]], runs: int
    ) -> dict[str, float]:
        """Each call and how many forwards it makes; all in turns, so that clocks and heat are shared."""
        samples: dict[str, list[float]] = {name: [] for name in calls}
        for index in range(runs + 1):
            for name, (call, forwards) in calls.items():
                spent_ms = self._ms(call) / forwards
                if index:
                    samples[name].append(spent_ms)
        return {name: statistics.median(values) for name, values in samples.items()}

    def _ms(self, call: Callable[[], object]) -> float:
        if self.device.type != "cuda":
            start_s = time.perf_counter()
            call()
            return (time.perf_counter() - start_s) * 1e3
        torch.cuda.synchronize()
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop)


class Again:
    """Stands in for a graph where there is no GPU, so that the script can be tested."""

    def __init__(self, work: Run) -> None:
        self._work = work

    def record(self, work: Run) -> "Again":
        return Again(work)

    def replay(self) -> Tensor:
        return self._work()


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


def to_bf16(module: nn.Module, kept: Sequence[str]) -> nn.Module:
    """bf16, but for the parts that diffusers keeps in fp32."""
    for name, parameter in module.named_parameters():
        if not set(kept) & set(name.split(".")):
            parameter.data = parameter.data.bfloat16()
    return module


def relative_error(got: Tensor, reference: Tensor) -> float:
    got, reference = got.float(), reference.float()
    return float((got - reference).square().mean().sqrt() / reference.square().mean().sqrt())


def tap_names(layers: int) -> list[str]:
    """Layers that both models call, and call by the same name, in the order they run."""
    inner = ("attn1.to_out.0", "attn2.to_out.0", "ffn.net.2")
    blocks = [f"blocks.{index}.{name}" for index in range(layers) for name in inner]
    return ["condition_embedder.time_proj", *blocks, "proj_out"]


def taps(model: nn.Module, run: Run) -> dict[str, Tensor]:
    """What each of these layers gave in one run."""
    seen: dict[str, Tensor] = {}

    def keep(name: str, _module: nn.Module, _inputs: object, output: Tensor) -> None:
        seen[name] = output.detach().clone()

    names = tap_names(len(model.get_submodule("blocks")._modules))
    hooks = [model.get_submodule(name).register_forward_hook(partial(keep, name)) for name in names]
    run()
    for hook in hooks:
        hook.remove()
    return {name: seen[name] for name in names}


def diverging_tap(
    ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor], exact: Mapping[str, Tensor]
) -> str:
    """The first layer whose error is more than the target times diffusers', with both errors."""
    for name, reference in exact.items():
        mine, other = (relative_error(side[name].view_as(reference), reference) for side in (ours, theirs))
        if mine > TARGET_RATIO * other + 1e-6:
            return f"{name}: ours {mine:.2e}, diffusers {other:.2e}"
    return "none"


def launched(bench: Bench, run: Run) -> dict[str, tuple[int, float]]:
    """Kernels of one run: how often, and microseconds in all, the longest first."""
    run()
    kind = torch.profiler.ProfilerActivity
    activity = kind.CUDA if bench.device.type == "cuda" else kind.CPU
    with torch.profiler.profile(activities=[activity]) as trace:
        run()
        if bench.device.type == "cuda":
            torch.cuda.synchronize()
    found = {event.key: (event.count, float(event.self_device_time_total)) for event in trace.key_averages()}
    return dict(sorted(found.items(), key=lambda item: -item[1][1]))


class Models:
    """Both models on the same weights: diffusers' in fp32 until `halve`, ours in bf16."""

    def __init__(self, bench: Bench) -> None:
        from diffusers import WanTransformer3DModel

        from rushes.backend.models.layers.attention import case_of, choose_attention
        from rushes.backend.models.wan.transformer import WanTransformer, WanTransformerConfig
        from rushes.backend.models.wan.weights import KEPT_FP32

        with bench.device:
            self.theirs = (
                WanTransformer3DModel(**(TINY if bench.is_tiny else FULL)).eval().requires_grad_(False)
            )
        fill_random(self.theirs, bench.device)
        config = WanTransformerConfig.from_json(self.theirs.config)
        with torch.device("meta"):
            self.ours = WanTransformer(config).eval().requires_grad_(False)
        state = {
            name: value.clone() if any(part in name for part in KEPT_FP32) else value.bfloat16()
            for name, value in self.theirs.state_dict().items()
        }
        self.ours.load_state_dict(state, strict=True, assign=True)
        self.choice = choose_attention(case_of(self.ours.proj_out.weight, config.attention_head_dim))
        self.ours.use_attention(self.choice)
        self.text = bench.text(config.text_dim)
        self.timestep = torch.tensor([700.0], device=bench.device)

    def halve(self) -> None:
        to_bf16(self.theirs, self.theirs._keep_in_fp32_modules)

    def their_run(self, latent: Tensor) -> Run:
        dtype = self.theirs.proj_out.weight.dtype
        given, text = latent.to(dtype), self.text.to(dtype)
        return lambda: self.theirs(given, self.timestep, text).sample

    def our_run(self, latent: Tensor, text: Any) -> Run:
        given = latent.bfloat16()
        return lambda: self.ours(given, self.timestep, text)


def components_of(models: Models, vae: nn.Module, bench: Bench) -> Any:
    """Our transformer as the engine has it. Prompts are encoded already, so there is no text encoder."""
    from rushes.backend.models.wan.components import WanComponents
    from rushes.compiler.ir.facts import CheckpointFacts

    height, width = bench.latent(1).shape[3:]
    facts = CheckpointFacts(
        checkpoint="random", family="wan", title="Random", latent_channels=16, spatial=8, temporal=4, patch=2,
        width_px=8 * width, height_px=8 * height, sizes_fixed=False, fps=16, frame_count_default=81,
        frame_count_max=81, chunk_latent_frames=3, step_count=4, flow_shift=3.0, guidance_scale=1.0,
        samplers=("euler", "unipc"), precisions=("bf16",), control_keys=(), capabilities=frozenset(),
        content_id="",
    )  # fmt: skip
    return WanComponents(facts, models.ours, vae, None, None, None)  # type: ignore[arg-type]


class Engine:
    """What the engine does around a forward: prepare, batch, replay, step. Without its queues."""

    def __init__(self, components: Any, text: Any, recorder: Any) -> None:
        from rushes.backend.engine.capture import CapturedPredict
        from rushes.backend.engine.loops.forward import Forwarder

        self.captured = CapturedPredict(components, recorder)
        self._forwarder = Forwarder(components)
        self._forwarder._captured = self.captured
        self._text = text

    def steps(self, noise: Tensor, count: int) -> Tensor:
        from rushes.backend.engine.loops.denoise import DenoiseLoop, DenoiseTask
        from rushes.backend.engine.loops.guidance import Guidance
        from rushes.backend.engine.loops.samplers import SAMPLERS

        sigmas = tuple(1.0 - index / count for index in range(count + 1))
        loop = DenoiseLoop(DenoiseTask(sigmas, SAMPLERS["euler"], Guidance(1.0), noise, (self._text,)))
        state = loop.init()
        while not loop.is_done(state):
            (velocity,) = self._forwarder.run([loop.prepare(state)])
            loop.advance(state, velocity)
        return loop.finalize(state)


def recorder_for(bench: Bench) -> Any:
    from rushes.backend.engine.capture import CudaRecorder

    return CudaRecorder() if bench.device.type == "cuda" else Again(lambda: torch.empty(0))


def forward_row(bench: Bench, models: Models, components: Any, name: str, reference: Tensor) -> Row:
    """One size, without history."""
    frames, runs = (3, bench.runs) if name == SMALL else (21, max(bench.runs // 3, 2))
    latent, text = bench.latent(frames), components.text_kv(models.text)
    run_theirs, run_ours = models.their_run(latent), models.our_run(latent, text)
    sigma = torch.full((1, frames), 0.7, device=bench.device)

    def plainly() -> Tensor:
        models.ours.use_kernels(False)
        result = run_ours()
        models.ours.use_kernels(True)
        return result

    errors = relative_error(run_theirs(), reference), relative_error(run_ours(), reference)
    calls: dict[str, tuple[Callable[[], object], int]] = {
        "diffusers": (run_theirs, 1),
        "kernels": (run_ours, 1),
    }
    calls["plain"] = (plainly, 1)
    notes: dict[str, object] = {"error of plain": relative_error(plainly(), reference)}
    if name == SMALL:
        try:
            captured_calls(bench, components, (latent, sigma, text), calls, notes)
        except RuntimeError as error:  # told, so that the other measurements are kept
            notes["recording failed"] = str(error)
    ms = bench.medians_ms(calls, runs)
    if "engine" in ms:
        notes["engine overhead"] = ms["engine"] / ms["graph"] - 1
    keys = frames * latent.shape[3] * latent.shape[4] // 4
    theirs, ours = errors
    return Row(name, theirs, ours, ours / theirs, models.choice.backend(keys).name, ms, notes)


def captured_calls(
    bench: Bench,
    components: Any,
    given: tuple[Tensor, Tensor, Any],
    calls: dict[str, tuple[Callable[[], object], int]],
    notes: dict[str, object],
) -> None:
    """Add a bare graph and the engine around one to what is timed."""
    latent, sigma, text = given
    recording = recorder_for(bench).record(lambda: components.predict(latent, sigma, text))
    engine = Engine(components, text, recorder_for(bench))
    engine.steps(latent, 3)
    captured = engine.captured(latent, sigma, text)
    notes["graph has the bits of the launches"] = bool(
        torch.equal(captured, components.predict(latent, sigma, text))
        and torch.equal(captured, recording.replay())
    )
    notes["recordings"] = engine.captured.recording_count

    def replays() -> None:
        for _ in range(ENGINE_STEPS):
            recording.replay()

    calls["graph"] = (replays, ENGINE_STEPS)
    calls["engine"] = (lambda: engine.steps(latent, ENGINE_STEPS), ENGINE_STEPS)


def history_row(bench: Bench, models: Models, components: Any) -> Row:
    """Three latent frames that see nine more. Beside the same forward in plain PyTorch, not diffusers."""
    from rushes.backend.engine.capture import CapturedPredict

    latent, text = bench.latent(3), components.text_kv(models.text)
    sigma = torch.full((1, 3), 0.7, device=bench.device)
    cache = components.new_cache(
        1, sink_frames=0, window_frames=HISTORY_FRAMES, height=latent.shape[3], width=latent.shape[4]
    )
    for _ in range(HISTORY_FRAMES // 3):
        components.predict(latent, sigma * 0, text, cache=cache, commit=True)
    captured = CapturedPredict(components, recorder_for(bench))

    def run_captured() -> Tensor:
        return captured(latent, sigma, text, cache=cache)

    def run_kernels() -> Tensor:
        return components.predict(latent, sigma, text, cache=cache)

    for _ in range(3):
        run_captured()
    same = bool(torch.equal(run_captured(), run_kernels()))
    models.ours.use_kernels(False)
    plain = run_kernels()
    models.ours.use_kernels(True)
    ms = bench.medians_ms({"kernels": (run_kernels, 1), "graph": (run_captured, 1)}, bench.runs)
    notes = {
        "graph has the bits of the launches": same,
        "recordings": captured.recording_count,
        "difference from plain": relative_error(run_kernels(), plain),
    }
    keys = (3 + HISTORY_FRAMES) * latent.shape[3] * latent.shape[4] // 4
    return Row(
        f"{SMALL}, {HISTORY_FRAMES} before", 0.0, 0.0, 0.0, models.choice.backend(keys).name, ms, notes
    )


def tap_report(bench: Bench, models: Models, exact: Mapping[str, Tensor], text: Any) -> dict[str, str]:
    """The first diverging layer with our kernels and without."""
    latent = bench.latent(3)
    run_theirs, run_ours = models.their_run(latent), models.our_run(latent, text)
    theirs = taps(models.theirs, run_theirs)
    found = {"kernels": diverging_tap(taps(models.ours, run_ours), theirs, exact)}
    models.ours.use_kernels(False)
    found["plain"] = diverging_tap(taps(models.ours, run_ours), theirs, exact)
    models.ours.use_kernels(True)
    return found


def trace_report(bench: Bench, models: Models, text: Any) -> dict[str, object]:
    """Kernels of one forward with our kernels and without."""
    run_ours = models.our_run(bench.latent(3), text)
    on = launched(bench, run_ours)
    models.ours.use_kernels(False)
    off = launched(bench, run_ours)
    models.ours.use_kernels(True)
    return {
        "with kernels": on,
        "without": off,
        "ours when on": of_ours(on),
        "ours when off": of_ours(off),
    }


def of_ours(kernels: Mapping[str, tuple[int, float]]) -> dict[str, int]:
    """Launches of our own kernels."""
    return {own: sum(count for name, (count, _) in kernels.items() if own in name) for own in OUR_KERNELS}


def build_vaes(bench: Bench) -> tuple[Any, Any]:
    """diffusers' in fp32, ours in bf16."""
    from diffusers import AutoencoderKLWan

    from rushes.backend.models.wan.vae import WanVae, WanVaeConfig

    with bench.device:
        theirs = AutoencoderKLWan(**(TINY_VAE if bench.is_tiny else FULL_VAE)).eval().requires_grad_(False)
        ours = WanVae(WanVaeConfig.from_json(theirs.config)).requires_grad_(False)
    ours.load_state_dict(theirs.state_dict(), strict=True)
    return theirs, ours.to(torch.bfloat16)


def decoder_row(bench: Bench, theirs: Any, ours: Any) -> Row:
    from rushes.backend.models.wan.stream import StreamDecoder

    latent = bench.latent(3)
    reference = theirs.decode(latent).sample
    theirs = theirs.bfloat16()
    stream = StreamDecoder(ours)
    half = latent.bfloat16()

    def run_ours() -> Tensor:
        state = stream.new_state()
        return torch.cat([stream.decode_next(part, state) for part in half.split(1, dim=2)], dim=2)

    def run_theirs() -> Tensor:
        return theirs.decode(half).sample

    other, mine = relative_error(run_theirs(), reference), relative_error(run_ours(), reference)
    ms = bench.medians_ms({"diffusers": (run_theirs, 1), "plain": (run_ours, 1)}, max(bench.runs // 2, 2))
    return Row(f"{SMALL}, decode", other, mine, mine / other, "sdpa", ms)


COLUMNS = ("diffusers", "plain", "kernels", "graph", "engine")


def table(rows: Sequence[Row]) -> str:
    head = f"{'case':32} {'error: diffusers':>16} {'ours':>9} {'ratio':>6}  " + " ".join(
        f"{name + ' ms':>12}" for name in COLUMNS
    )
    lines = [head]
    for r in rows:
        times = " ".join(f"{r.ms[name]:12.2f}" if name in r.ms else " " * 12 for name in COLUMNS)
        lines.append(
            f"{r.case:32} {r.diffusers_error:16.2e} {r.our_error:9.2e} {r.error_ratio:6.2f}  {times} "
            f"{r.attention}"
        )
        lines.extend(f"    {name}: {value}" for name, value in r.notes.items())
    return "\n".join(lines)


def verdict(rows: Sequence[Row]) -> str:
    worst = max(r.error_ratio for r in rows)
    small = next(r for r in rows if r.case == SMALL)
    if "engine" not in small.ms:
        return f"largest error ratio {worst:.2f}, target {TARGET_RATIO}; nothing was recorded: missed"
    overhead = small.ms["engine"] / small.ms["graph"] - 1
    told = (
        (f"largest error ratio {worst:.2f}, target {TARGET_RATIO}", worst <= TARGET_RATIO),
        (
            f"a step of {SMALL} {small.ms['engine']:.2f} ms, target {TARGET_MS}",
            small.ms["engine"] <= TARGET_MS,
        ),
        (f"engine over graph {overhead:.2%}, target {TARGET_OVERHEAD:.0%}", overhead <= TARGET_OVERHEAD),
    )
    return "\n".join(f"{line}: {'held' if is_held else 'missed'}" for line, is_held in told)


def measure(bench: Bench) -> dict[str, Any]:
    models = Models(bench)
    sizes = (SMALL,) if bench.is_tiny else (SMALL, LARGE)
    references = {name: models.their_run(bench.latent(3 if name == SMALL else 21))() for name in sizes}
    exact = taps(models.theirs, models.their_run(bench.latent(3)))
    models.halve()
    models.ours.use_kernels(True)
    vaes = build_vaes(bench)
    components = components_of(models, vaes[1], bench)
    text = components.text_kv(models.text)
    diverging = tap_report(bench, models, exact, text)
    exact.clear()
    rows = [forward_row(bench, models, components, name, references[name]) for name in sizes]
    rows.append(history_row(bench, models, components))
    trace = trace_report(bench, models, text)
    rows.append(decoder_row(bench, *vaes))
    return {"rows": rows, "diverging": diverging, "trace": trace}


@torch.no_grad()
def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="write everything as JSON to this path")
    parser.add_argument("--tiny", action="store_true", help="a tiny model on the CPU, to test the script")
    parser.add_argument("--runs", type=int, default=10, help="timed runs of each (default 10)")
    options = parser.parse_args()
    if not options.tiny and not torch.cuda.is_available():
        print("no CUDA device: nothing measured")
        return 0

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    device = torch.device("cpu" if options.tiny else "cuda")
    found = measure(Bench(device, options.tiny, options.runs))
    machine = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    print(f"{machine}, torch {torch.__version__}, bf16, median of {options.runs}")
    print(table(found["rows"]))
    print("first diverging layer:", ", ".join(f"{name}: {tap}" for name, tap in found["diverging"].items()))
    trace = found["trace"]
    print(f"our launches: {trace['ours when on']} with the dispatch on, {trace['ours when off']} with it off")
    for name, (count, spent_us) in list(trace["with kernels"].items())[:16]:
        print(f"{spent_us:10.0f} us {count:5} x {name[:110]}")
    print(verdict(found["rows"]))
    if options.out:
        told = {"machine": machine, "torch": torch.__version__, "runs": options.runs, **found}
        told["rows"] = [asdict(r) for r in found["rows"]]
        options.out.write_text(json.dumps(told, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    if "--tiny" in sys.argv:
        os.environ["TRITON_INTERPRET"] = "1"  # before anything imports Triton
    raise SystemExit(main())
