"""What the compiler takes, and how near its predictions are.

    python -m benchmarks.compiler growth [--json FILE]
    python -m benchmarks.compiler costs [--checkpoint DIR] [--write] [--json FILE]

- growth: compile time over the number of nodes, a mixed catalog, verifier off, warm, median of 20; and the
  exponent of the growth between neighbours (1 is linear). Processor time, beside wall time.
- costs: times the parts of a checkpoint (transformer forwards of several lengths, a prompt, the autoencoder
  in and out), fits the cost table to them, and reports predicted against measured for whole jobs that the
  fit has not seen. `--write` puts the fit into compiler/ir/fitted_costs.py.
"""

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rushes.backend.models.registry import find_checkpoints
from rushes.compiler.compile import compile_workflow
from rushes.compiler.ir import fitted_costs
from rushes.compiler.ir.costs import Cost
from rushes.compiler.ir.facts import AdapterFacts, AssetFacts, CheckpointFacts, Target
from rushes.compiler.ir.spec import LoopSpec
from rushes.nodes.catalog import load_catalog

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS = ROOT / "backend" / "checkpoints"
TABLE = ROOT / "compiler" / "ir" / "fitted_costs.py"
NODE_COUNTS = (125, 250, 500, 1000, 2000, 5000)
FITTED_FRAMES = (5, 13, 29, 61)
JUDGED_FRAMES = (9, 45, 93)
CLIP = AssetFacts("shapes-source.mp4", "video", 96, 96, 45, 16.0, "d" * 64)

Document = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.compiler")
    commands = parser.add_subparsers(required=True)
    growth = commands.add_parser("growth")
    growth.add_argument("--runs", type=int, default=20)
    growth.set_defaults(run=measure_growth)
    costs = commands.add_parser("costs")
    costs.add_argument("--checkpoint", type=Path, default=CHECKPOINTS / "shapes")
    costs.add_argument("--runs", type=int, default=8)
    costs.add_argument("--write", action="store_true")
    costs.set_defaults(run=measure_costs)
    for command in (growth, costs):
        command.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    rows = given.run(given)
    sys.stdout.write(table(rows))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(rows[0])
    lines = [
        names,
        *(
            [f"{row[name]:.3f}" if isinstance(row[name], float) else str(row[name]) for name in names]
            for row in rows
        ),
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    return "".join(
        "  ".join(word.rjust(width) for word, width in zip(line, widths, strict=True)) + "\n"
        for line in lines
    )


# ---- growth --------------------------------------------------------------------------------------------


def mixed(node_count: int) -> Document:
    """A workflow of about so many nodes, of every category that computes."""
    nodes: dict[str, Any] = {"model": ("load_model", {})}
    edges: list[str] = []
    for index in range(max(1, (node_count - 1) // 11)):
        kinds: dict[str, Any] = {
            "prompt": ("prompt", {"text": f"star {index}"}),
            "lora": ("lora", {"strength": 0.5 + index % 7 * 0.1}),
            "sampler": ("sampler_settings", {"step_count": 4 + index % 3}),
            "generate": ("generate_video", {"seed": index}),
            "region": ("latent_mask", {"x": 0.1 + index % 50 / 100}),
            "time": ("temporal_mask", {}),
            "both": ("combine_masks", {}),
            "edit": ("edit_video", {"seed": index}),
            "overlay": ("mask_overlay", {}),
            "save": ("save_video", {"name": f"clip {index}"}),
            "look": ("preview", {}),
        }
        nodes |= {f"{name}{index}": kind for name, kind in kinds.items()}
        edges += [
            "model.model > generate#.model", "prompt#.prompt > generate#.prompt",
            "lora#.adapters > generate#.adapters",
            "sampler#.sampler > generate#.sampler", "region#.mask > both#.a", "time#.mask > both#.b",
            "both#.mask > edit#.mask", "generate#.video > edit#.source", "model.model > edit#.model",
            "prompt#.prompt > edit#.prompt", "edit#.video > save#.video", "generate#.video > overlay#.video",
            "both#.mask > overlay#.mask", "overlay#.video > look#.video",
        ]  # fmt: skip
        edges[-14:] = [edge.replace("#", str(index)) for edge in edges[-14:]]
    return document(nodes, edges)


def document(nodes: Mapping[str, Any], edges: Sequence[str]) -> Document:
    ends = [[end.split(".") for end in edge.split(" > ")] for edge in edges]
    return {
        "schema": "rushes.workflow/1",
        "graph": {
            "nodes": {node_id: {"type": kind, "params": params} for node_id, (kind, params) in nodes.items()},
            "edges": {f"e{index}": {"from": start, "to": end} for index, (start, end) in enumerate(ends)},
        },
    }


def measure_growth(given: argparse.Namespace) -> list[dict[str, Any]]:
    catalog, target = load_catalog(), target_of(_small())
    rows: list[dict[str, Any]] = []
    for node_count in NODE_COUNTS:
        workflow = mixed(node_count)

        def run(workflow: Document = workflow) -> None:
            if compile_workflow(workflow, catalog, target, verifies=False).spec is None:
                raise RuntimeError("the benchmark's workflow does not compile")

        run()
        wall, processor = timed(run, given.runs)
        size = len(workflow["graph"]["nodes"])
        before = rows[-1] if rows else None
        grown = 1.0
        if before is not None:
            grown = math.log(processor * 1000 / before["cpu_ms"]) / math.log(size / before["nodes"])
        rows.append({"nodes": size, "wall_ms": wall * 1000, "cpu_ms": processor * 1000, "exponent": grown})
    return rows


def timed(run: Callable[[], object], runs: int) -> tuple[float, float]:
    """Median wall and processor seconds."""
    wall, processor = [], []
    for _ in range(runs):
        began, began_cpu = time.perf_counter(), time.process_time()
        run()
        processor.append(time.process_time() - began_cpu)
        wall.append(time.perf_counter() - began)
    return statistics.median(wall), statistics.median(processor)


def _small() -> CheckpointFacts:
    return CheckpointFacts(
        checkpoint="shapes", family="wan", title="Shapes", latent_channels=16, spatial=8, temporal=4, patch=2,
        width_px=96, height_px=96, sizes_fixed=True, fps=16, frame_count_default=45, frame_count_max=93,
        chunk_latent_frames=3, step_count=4, flow_shift=3.0, guidance_scale=1.0, samplers=("euler", "unipc"),
        precisions=("fp32", "bf16"), control_keys=("w", "a", "s", "d"),
        capabilities=frozenset({"per_token_timesteps", "rollout", "edit", "adapters", "start_image"}),
        content_id="c" * 64,
    )  # fmt: skip


def target_of(facts: CheckpointFacts, device_kind: str = "cpu") -> Target:
    adapters = {"neon": AdapterFacts("neon", "a" * 64, 1)}
    return Target({facts.checkpoint: facts}, adapters, {CLIP.asset: CLIP}, device_kind)


# ---- costs ---------------------------------------------------------------------------------------------


def measure_costs(given: argparse.Namespace) -> list[dict[str, Any]]:
    family, folder, facts = find_checkpoints([given.checkpoint.parent])[given.checkpoint.name]
    parts = Parts(family.build(folder, device="cpu", precision="fp32"), facts, given.runs)
    forwards = [(parts.tokens(count), parts.forward(count)) for count in FITTED_FRAMES]
    per_token, per_forward = line(forwards)
    pixels = [facts.width_px * facts.height_px * count for count in FITTED_FRAMES]
    cost = Cost(
        forward_s=max(0.0, per_forward),
        token_forward_s=per_token,
        text_s=parts.text(),
        pixel_encode_s=slope(zip(pixels, map(parts.encode, FITTED_FRAMES), strict=True)),
        pixel_decode_s=slope(zip(pixels, map(parts.decode, FITTED_FRAMES), strict=True)),
    )
    key = (facts.checkpoint, "cpu")
    rows = [judged(parts, facts, key, cost, count) for count in JUDGED_FRAMES]
    if given.write:
        TABLE.write_text(source({**fitted_costs.COSTS, key: cost}), encoding="utf-8")
    return rows


class Parts:
    """The parts of a loaded checkpoint, each timed alone: the least of several runs."""

    def __init__(self, components: Any, facts: CheckpointFacts, runs: int) -> None:
        import torch

        torch.set_num_threads(2)
        self._torch, self._components, self._facts, self._runs = torch, components, facts, runs
        self._text = components.text_kv(components.encode_text(["a large red star moves left over sand"]))

    def tokens(self, frame_count: int) -> int:
        side = self._facts.spatial * self._facts.patch
        return (
            self._latent(frame_count).shape[2]
            * (self._facts.height_px // side)
            * (self._facts.width_px // side)
        )

    def forward(self, frame_count: int) -> float:
        latent = self._latent(frame_count)
        sigma = self._torch.full((1,), 0.5)
        return self._least(lambda: self._components.predict(latent, sigma, self._text))

    def text(self) -> float:
        texts = ["a small blue ring moves up over a green ground"]
        return self._least(lambda: self._components.text_kv(self._components.encode_text(texts)))

    def encode(self, frame_count: int) -> float:
        size = (frame_count, self._facts.height_px, self._facts.width_px, 3)
        frames = self._torch.randint(0, 255, size, dtype=self._torch.uint8)
        return self._least(lambda: self._components.encode_video(frames))

    def decode(self, frame_count: int) -> float:
        latent = self._latent(frame_count)
        return self._least(lambda: self._components.decoder().push(latent))

    def job(self, frame_count: int, step_count: int) -> float:
        """A generate, part after part, as a job runs it."""
        return self.text() + step_count * self.forward(frame_count) + self.decode(frame_count)

    def _latent(self, frame_count: int) -> Any:
        facts = self._facts
        frames = 1 + (frame_count - 1) // facts.temporal
        size = (
            1,
            facts.latent_channels,
            frames,
            facts.height_px // facts.spatial,
            facts.width_px // facts.spatial,
        )
        return self._torch.zeros(size)

    def _least(self, run: Callable[[], object]) -> float:
        run()
        seconds = []
        for _ in range(self._runs):
            began = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - began)
        return min(seconds)


def judged(
    parts: Parts, facts: CheckpointFacts, key: tuple[str, str], cost: Cost, frame_count: int
) -> dict[str, Any]:
    """Predicted by the compiler with the new fit, against measured."""
    nodes = {
        "model": ("load_model", {"checkpoint": facts.checkpoint}),
        "prompt": ("prompt", {}),
        "generate": ("generate_video", {"frame_count": frame_count}),
        "look": ("preview", {}),
    }
    edges = ["model.model > generate.model", "prompt.prompt > generate.prompt", "generate.video > look.video"]
    target = target_of(replace(facts, checkpoint=key[0]))
    spec = compile_workflow(document(nodes, edges), load_catalog(), target).spec
    if spec is None:
        raise RuntimeError("the benchmark's workflow does not compile")
    (loop,) = [stage for stage in spec.stages if isinstance(stage, LoopSpec)]
    pixels = facts.width_px * facts.height_px * frame_count
    tokens = parts.tokens(frame_count)
    predicted = cost.text_s + loop.trip_count * cost.forward(tokens) + pixels * cost.pixel_decode_s
    measured = parts.job(frame_count, loop.trip_count)
    shipped = None if spec.estimate is None else spec.estimate.seconds
    return {
        "frames": frame_count,
        "predicted_s": predicted,
        "measured_s": measured,
        "off_percent": 100 * (predicted / measured - 1),
        "shipped_table_s": shipped,
    }


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Slope and intercept, by least squares of relative errors."""
    weights = [1 / seconds**2 for _, seconds in points]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, points, strict=True)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, points, strict=True)) / total
    spread = sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points, strict=True))
    rise = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points, strict=True)) / spread
    return rise, mean_y - rise * mean_x


def slope(points: Any) -> float:
    """The median of seconds per unit."""
    return statistics.median(seconds / units for units, seconds in points)


def source(costs: Mapping[tuple[str, str], Cost]) -> str:
    """The text of the module that holds the table."""
    entries = []
    for (checkpoint, device), cost in sorted(costs.items()):
        fields = "".join(f"        {name}={value:.3g},\n" for name, value in asdict(cost).items())
        entries.append(f'    ("{checkpoint}", "{device}"): Cost(\n{fields}    ),\n')
    head = TABLE.read_text(encoding="utf-8").split("COSTS: Mapping", 1)[0]
    return f"{head}COSTS: Mapping[tuple[str, str], Cost] = {{\n{''.join(entries)}}}\n"


if __name__ == "__main__":
    main()
