"""The one way to time a kernel: parity first, then events on the GPU, a cold L2 before each sample, the
median.

A bench lists cases; `results` measures each against its reference, eager and compiled; a row is one JSON
line.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import Tensor

from rushes.kernels.device import gpu_facts, has_gpu

NO_GPU = "No GPU here: nothing was measured.\n"
# Read before each sample: many times any L2, and long enough for the host to queue the sample meanwhile.
SWEEP_BYTES = 2**30
COPY_BYTES = 2**31  # read and written by the copy that others are compared with

SAMPLE_COUNT = 100
STANDARD = ("rushes", "eager", "compile")

Tensors = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One shape of one kernel.

    `fused` and `reference` take `inputs` and return the same tensors. `bytes_moved` is the least any version
    can move: each input read once, each output written once. `tolerance` bounds |fused - reference| /
    |reference|, both as norms. `variants` are other settings of the kernel, measured on request.
    """

    kernel: str
    symbol: str
    label: str
    bytes_moved: int
    tolerance: float
    inputs: tuple[Any, ...]
    fused: Callable[..., Tensors]
    reference: Callable[..., Tensors]
    variants: Mapping[str, Callable[..., Tensors]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a bench. Shares are of a large copy and of a copy of as many bytes, both of the same
    run."""

    kernel: str
    case: str
    provider: str
    bytes_moved: int
    median_us: float
    p10_us: float
    p90_us: float
    sample_count: int
    gb_per_s: float
    copy_gb_per_s: float
    copy_share: float
    equal_copy_share: float
    error: float
    tolerance: float
    launched: tuple[str, ...]
    gpu: str
    torch: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class MeasurementError(Exception):
    """A case that must not be timed: the answer is wrong, or the kernel was not launched."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The line of a case that was not timed."""

    kernel: str
    case: str
    failure: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class Stopwatch:
    """Times work on the current GPU. State: holds the buffer whose reading clears the L2.

    It is read, not written: dirty lines would have to leave the cache during the sample.
    """

    def __init__(self) -> None:
        self._sweep = torch.zeros(SWEEP_BYTES // 4, device="cuda")

    def samples_us(self, run: Callable[[], object], sample_count: int, warmup_count: int = 5) -> list[float]:
        for _ in range(warmup_count):
            run()
        starts = [torch.cuda.Event(enable_timing=True) for _ in range(sample_count)]
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(sample_count)]
        for start, end in zip(starts, ends, strict=True):
            self._sweep.sum()
            start.record()
            run()
            end.record()
        torch.cuda.synchronize()
        return [1000 * start.elapsed_time(end) for start, end in zip(starts, ends, strict=True)]

    def copy_us(self, bytes_moved: int) -> float:
        """Median of a device to device copy that reads half of the bytes and writes the other half."""
        source = torch.randint(0, 255, (max(bytes_moved // 2, 1),), dtype=torch.uint8, device="cuda")
        target = torch.empty_like(source)
        return median(self.samples_us(lambda: target.copy_(source), 50))


def launched_kernels(run: Callable[[], object]) -> tuple[str, ...]:
    """Names of the kernels that a profiler saw on the GPU."""
    run()
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as trace:
        run()
        torch.cuda.synchronize()
    on_gpu = [event for event in trace.events() or [] if event.device_type == torch.autograd.DeviceType.CUDA]
    return tuple(sorted({event.name for event in on_gpu}))


def parity_error(got: Sequence[Tensor], want: Sequence[Tensor]) -> float:
    """The largest |got - want| / |want| of the outputs, in float64; NaN or infinity where the outputs have
    any."""
    errors = []
    for mine, theirs in zip(got, want, strict=True):
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            raise MeasurementError(
                f"outputs must be {tuple(theirs.shape)} {theirs.dtype}, got {tuple(mine.shape)} {mine.dtype}"
            )
        exact = theirs.double()
        difference = torch.linalg.vector_norm(mine.double() - exact)
        errors.append((difference / torch.linalg.vector_norm(exact)).item())
    return max(errors, key=lambda error: (math.isnan(error), error))


def results(cases: Iterable[Case], with_variants: bool) -> Iterator[Row | Failure]:
    """Each case measured: rows for rushes, eager, compile and the variants if wanted, or one failure."""
    stopwatch = Stopwatch()
    copy_gb_per_s = COPY_BYTES / stopwatch.copy_us(COPY_BYTES) / 1000
    for case in cases:
        torch.compiler.reset()
        compiled = torch.compile(case.reference, dynamic=False)
        providers = {"rushes": case.fused, "eager": case.reference, "compile": compiled}
        try:
            yield from _rows(
                case, providers | dict(case.variants if with_variants else {}), stopwatch, copy_gb_per_s
            )
        except MeasurementError as error:
            yield Failure(case.kernel, case.label, str(error))


def _rows(
    case: Case, providers: Mapping[str, Callable[..., Tensors]], stopwatch: Stopwatch, copy_gb_per_s: float
) -> list[Row]:
    errors = _errors(case, providers)
    launched = {name: launched_kernels(partial(providers[name], *case.inputs)) for name in STANDARD}
    if not any(case.symbol in name for name in launched["rushes"]):
        raise MeasurementError(
            f"{case.symbol} must be launched, got {', '.join(launched['rushes']) or 'nothing'}"
        )

    samples: dict[str, list[float]] = {name: [] for name in providers}
    for name in [*providers, *reversed(list(providers))]:  # there and back, so that drift meets all alike
        samples[name] += stopwatch.samples_us(partial(providers[name], *case.inputs), SAMPLE_COUNT // 2)
    equal_copy_us = stopwatch.copy_us(case.bytes_moved)
    rows = []
    for name, values in samples.items():
        p10, middle, p90 = (sorted(values)[SAMPLE_COUNT * share // 100] for share in (10, 50, 90))
        gb_per_s = case.bytes_moved / middle / 1000
        rows.append(
            Row(
                kernel=case.kernel,
                case=case.label,
                provider=name,
                bytes_moved=case.bytes_moved,
                median_us=round(middle, 2),
                p10_us=round(p10, 2),
                p90_us=round(p90, 2),
                sample_count=SAMPLE_COUNT,
                gb_per_s=round(gb_per_s, 1),
                copy_gb_per_s=round(copy_gb_per_s, 1),
                copy_share=round(gb_per_s / copy_gb_per_s, 4),
                equal_copy_share=round(equal_copy_us / middle, 4),
                error=errors[name],
                tolerance=case.tolerance,
                launched=launched.get(name, ()),
                gpu=gpu_facts().name,
                torch=torch.__version__,
            )
        )
    return rows


def _errors(case: Case, providers: Mapping[str, Callable[..., Tensors]]) -> dict[str, float]:
    want = case.reference(*case.inputs)
    errors = {name: parity_error(call(*case.inputs), want) for name, call in providers.items()}
    for name in errors.keys() - {
        "eager",
        "compile",
    }:  # a compiler may leave roundings out: its error is only told
        error = errors[name]
        if not error <= case.tolerance:  # so that NaN does not pass
            raise MeasurementError(f"the error of {name} must be at most {case.tolerance}, got {error}")
    return errors


def bench_main(cases: Callable[[], Iterable[Case]]) -> int:
    """The command line of one bench: JSON lines on stdout. Returns the exit code, 0 without a GPU."""
    parser = argparse.ArgumentParser(description="Times a kernel against its reference, eager and compiled.")
    parser.add_argument("--variants", action="store_true", help="also the other settings of the kernel")
    options = parser.parse_args()
    if not has_gpu():
        sys.stdout.write(NO_GPU)
        return 0
    has_failed = False
    for result in results(cases(), options.variants):
        sys.stdout.write(result.to_json() + "\n")
        sys.stdout.flush()
        has_failed |= isinstance(result, Failure)
    return int(has_failed)
