"""Every bench of this room: JSON lines on stdout, and a table for people at a path of choice."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from rushes.kernels.device import has_gpu
from rushes.kernels.timing import NO_GPU, STANDARD, Case, Failure, Row, results

HEADER = (
    "| kernel | case | MB | rushes us | GB/s | of a copy | of an equal copy | eager us | compile us "
    "| gain on compile |\n|---|---|---|---|---|---|---|---|---|---|\n"
)
VARIANTS_HEADER = "\n| kernel | case | as shipped us | fastest variant | us |\n|---|---|---|---|---|\n"


def all_cases() -> Iterator[Case]:
    # Imported here: without Triton this module can still say that no GPU is here.
    from rushes.kernels.adaln_modulate import bench as adaln_modulate
    from rushes.kernels.masked_step import bench as masked_step
    from rushes.kernels.rms_rotary import bench as rms_rotary

    return chain(adaln_modulate.cases(), masked_step.cases(), rms_rotary.cases())


def table(found: Sequence[Row | Failure]) -> str:
    """Markdown: a line a case; below it the fastest variant of each case, where measured, and what failed."""
    rows = [result for result in found if isinstance(result, Row)]
    failures = [
        f"\nFailed: {it.kernel}, {it.case}: {it.failure}\n" for it in found if isinstance(it, Failure)
    ]
    if not rows:
        return "Nothing was measured.\n" + "".join(failures)
    by_case: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        by_case.setdefault((row.kernel, row.case), {})[row.provider] = row
    first = rows[0]
    title = (
        f"{first.gpu}, torch {first.torch}, copy {first.copy_gb_per_s:.0f} GB/s, "
        f"median of {first.sample_count} samples with a cold L2; "
        "GB/s counts each input read and each output written once.\n\n"
    )
    lines = [_line(providers) for providers in by_case.values()]
    return title + HEADER + "".join(lines) + _variants(by_case) + "".join(failures)


def _line(providers: dict[str, Row]) -> str:
    ours, eager, compiled = (providers[name] for name in STANDARD)
    cells = (
        ours.kernel,
        ours.case,
        f"{ours.bytes_moved / 1e6:.1f}",
        f"{ours.median_us:.1f}",
        f"{ours.gb_per_s:.0f}",
        f"{ours.copy_share:.0%}",
        f"{ours.equal_copy_share:.0%}",
        f"{eager.median_us:.1f}",
        f"{compiled.median_us:.1f}",
        f"{compiled.median_us / ours.median_us:.2f}x",
    )
    return f"| {' | '.join(cells)} |\n"


def _variants(by_case: dict[tuple[str, str], dict[str, Row]]) -> str:
    lines = []
    for providers in by_case.values():
        ours = providers["rushes"]
        others = [row for name, row in providers.items() if name not in STANDARD]
        if others:
            best = min(others, key=lambda row: row.median_us)
            cells = (ours.kernel, ours.case, f"{ours.median_us:.1f}", best.provider, f"{best.median_us:.1f}")
            lines.append(f"| {' | '.join(cells)} |\n")
    return VARIANTS_HEADER + "".join(lines) if lines else ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Times every kernel against its reference.")
    parser.add_argument("--table", type=Path, help="where to write a Markdown table")
    parser.add_argument("--variants", action="store_true", help="also the other settings of the kernels")
    options = parser.parse_args()
    if not has_gpu():
        sys.stdout.write(NO_GPU)
        return 0
    found: list[Row | Failure] = []
    try:
        for result in results(all_cases(), options.variants):
            found.append(result)
            sys.stdout.write(result.to_json() + "\n")
            sys.stdout.flush()
    finally:  # what was measured is kept, whatever stopped the rest
        if options.table:
            options.table.write_text(table(found), encoding="utf-8")
    return int(any(isinstance(result, Failure) for result in found))


if __name__ == "__main__":
    sys.exit(main())
