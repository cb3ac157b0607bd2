"""No process but the worker loads torch: a server runs a job, and its modules are looked at."""

import json
import subprocess
import sys
from pathlib import Path

SERVER = """
import asyncio, json, sys
from pathlib import Path

from rushes.backend.app import run_server
from rushes.backend.client import AsyncClient
from rushes.backend.settings import Wishes, load_settings


async def main() -> None:
    settings = load_settings(Wishes(data_dir=Path(sys.argv[1]), port=0, device="cpu"))
    async with run_server(settings) as server, AsyncClient(server.url) as client:
        document = (await client.template("mask-edit-shapes")).document
        job = (await client.submit(document)).job
        detail = await client.wait(job.job_id)
        worker = (await client.system()).worker
    heavy = [name for name in ("torch", "triton", "diffusers", "transformers") if name in sys.modules]
    print(json.dumps({"state": detail.job.state, "worker_torch": worker.torch, "loaded": heavy}))


asyncio.run(main())
"""


def test_a_server_that_ran_a_job_has_not_loaded_torch_and_its_worker_has(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", SERVER, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["state"] == "completed"
    assert found["worker_torch"]
    assert found["loaded"] == []
