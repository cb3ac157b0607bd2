"""A server for tests: everything real but the worker, whose part the test plays."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import aiohttp

from rushes.backend.app import RunningServer, run_server
from rushes.backend.settings import Settings, Wishes, load_settings
from rushes.compiler.ir.spec import PipelineSpec

CHECKPOINT: Mapping[str, Mapping[str, Any]] = {
    "model_index.json": {"_class_name": "WanPipeline"},
    "transformer/config.json": {"patch_size": [1, 2, 2]},
    "vae/config.json": {"z_dim": 16, "scale_factor_spatial": 8, "scale_factor_temporal": 4},
    "controls/config.json": {"key_count": 4, "dim": 8},
    "rushes.json": {
        "title": "Shapes",
        "sizes_fixed": True,
        "width_px": 96,
        "height_px": 96,
        "fps": 16,
        "frame_count_default": 45,
        "frame_count_max": 45,
        "chunk_latent_frames": 3,
        "step_count": 4,
        "flow_shift": 3.0,
        "guidance_scale": 1.0,
        "control_keys": ["w", "a", "s", "d"],
        "capabilities": ["per_token_timesteps", "rollout", "edit", "adapters", "start_image"],
    },
}


def write_checkpoint(root: Path) -> Path:
    """The facts of a checkpoint called shapes, without weights: enough to compile for."""
    for name, content in CHECKPOINT.items():
        path = root / "shapes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    adapter = root / "shapes" / "adapters" / "neon.safetensors"
    adapter.parent.mkdir(exist_ok=True)
    adapter.write_bytes(b"weights are not read here")
    return root


@dataclass(frozen=True)
class Message:
    header: Mapping[str, Any]
    payload: bytes = b""


@dataclass
class Submitted:
    job_id: str
    spec: PipelineSpec
    assets: Mapping[str, Path]
    output_dir: Path
    metadata: Mapping[str, Any]
    chunk_encoding: str


@dataclass
class ScriptedWorker:
    """Takes commands and notes them; what it says is what the test makes it say."""

    is_ready_at_start: bool = True
    state: str = "stopped"
    submitted: list[Submitted] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    controls: list[dict[str, Any]] = field(default_factory=list)
    acks: list[tuple[str, str, int]] = field(default_factory=list)
    on_submit: Callable[[ScriptedWorker, Submitted], None] | None = None
    _messages: asyncio.Queue[Message | None] = field(default_factory=asyncio.Queue)

    async def start(self) -> None:
        self.state = "starting"
        if self.is_ready_at_start:
            self.become_ready()

    def become_ready(self) -> None:
        self.state = "ready"
        self.say("worker.ready", device="cpu", device_name="test", torch="2.13.0")

    def die(self, exit_code: int = -9) -> None:
        self.state = "restarting"
        self.say("worker.died", exit_code=exit_code, job_ids=[each.job_id for each in self.submitted])

    def say(self, kind: str, payload: bytes = b"", **fields: Any) -> None:
        self._messages.put_nowait(Message({"type": kind, **fields}, payload))

    async def submit(
        self,
        job_id: str,
        spec: PipelineSpec,
        *,
        assets: Mapping[str, Path],
        output_dir: Path,
        metadata: Mapping[str, Any],
        chunk_encoding: str = "jpeg",
    ) -> None:
        if self.state != "ready":
            raise RuntimeError(f"a ready worker was expected, it is {self.state}")
        job = Submitted(job_id, spec, assets, output_dir, metadata, chunk_encoding)
        self.submitted.append(job)
        self.say("job.started", job_id=job_id)
        if self.on_submit is not None:
            self.on_submit(self, job)

    async def cancel(self, job_id: str) -> None:
        self.cancelled.append(job_id)

    async def control(self, job_id: str, node_id: str, **fields: Any) -> None:
        self.controls.append({"job_id": job_id, "node_id": node_id, **fields})

    async def ack(self, job_id: str, node_id: str, chunk_index: int) -> None:
        self.acks.append((job_id, node_id, chunk_index))

    async def events(self) -> AsyncIterator[Message]:
        while (message := await self._messages.get()) is not None:
            yield message

    async def stop(self) -> None:
        self.state = "stopped"
        self._messages.put_nowait(None)

    # ---- what a job says ----

    def progress(self, job_id: str, node_id: str = "generate", step: int = 1) -> None:
        self.say(
            "job.progress",
            job_id=job_id,
            node_id=node_id,
            step=step,
            step_count=4,
            chunk_index=0,
            chunk_count=1,
        )

    def preview(self, job_id: str, node_id: str = "generate", step: int = 1, size: int = 16) -> None:
        self.say(
            "preview.frame",
            bytes([step]) * size,
            job_id=job_id,
            node_id=node_id,
            chunk_index=0,
            frame_index=0,
            step=step,
            step_count=4,
            width_px=8,
            height_px=8,
            encoding="jpeg",
            frame_count=1,
            frame_bytes=[size],
        )

    def chunk(
        self,
        job_id: str,
        index: int,
        *,
        node_id: str = "rollout",
        parts: int = 1,
        frames: int = 1,
        size: int = 16,
    ) -> None:
        for part in range(parts):
            self.say(
                "chunk.frames",
                bytes([index % 256]) * size * frames,
                job_id=job_id,
                node_id=node_id,
                chunk_index=index,
                part_index=part,
                part_count=parts,
                frame_index=(index * parts + part) * frames,
                frame_count=frames,
                width_px=8,
                height_px=8,
                fps=16.0,
                encoding="jpeg",
                frame_bytes=[size] * frames,
                control_seq=None,
                keys=[],
                made_ms=1,
            )

    def artifact(self, job: Submitted, *, node_id: str = "save", content: bytes = b"bytes of a video") -> str:
        path = job.output_dir / f"{node_id}.mp4"
        path.write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        self.say(
            "artifact.created",
            job_id=job.job_id,
            node_id=node_id,
            name=path.name,
            path=str(path),
            media_type="video/mp4",
            width_px=96,
            height_px=96,
            frame_count=45,
            fps=16.0,
            size_bytes=len(content),
            sha256=sha256,
            latent_sha256="0" * 64,
        )
        return sha256

    def complete(self, job_id: str) -> None:
        self.say("job.completed", job_id=job_id, timings={"total_s": 1.0})


def run_to_the_end(worker: ScriptedWorker, job: Submitted) -> None:
    """What a short job says."""
    worker.say("node.started", job_id=job.job_id, node_id="generate")
    worker.progress(job.job_id, step=1)
    worker.preview(job.job_id, step=1)
    worker.say("node.finished", job_id=job.job_id, node_id="generate", seconds=0.5, is_cached=False)
    worker.artifact(job)
    worker.complete(job.job_id)


def test_settings(folder: Path, **changes: Any) -> Settings:
    """Free port, own data folder, a checkpoint without weights, no time to drain."""
    roots = (write_checkpoint(folder / "checkpoints"),)
    settings = load_settings(Wishes(data_dir=folder / "data", port=0), environment={})
    return replace(settings, **{"checkpoint_roots": roots, "drain_s": 0.0, **changes})


@dataclass
class Serving:
    """A running server, the worker's part, and a session that talks to it."""

    server: RunningServer
    worker: ScriptedWorker
    session: aiohttp.ClientSession

    def url(self, path: str) -> str:
        return f"{self.server.url}/api/v1{path}"

    async def get(self, path: str, **options: Any) -> tuple[int, Any]:
        async with self.session.get(self.url(path), **options) as response:
            return response.status, await response.json()

    async def post(self, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        async with self.session.post(self.url(path), json=body, **options) as response:
            return response.status, await response.json()

    async def submit(self, name: str = "generate-shapes") -> str:
        status, reply = await self.post("/jobs", {"workflow": template(name)})
        assert status == 201, reply
        return str(reply["job"]["job_id"])

    async def state(self, job_id: str) -> str:
        _, reply = await self.get(f"/jobs/{job_id}")
        return str(reply["job"]["state"])

    async def until_state(self, job_id: str, *wanted: str) -> str:
        async def arrived() -> str | None:
            state = await self.state(job_id)
            return state if state in wanted else None

        return str(await until(arrived))


@asynccontextmanager
async def serving(
    folder: Path, worker: ScriptedWorker | None = None, **changes: Any
) -> AsyncIterator[Serving]:
    """A server over `folder`; open it again on the same folder for a restart."""
    part = worker or ScriptedWorker()
    async with (
        run_server(test_settings(folder, **changes), lambda _settings: part) as server,
        aiohttp.ClientSession() as session,
    ):
        yield Serving(server, part, session)


def template(name: str) -> dict[str, Any]:
    """A workflow that ships."""
    text = files("rushes.workflows").joinpath(f"{name}.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


async def until(condition: Callable[[], Awaitable[Any]], seconds: float = 20.0) -> Any:
    """The first answer of `condition` that counts; fails after `seconds`, which no passing test waits."""
    end = time.monotonic() + seconds
    while not (answer := await condition()):
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.005)
    return answer


async def until_true(condition: Callable[[], bool]) -> None:
    async def asked() -> bool:
        return condition()

    await until(asked)


def headers_of(messages: Sequence[Message]) -> list[str]:
    return [str(message.header["type"]) for message in messages]
