import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from rushes.kernels.bench import table
from rushes.kernels.device import gpu_facts
from rushes.kernels.timing import (
    Case,
    Failure,
    MeasurementError,
    Row,
    launched_kernels,
    parity_error,
    results,
)

BENCHES = ["rushes.kernels.bench", "rushes.kernels.adaln_modulate.bench", "rushes.kernels.masked_step.bench"]


@pytest.mark.parametrize("module", BENCHES)
def test_a_bench_without_a_gpu_says_so_and_exits_with_0(module: str, root: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")

    done = subprocess.run(
        [sys.executable, "-m", module], cwd=root, capture_output=True, text=True, check=False, timeout=120
    )

    assert (done.returncode, done.stdout) == (0, "No GPU here: nothing was measured.\n")


def test_facts_of_a_gpu_that_is_not_there_are_refused() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")

    with pytest.raises(RuntimeError, match="there is none here"):
        gpu_facts()


def test_the_error_is_the_largest_of_the_outputs_and_nan_beats_all() -> None:
    one = torch.ones(4)

    assert parity_error([one], [one]) == 0
    assert parity_error([one, one * 1.5], [one, one]) == pytest.approx(0.5)
    assert math.isnan(parity_error([one, one * math.nan, one * 9], [one, one, one]))


def test_outputs_of_another_dtype_are_not_compared() -> None:
    with pytest.raises(
        MeasurementError, match=r"outputs must be \(4,\) torch.float32, got \(4,\) torch.float16"
    ):
        parity_error([torch.ones(4).half()], [torch.ones(4)])


def test_a_row_is_one_line_of_json() -> None:
    line = row("rushes", 10.0).to_json()

    assert "\n" not in line
    assert json.loads(line)["launched"] == ["_kernel"]


def test_the_table_shows_a_case_a_line_its_fastest_variant_and_what_failed() -> None:
    rows = [row("rushes", 10), row("eager", 40), row("compile", 20), row("4 rows", 9), row("2 rows", 8)]

    text = table([*rows, Failure("k", "other", "the error is nan")])

    assert "| k | 1x2 | 1.0 | 10.0 | 100 | 25% | 50% | 40.0 | 20.0 | 2.00x |" in text
    assert "| k | 1x2 | 10.0 | 2 rows | 8.0 |" in text
    assert "Failed: k, other: the error is nan" in text


def test_a_table_of_nothing_says_so() -> None:
    assert table([]) == "Nothing was measured.\n"


@pytest.mark.gpu
@pytest.mark.filterwarnings("default")
def test_a_profile_names_what_ran_on_the_gpu(gpu: str) -> None:
    x = torch.ones(1000, device=gpu)

    assert any("elementwise" in name for name in launched_kernels(lambda: x + 1))


@pytest.mark.gpu
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("factor", "symbol", "failure"),
    [(1, "elementwise", ""), (2, "elementwise", "the error of rushes"), (1, "no_such", "must be launched")],
)
def test_a_case_is_timed_only_if_right_and_launched(
    factor: float, symbol: str, failure: str, gpu: str
) -> None:
    x = torch.randn(1 << 20, device=gpu)
    case = Case(
        kernel="k",
        symbol=symbol,
        label="1",
        bytes_moved=2 * x.nbytes,
        tolerance=1e-6,
        inputs=(x,),
        fused=lambda x: ((x + 1) * factor,),
        reference=lambda x: (x + 1,),
    )

    found = list(results([case], with_variants=False))

    if failure:
        assert [type(one) for one in found] == [Failure]
        assert failure in found[0].to_json()
    else:
        assert [one.provider for one in found if isinstance(one, Row)] == ["rushes", "eager", "compile"]


def row(provider: str, median_us: float) -> Row:
    return Row(
        kernel="k",
        case="1x2",
        provider=provider,
        bytes_moved=1_000_000,
        median_us=median_us,
        p10_us=median_us,
        p90_us=median_us,
        sample_count=100,
        gb_per_s=1000 / median_us,
        copy_gb_per_s=400,
        copy_share=0.25,
        equal_copy_share=0.5,
        error=0,
        tolerance=1e-6,
        launched=("_kernel",),
        gpu="a GPU",
        torch="2",
    )
