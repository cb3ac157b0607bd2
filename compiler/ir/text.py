"""A spec as text a person can read."""

from __future__ import annotations

from itertools import groupby

from rushes.compiler.ir.spec import Attr, Estimate, LoopSpec, NodeEstimate, PipelineSpec, StageSpec

HIDDEN = frozenset({"content_id", "content_ids"})
SHOWN_TEXT = 72
SHOWN_ITEMS = 24
WIDTH = 100


def to_text(spec: PipelineSpec) -> str:
    """Level and estimate, then a stage a paragraph, then the outputs and what each node costs.

    generate.latent = denoise(model=model.model, conditioning=prompt.conditioning)
        4 times: predict, step, preview
        frame_count 45, seed 7, ...
    """
    blocks = [_heading(spec)]
    blocks.extend(_stage(stage) for stage in spec.stages)
    outputs = [f"    {output.kind} of {output.value} at {output.node_id}" for output in spec.outputs]
    blocks.append("\n".join(["outputs", *outputs]))
    if spec.estimate is not None and spec.estimate.nodes:
        blocks.append("\n".join(["cost", *(f"    {_cost(node)}" for node in spec.estimate.nodes)]))
    return "\n\n".join(blocks) + "\n"


def _heading(spec: PipelineSpec) -> str:
    parts = [f"pipeline at level {spec.level}"]
    if spec.estimate is not None:
        parts.extend(_estimate(spec, spec.estimate))
    return ", ".join(parts)


def _estimate(spec: PipelineSpec, estimate: Estimate) -> list[str]:
    is_endless = any(isinstance(stage, LoopSpec) and stage.trip_count == 0 for stage in spec.stages)
    each = " per second of video" if is_endless else ""
    seconds = "time not measured" if estimate.seconds is None else f"about {estimate.seconds:.2f} s{each}"
    return [seconds, f"{estimate.bytes / 1e6:.1f} MB{each} beside the weights"]


def _cost(node: NodeEstimate) -> str:
    seconds = "not measured" if node.seconds is None else f"{node.seconds:.3f} s"
    return f"{node.node_id}: {seconds}, {node.bytes / 1e6:.1f} MB"


def _stage(stage: StageSpec | LoopSpec) -> str:
    reads = ", ".join(f"{port}={value}" for port, value in stage.reads)
    written = ", ".join(value for _, value in stage.writes)
    target = f"{written} = " if written else f"{stage.node_id}: "
    lines = [f"{target}{stage.op}({reads})"]
    if len(lines[0]) > WIDTH:
        lines = [f"{target}{stage.op}(", *(f"    {line}" for line in _wrapped(reads.split(", "))), ")"]
    if isinstance(stage, LoopSpec):
        times = f"{stage.trip_count} times" if stage.trip_count else "until stopped"
        lines.append(f"    {times}: {', '.join(stage.body)}")
    shown = [f"{name} {_value(value)}" for name, value in stage.attrs if name not in HIDDEN]
    lines.extend(f"    {line}" for line in _wrapped(shown))
    return "\n".join(lines)


def _wrapped(words: list[str]) -> list[str]:
    """Words joined by commas, a new line before one that would pass the width."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 2 + len(word) <= WIDTH:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    return lines


def _value(value: Attr) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        return f'"{value if len(value) <= SHOWN_TEXT else value[: SHOWN_TEXT - 3] + "..."}"'
    if isinstance(value, tuple):
        return f"[{', '.join(_runs(value))}]"
    return str(value)


def _runs(items: tuple[Attr, ...]) -> list[str]:
    """Items, equal lists side by side counted: `["w"] x6`; the end of a long list cut off."""
    words: list[str] = []
    for item, group in groupby(items):
        count = len(list(group))
        is_run = isinstance(item, tuple) and count > 1
        words.extend([f"{_value(item)} x{count}"] if is_run else [_item(item)] * count)
    cut = len(words) - SHOWN_ITEMS
    return words if cut <= 0 else [*words[:SHOWN_ITEMS], f"and {cut} more"]


def _item(value: Attr) -> str:
    return f"{value:.4g}" if isinstance(value, float) else _value(value)
