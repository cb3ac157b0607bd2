"""What the README shows, done: the model that ships, a server of its own, the commands as they stand."""

import json
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

READY_S = 120
COMMAND_S = 300
SERVE = [sys.executable, "-m", "rushes.backend.cli.main"]


def blocks(root: Path, language: str) -> list[str]:
    text = (root / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def system(url: str) -> dict[str, dict[str, str]]:
    with urllib.request.urlopen(f"{url}/api/v1/system", timeout=10) as reply:
        return dict(json.load(reply))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = [
        *SERVE,
        "serve",
        "--port",
        "0",
        "--device",
        "cpu",
        "--data-dir",
        str(tmp_path_factory.mktemp("data")),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip().rpartition(" ")[2]
            deadline = time.monotonic() + READY_S
            while system(url)["worker"]["state"] != "ready":
                assert time.monotonic() < deadline, f"no worker within {READY_S} s"
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()
            process.wait(timeout=60)


def test_the_python_in_the_readme_fetches_a_clip(root: Path, served: str, tmp_path: Path) -> None:
    (snippet,) = blocks(root, "python")
    program = snippet.replace("http://127.0.0.1:8190", served)
    assert program != snippet
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=COMMAND_S)
    (clip,) = tmp_path.glob("*.mp4")
    assert clip.read_bytes()[4:8] == b"ftyp"


def test_the_headless_command_in_the_readme_writes_what_it_reports(root: Path, tmp_path: Path) -> None:
    (shown,) = (block for block in blocks(root, "sh") if "--json" in block)
    program, *arguments = shlex.split(shown.replace("\\\n", " "))
    assert program == ".venv/bin/rushes"
    arguments = [str(tmp_path / "out") if argument == "out" else argument for argument in arguments]
    done = subprocess.run(
        [*SERVE, *arguments], cwd=root, capture_output=True, text=True, check=True, timeout=COMMAND_S
    )
    report = json.loads(done.stdout)
    assert report["status"] == "completed"
    assert [Path(artifact["path"]).is_file() for artifact in report["artifacts"]] == [True]
    assert [artifact["frames"] for artifact in report["artifacts"]] == [45]
