"""The commands that compute nothing, and how a run ends, on this machine's own server."""

import asyncio
import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rushes.backend.cli import server_choice
from rushes.backend.cli.main import main
from rushes.backend.settings import Settings
from tests.backend.artifacts.media_files import png, video
from tests.backend.http.test_resources import BAD_WORKFLOWS, changed
from tests.backend.serving import ScriptedWorker, Submitted, run_to_the_end, template, write_checkpoint


@pytest.fixture
def rushes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> Callable[..., tuple[int, str, str]]:
    """Runs a command with a checkpoint without weights, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    root = write_checkpoint(tmp_path / "models")
    load = server_choice.load_settings
    monkeypatch.setattr(
        server_choice, "load_settings", lambda wishes: replace(load(wishes, {}), checkpoint_roots=(root,))
    )

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, "--data-dir", str(tmp_path / "data")])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return run


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[ScriptedWorker, Submitted], None]], None]:
    """Puts the test in the place of the private server's worker."""
    start = server_choice.run_server

    def put(script: Callable[[ScriptedWorker, Submitted], None]) -> None:
        def run_server(settings: Settings, make_worker: Any) -> Any:
            return start(settings, make_worker or (lambda _settings: ScriptedWorker(on_submit=script)))

        monkeypatch.setattr(server_choice, "run_server", run_server)

    return put


def write(path: Path, document: dict[str, Any]) -> str:
    path.write_text(json.dumps(document))
    return str(path)


# ---- looking ----


def test_help_is_quick_because_nothing_heavy_is_loaded():
    code = (
        "import sys; from rushes.backend.cli.parser import build_parser; build_parser().format_help()\n"
        "heavy = ('aiohttp', 'pydantic', 'sqlalchemy', 'av', 'torch')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nodes_are_listed_and_shown(rushes):
    code, out, _ = rushes("nodes")
    assert code == 0
    assert "streaming_rollout" in out
    code, out, _ = rushes("nodes", "temporal_mask")
    assert "params" in out
    assert json.loads(rushes("nodes", "--json")[1])["nodes"]["prompt"]["title"]
    code, _, err = rushes("nodes", "dream")
    assert (code, "E_UNKNOWN_NODE_TYPE" in err) == (2, True)


def test_models_are_listed(rushes):
    code, out, _ = rushes("models")
    assert code == 0
    assert "shapes" in out
    assert "neon" in out
    assert json.loads(rushes("models", "--json")[1])["checkpoints"][0]["checkpoint"] == "shapes"


def test_compiling_shows_the_program(rushes, tmp_path: Path):
    path = write(tmp_path / "w.json", template("all-five"))
    code, out, _ = rushes("compile", path, "--explain")
    assert code == 0
    assert "denoise" in out
    path = write(tmp_path / "w.json", template("mask-edit-shapes"))
    reply = json.loads(rushes("compile", path, "--json", "--only", "region")[1])
    assert "load_model" not in reply["explain"]


@pytest.mark.parametrize("change", BAD_WORKFLOWS)
def test_a_bad_workflow_is_code_2_with_the_finding_on_stderr(rushes, tmp_path: Path, change: str):
    path = write(tmp_path / "w.json", changed(change))
    code, out, err = rushes("compile", path)
    assert (code, out) == (2, "")
    assert BAD_WORKFLOWS[change][0] in err


# ---- running ----


def test_a_run_writes_what_was_made_and_reports_it(rushes, play, tmp_path: Path):
    play(run_to_the_end)
    path = write(tmp_path / "w.json", template("generate-shapes"))
    code, out, _ = rushes("run", path, "--set", "generate.seed=5", "--output", "out", "--json")
    assert code == 0
    report = json.loads(out)
    assert set(report) == {"status", "job_id", "artifacts", "timings"}
    assert (report["status"], report["timings"]) == ("completed", {"total_s": 1.0})
    (artifact,) = report["artifacts"]
    assert set(artifact) == {
        "node_id",
        "path",
        "media_type",
        "width",
        "height",
        "frames",
        "fps",
        "latent_sha256",
    }
    assert Path(artifact["path"]) == (tmp_path / "out" / "save.mp4").resolve()
    assert Path(artifact["path"]).read_bytes() == b"bytes of a video"


def test_a_second_run_overwrites_nothing(rushes, play, tmp_path: Path):
    play(run_to_the_end)
    path = write(tmp_path / "w.json", template("generate-shapes"))
    for name in ("save.mp4", "save-2.mp4"):
        code, out, _ = rushes("run", path)
        assert (code, out) == (0, f"{(tmp_path / name).resolve()}\n")


def test_a_failed_job_is_code_1_and_keeps_what_another_branch_made(rushes, play, tmp_path: Path):
    def fail(worker: ScriptedWorker, job: Submitted) -> None:
        worker.artifact(job)
        worker.say("job.failed", job_id=job.job_id, code="E_NAN", message="not a number", node_id="generate")

    play(fail)
    code, out, err = rushes("run", write(tmp_path / "w.json", template("generate-shapes")), "--json")
    assert code == 1
    assert "error E_NAN at generate: not a number" in err
    assert json.loads(out)["status"] == "failed"
    assert (tmp_path / "save.mp4").exists()


def test_a_completed_job_without_its_output_is_code_1(rushes, play, tmp_path: Path):
    play(lambda worker, job: worker.complete(job.job_id))
    code, _, err = rushes("run", write(tmp_path / "w.json", template("generate-shapes")))
    assert code == 1
    assert "save" in err


@pytest.mark.parametrize("change", BAD_WORKFLOWS)
def test_a_bad_workflow_is_not_run(rushes, play, tmp_path: Path, change: str):
    play(run_to_the_end)
    code, out, err = rushes("run", write(tmp_path / "w.json", changed(change)), "--json")
    assert code == 2
    assert BAD_WORKFLOWS[change][0] in err
    assert json.loads(out) == {"status": "invalid", "job_id": None, "artifacts": [], "timings": {}}


def test_files_on_this_machine_are_brought_to_the_server(rushes, play, tmp_path: Path):
    seen: dict[str, bytes] = {}

    def look(worker: ScriptedWorker, job: Submitted) -> None:
        seen.update({name: path.read_bytes() for name, path in job.assets.items()})
        run_to_the_end(worker, job)

    play(look)
    (tmp_path / "clips").mkdir()
    data = video(tmp_path / "clips" / "mine.mp4", frames=45, fps=16)
    path = write(tmp_path / "clips" / "w.json", template("mask-edit-shapes"))
    rushes("run", path, "--set", f"source.file={tmp_path / 'clips' / 'mine.mp4'}")
    assert seen == {"mine.mp4": data}
    seen.clear()
    rushes("run", path, "--set", "source.file=mine.mp4")
    assert seen == {"mine.mp4": data}


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("cut.mp4", None, "E_MEDIA_BROKEN"),
        ("words.mp4", b"these are words and no video", "E_MEDIA_TYPE"),
        ("picture.mp4", png(), "E_"),
    ],
)
def test_a_file_that_is_no_clip_is_code_2(
    rushes, play, tmp_path: Path, name: str, data: bytes | None, code: str
):
    play(run_to_the_end)
    whole = video(tmp_path / "whole.mp4", frames=40)
    (tmp_path / name).write_bytes(whole[: len(whole) // 2] if data is None else data)
    path = write(tmp_path / "w.json", template("mask-edit-shapes"))
    result, _, err = rushes("run", path, "--set", f"source.file=./{name}")
    assert (result, code in err) == (2, True)


def test_a_path_that_leads_nowhere_is_code_2(rushes, play, tmp_path: Path):
    play(run_to_the_end)
    path = write(tmp_path / "w.json", template("mask-edit-shapes"))
    for value in ("./nowhere.mp4", "nowhere.mp4"):
        code, _, err = rushes("run", path, "--set", f"source.file={value}")
        assert (code, "E_UNKNOWN_ASSET" in err) == (2, True)


def test_an_endless_workflow_ends_after_its_duration(rushes, play, tmp_path: Path):
    controls: list[dict[str, Any]] = []
    rolling: list[asyncio.Task[None]] = []

    async def until_stopped(worker: ScriptedWorker, job: Submitted) -> None:
        for index in itertools.takewhile(lambda _: not worker.controls, itertools.count()):
            worker.chunk(job.job_id, index, parts=3, frames=4)
            await asyncio.sleep(0.01)
        controls.extend(worker.controls)
        run_to_the_end(worker, job)

    def roll(worker: ScriptedWorker, job: Submitted) -> None:
        rolling.append(asyncio.get_running_loop().create_task(until_stopped(worker, job)))

    play(roll)
    path = write(tmp_path / "w.json", template("rollout-live"))
    code, out, _ = rushes("run", path, "--duration", "2", "--json")
    assert code == 0
    assert json.loads(out)["artifacts"][0]["node_id"] == "save"
    # A chunk has 12 frames here: the third fills 2 s at 16 fps.
    (control,) = controls
    assert (control["node_id"], control["wanted_chunk"], control["stop"]) == ("rollout", 3, True)


def test_a_server_that_is_not_there_is_code_1(rushes, tmp_path: Path):
    path = write(tmp_path / "w.json", template("generate-shapes"))
    for command in (("run", path), ("compile", path), ("nodes",), ("models",)):
        code, _, err = rushes(*command, "--server", "http://127.0.0.1:9")
        assert (code, "E_CONNECTION" in err) == (1, True)


def test_an_output_folder_that_cannot_be_is_refused_before_anything_runs(rushes, tmp_path: Path):
    (tmp_path / "file").write_text("")
    path = write(tmp_path / "w.json", template("generate-shapes"))
    code, _, err = rushes("run", path, "--output", str(tmp_path / "file" / "out"))
    assert (code, "E_FILE" in err) == (2, True)


def test_serving_beyond_this_machine_needs_a_token(rushes):
    code, _, err = rushes("serve", "--host", "0.0.0.0")
    assert (code, "--token" in err) == (2, True)


@pytest.mark.parametrize(
    "arguments", [["fly"], ["run"], [], ["serve", "--port", "99999"], ["run", "w", "--duration", "-1"]]
)
def test_arguments_that_make_no_sense_are_code_2(arguments: list[str], capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage" in capsys.readouterr().err
