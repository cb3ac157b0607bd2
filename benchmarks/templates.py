"""Runs every template on two devices and compares what they made.

Run: python -m benchmarks.templates --devices cpu cuda [--checkpoints DIR] [--out FILE.json]

Each template runs through `rushes run`; the clips that come out are decoded and compared frame by frame.
The live rollout runs for three seconds of video and is compared as far as both went. A row says how many
frames were compared, the mean and the worst PSNR of a frame in dB (inf: equal), and each device's seconds
inside the job.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import av
import numpy as np

WORKFLOWS = Path(__file__).parent.parent / "workflows"
LIVE = ("rollout-live",)
LIVE_SECONDS = "3"


def run_template(name: str, device: str, folder: Path, checkpoints: Path | None) -> dict[str, Any]:
    """What `rushes run --json` says, or {"status": ..., "error": ...} when it failed."""
    command = [sys.executable, "-m", "rushes.backend.cli.main", "run", str(WORKFLOWS / f"{name}.json")]
    command += ["--device", device, "--output", str(folder), "--json"]
    if name in LIVE:
        command += ["--duration", LIVE_SECONDS]
    if checkpoints is not None:
        command += ["--checkpoints", str(checkpoints)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        return {"status": "failed", "error": (done.stdout + done.stderr)[-600:], "artifacts": []}
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def frames_of(path: Path) -> np.ndarray:
    """[F, H, W, 3] uint8."""
    with av.open(str(path)) as container:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])


def psnr_db(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """PSNR of each frame; inf where the frames are equal."""
    error = ((one.astype(np.float64) - other) ** 2).mean(axis=(1, 2, 3))
    with np.errstate(divide="ignore"):
        return 10 * np.log10(255.0**2 / error)


def compare(name: str, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    if any(result["status"] != "completed" for result in results):
        return [{"template": name, "errors": [result.get("error") for result in results]}]
    rows = []
    for one, other in zip(*(result["artifacts"] for result in results), strict=True):
        if not one["media_type"].startswith("video/"):
            continue
        clips = [frames_of(Path(artifact["path"])) for artifact in (one, other)]
        count = min(map(len, clips))
        figures = psnr_db(clips[0][:count], clips[1][:count])
        seconds = [result["timings"]["total"] for result in results]
        rows.append(
            {"template": name, "node": one["node_id"], "frames": count, "mean_db": float(figures.mean()),
             "worst_db": float(figures.min()), "seconds": seconds}
        )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--devices", nargs=2, default=["cpu", "cuda"])
    parser.add_argument("--checkpoints", type=Path)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    names = sorted(path.stem for path in WORKFLOWS.glob("*.json"))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.parallel) as pool:
        runs = {
            (name, device): pool.submit(
                run_template, name, device, Path(folder, device, name), options.checkpoints
            )
            for device in options.devices
            for name in names
        }
        rows = [
            row
            for name in names
            for row in compare(name, [runs[name, device].result() for device in options.devices])
        ]
    for row in rows:
        sys.stdout.write(json.dumps(row) + "\n")
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
