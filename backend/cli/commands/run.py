"""`rushes run`: run a workflow, watch it, write what it makes."""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...client import AsyncClient, ClientError
from ...wire.v1.bodies import JobDetailReply
from ...wire.v1.records import Artifact
from ..prepare import prepare_workflow
from ..refusal import CommandRefused, refuse
from ..report import as_refusal, describe, print_json, print_lines, warn_lines
from ..server_choice import open_client
from ..watch import JobWatch
from ..workflow_file import read_workflow_file


def execute(arguments: argparse.Namespace) -> int:
    """0 only when every output was written. Errors: CommandRefused."""
    try:
        document = read_workflow_file(arguments.workflow)
        _check_output(arguments.output)
        return asyncio.run(_run(arguments, document))
    except CommandRefused as refused:
        if arguments.json and refused.exit_code == 2:
            print_json({"status": "invalid", "job_id": None, "artifacts": [], "timings": {}})
        raise


async def _run(arguments: argparse.Namespace, document: dict[str, Any]) -> int:
    try:
        async with open_client(arguments, computes=True) as client:
            prepared = await prepare_workflow(document, arguments, client)
            detail = await _watch(client, prepared.document, prepared.targets, arguments.duration)
            written = await _write(client, detail.artifacts, arguments.output)
    except ClientError as error:
        raise as_refusal(error) from error
    except OSError as error:
        raise refuse("E_FILE", f"{arguments.output} cannot be written: {error}", exit_code=1) from error
    return _report(detail, written, as_json=arguments.json)


async def _watch(
    client: AsyncClient, document: dict[str, Any], targets: Sequence[str] | None, duration_s: float | None
) -> JobDetailReply:
    async with client.stream() as stream:
        reply = await client.submit(document, targets)
        warn_lines(describe(found) for found in reply.diagnostics)
        watch = JobWatch(reply.job, stream, duration_s)
        with _interrupts(watch):
            await watch.until_over()
        return await client.job(reply.job.job_id)


@contextmanager
def _interrupts(watch: JobWatch) -> Iterator[None]:
    """Ctrl-C, and a polite kill, end the job and not the program."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, watch.interrupt)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _check_output(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refuse("E_FILE", f"--output expected a folder, got {folder}: {error.strerror}") from error


async def _write(
    client: AsyncClient, artifacts: Sequence[Artifact], folder: Path
) -> list[tuple[Artifact, Path]]:
    written = []
    for artifact in artifacts:
        path = _free_path(folder.resolve(), artifact.name)
        await client.download(artifact, path)
        written.append((artifact, path))
    return written


def _free_path(folder: Path, name: str) -> Path:
    """The name in the folder, numbered when it is taken: nothing is overwritten."""
    plain = folder / Path(name).name
    path, number = plain, 2
    while path.exists():
        path = plain.with_stem(f"{plain.stem}-{number}")
        number += 1
    return path


def _report(detail: JobDetailReply, written: Sequence[tuple[Artifact, Path]], *, as_json: bool) -> int:
    job = detail.job
    if job.error is not None:
        at = f" at {job.error.node_id}" if job.error.node_id else ""
        warn_lines([f"error {job.error.code}{at}: {job.error.message}"])
    missing = {output.node_id for output in job.outputs} - {artifact.node_id for artifact, _ in written}
    if job.state == "completed" and missing:
        warn_lines([f"error E_STORAGE: nothing was written for {', '.join(sorted(missing))}"])
    if as_json:
        print_json(
            {
                "status": job.state,
                "job_id": job.job_id,
                "artifacts": [_describe_artifact(artifact, path) for artifact, path in written],
                "timings": detail.timings,
            }
        )
    else:
        print_lines(str(path) for _, path in written)
    return 0 if job.state == "completed" and not missing else 1


def _describe_artifact(artifact: Artifact, path: Path) -> dict[str, Any]:
    return {
        "node_id": artifact.node_id,
        "path": str(path),
        "media_type": artifact.media_type,
        "width": artifact.width_px,
        "height": artifact.height_px,
        "frames": artifact.frame_count,
        "fps": artifact.fps,
        "latent_sha256": artifact.latent_sha256,
    }
