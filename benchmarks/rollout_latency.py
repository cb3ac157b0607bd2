"""What a viewer of a rollout sees: first frame, frames a second, and the time from a key to the picture.

    python -m benchmarks.rollout_latency [--server URL] [--live-s 60] [--json FILE]

Everything is measured in a client at the other end of the WebSocket, pictures decoded. Without `--server` a
server is started on a free port with a temporary data folder.

- throughput: `rollout-shapes` (237 frames, as fast as they come), several times: seconds from POST to the
  first decoded frame, and frames over the time from POST to the last frame. The first run is left out.
- live: `rollout-live`, steered by keys at uniformly random times. Playback is paced: a frame is shown when it
  has come and the frame before it has been shown for 1/16 s; nothing is buffered on purpose. Key to picture
  is the time from sending a key to showing the first frame of the first chunk made under it. Stalls are parts
  that came more than 20 ms after their time.
"""

import argparse
import asyncio
import contextlib
import io
import json
import os
import platform
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from rushes.backend.client import AsyncClient, ClientError, EventStream, Received
from rushes.backend.wire.v1.events import TERMINAL_EVENTS, ChunkFrames

ROOT = Path(__file__).resolve().parent.parent
FPS = 16.0
STALL_S = 0.020


@dataclass(frozen=True, slots=True)
class Distribution:
    """Of seconds, unless said otherwise."""

    count: int
    minimum: float
    median: float
    p95: float
    maximum: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Distribution":
        ordered = sorted(values)
        p95 = ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]
        return cls(len(ordered), ordered[0], statistics.median(ordered), p95, ordered[-1])

    def row(self, name: str) -> str:
        numbers = (self.minimum, self.median, self.p95, self.maximum)
        return f"| {name} | {self.count} | " + " | ".join(f"{number:.3f}" for number in numbers) + " |"


@dataclass(slots=True)
class Viewer:
    """Playback without a buffer: when each frame is shown."""

    next_s: float = 0.0
    shown: int = 0
    stalls: int = 0
    latest_s: float = 0.0

    def show(self, frame_count: int, now_s: float) -> float:
        """Frames that came now; when the first of them is shown."""
        first_s = max(now_s, self.next_s)
        if self.shown and now_s > self.next_s + STALL_S:
            self.stalls += 1
        self.next_s = first_s + frame_count / FPS
        self.shown += frame_count
        return first_s


@dataclass(slots=True)
class Live:
    """One steered rollout."""

    latencies_s: list[float] = field(default_factory=list)
    gaps_s: list[float] = field(default_factory=list)
    made_s: list[float] = field(default_factory=list)
    early_s: list[float] = field(default_factory=list)
    frames: int = 0
    seconds: float = 0.0
    stalls: int = 0


def decoded(received: Received) -> int:
    """Decode the pictures of a chunk part, as a page would; how many there are."""
    for picture in received.frames:
        Image.open(io.BytesIO(picture)).load()
    return len(received.frames)


async def throughput(client: AsyncClient, stream: EventStream) -> tuple[float, float, int]:
    """Seconds to the first frame, frames a second, frames."""
    document = json.loads((ROOT / "workflows" / "rollout-shapes.json").read_text(encoding="utf-8"))
    began_s = time.perf_counter()
    job_id = (await client.submit(document)).job.job_id
    await stream.subscribe(job_id, acks=True)
    frames, first_s, last_s = 0, 0.0, 0.0
    async for received in stream:
        message = received.message
        if isinstance(message, ChunkFrames) and message.job_id == job_id:
            frames += decoded(received)
            last_s = time.perf_counter()
            first_s = first_s or last_s
            await stream.ack(message)
        elif message.type in TERMINAL_EVENTS:
            break
    return first_s - began_s, frames / (last_s - began_s), frames


async def live(client: AsyncClient, stream: EventStream, seconds: float, key_every_s: float) -> Live:
    document = json.loads((ROOT / "workflows" / "rollout-live.json").read_text(encoding="utf-8"))
    job_id = (await client.submit(document)).job.job_id
    await stream.subscribe(job_id, acks=True)
    result, viewer = Live(), Viewer()
    pressed: dict[int, float] = {}
    keys = asyncio.create_task(press_keys(stream, job_id, pressed, seconds, key_every_s))
    began_s = last_s = 0.0
    async for received in stream:
        message = received.message
        if message.type in TERMINAL_EVENTS:
            break
        if not isinstance(message, ChunkFrames):
            continue
        frame_count, now_s = decoded(received), time.perf_counter()
        await stream.ack(message)
        early_s = max(0.0, viewer.next_s - now_s)
        shown_s = viewer.show(frame_count, now_s)
        began_s = began_s or now_s
        if message.part_index == 0:
            result.early_s.append(early_s)
            result.made_s.append(message.made_ms / 1000)
            result.gaps_s.extend([now_s - last_s] if last_s else [])
            last_s = now_s
            for seq in [seq for seq in pressed if seq <= (message.control_seq or 0)]:
                result.latencies_s.append(shown_s - pressed.pop(seq))
    await keys
    result.frames, result.seconds, result.stalls = viewer.shown, viewer.next_s - began_s, viewer.stalls
    return result


async def press_keys(
    stream: EventStream, job_id: str, pressed: dict[int, float], seconds: float, every_s: float
) -> None:
    """Keys at uniformly random times, then a stop. A key is held until the next one."""
    chance = random.Random(0)
    end_s = time.perf_counter() + seconds
    seq = 0
    await asyncio.sleep(2.0)
    while time.perf_counter() < end_s:
        await asyncio.sleep(chance.uniform(0.0, 2.0 * every_s))
        seq += 1
        pressed[seq] = time.perf_counter()
        await stream.control(job_id, "rollout", seq=seq, keys=[chance.choice("wasd")])
    await asyncio.sleep(2.0)
    await stream.control(job_id, "rollout", seq=seq + 1, stop=True)


@contextlib.asynccontextmanager
async def server(url: str | None) -> AsyncIterator[str]:
    """The given one, or one of our own that is ready."""
    if url is not None:
        yield url
        return
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as data_dir:
        command = [sys.executable, "-m", "rushes.backend.cli.main", "serve", "--port", str(port)]
        process = subprocess.Popen([*command, "--data-dir", data_dir], stdout=subprocess.DEVNULL)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


async def until_ready(client: AsyncClient) -> str:
    """Wait for the worker; the name of its device."""
    while True:
        with contextlib.suppress(ClientError):
            system = await client.system()
            if system.worker.state == "ready":
                return system.worker.device_name or "unknown"
        await asyncio.sleep(0.2)


def revision() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    async with server(options.server) as url, AsyncClient(url) as client:
        device = await until_ready(client)
        async with client.stream() as stream:
            runs = [await throughput(client, stream) for _ in range(options.runs + 1)][1:]
            steered = await live(client, stream, options.live_s, options.key_every_s)
    return {
        "revision": revision(),
        "device": device,
        "machine": f"{os.cpu_count()} CPUs, {platform.machine()}, load {os.getloadavg()[0]:.1f}",
        "first_frame_s": asdict(Distribution.of([first for first, _, _ in runs])),
        "frames_per_second": asdict(Distribution.of([rate for _, rate, _ in runs])),
        "key_to_picture_s": asdict(Distribution.of(steered.latencies_s)),
        "chunk_gap_s": asdict(Distribution.of(steered.gaps_s)),
        "chunk_made_s": asdict(Distribution.of(steered.made_s)),
        "chunk_early_s": asdict(Distribution.of(steered.early_s)),
        "live_frames_per_second": steered.frames / steered.seconds,
        "live_stalls": steered.stalls,
    }


def table(result: dict[str, Any]) -> str:
    lines = [
        f"{result['device']}; {result['machine']}; revision {result['revision']}",
        "",
        "| | n | min | median | p95 | max |",
        "|---|---|---|---|---|---|",
    ]
    lines += [Distribution(**value).row(name) for name, value in result.items() if isinstance(value, dict)]
    lines.append("")
    lines.append(
        f"live: {result['live_frames_per_second']:.2f} frames/s shown, {result['live_stalls']} stalls"
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", help="address of a running server")
    parser.add_argument("--runs", type=int, default=3, help="timed throughput runs")
    parser.add_argument("--live-s", type=float, default=60.0, help="seconds of steering")
    parser.add_argument("--key-every-s", type=float, default=0.8, help="mean time between keys")
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    options = parser.parse_args()
    result = asyncio.run(measure(options))
    print(table(result))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
