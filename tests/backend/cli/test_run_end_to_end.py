"""`rushes run` and `rushes serve` with the model that ships, from the command line to the file."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import pytest

from rushes.backend.client import Client, ClientError
from tests.backend.artifacts.media_files import png_bomb, video
from tests.backend.cli.programs import (
    Ended,
    finish,
    rushes,
    server,
    started,
    template_path,
    until_chunk,
)
from tests.backend.http.test_resources import BAD_WORKFLOWS, changed
from tests.backend.serving import template

PROMPT = "prompt.text=a large red circle moves left over a blue ground"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server(tmp_path_factory.mktemp("server")) as (_, address):
        yield address


def run_generate(folder: Path, *arguments: str) -> Ended:
    return rushes(
        "run", template_path("generate-shapes"), "--set", PROMPT, *arguments, "--json", folder=folder
    )


def check_clip(artifact: dict[str, Any]) -> None:
    """The file is what the report says: H.264, yuv420p, so many frames of that size and rate."""
    with av.open(artifact["path"]) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.pix_fmt) == ("h264", "yuv420p")
        assert (stream.width, stream.height) == (artifact["width"], artifact["height"])
        assert stream.average_rate == artifact["fps"]
        assert sum(1 for _ in container.decode(video=0)) == artifact["frames"]


def test_a_private_server_runs_the_workflow_and_leaves_the_clip(tmp_path: Path):
    done = run_generate(tmp_path, "--output", "out")
    assert done.code == 0, done.err
    assert done.err == ""
    (artifact,) = done.report["artifacts"]
    assert (artifact["node_id"], artifact["media_type"]) == ("save", "video/mp4")
    assert (artifact["width"], artifact["height"], artifact["frames"], artifact["fps"]) == (96, 96, 45, 16)
    assert Path(artifact["path"]).parent == (tmp_path / "out").resolve()
    check_clip(artifact)


def test_the_clip_carries_the_workflow_and_the_params_it_was_made_with(tmp_path: Path, url: str):
    done = run_generate(tmp_path, "--server", url, "--set", "generate.seed=3")
    with av.open(done.report["artifacts"][0]["path"]) as container:
        embedded = json.loads(container.metadata["comment"])
    assert embedded["workflow"]["graph"]["nodes"]["generate"]["params"]["seed"] == 3
    assert embedded["params"]["generate"]["frame_count"] == 45


def test_the_same_seed_gives_the_same_latent_and_another_seed_another(tmp_path: Path, url: str):
    latents = [
        run_generate(tmp_path, "--server", url, "--set", f"generate.seed={seed}").report["artifacts"][0][
            "latent_sha256"
        ]
        for seed in (1, 1, 2)
    ]
    assert latents[0] == latents[1] != latents[2]


def test_running_to_a_node_makes_that_node_s_picture_only(tmp_path: Path, url: str):
    done = rushes(
        "run",
        template_path("mask-edit-shapes"),
        "--only",
        "region",
        "--server",
        url,
        "--json",
        folder=tmp_path,
    )
    assert done.code == 0, done.err
    assert [artifact["node_id"] for artifact in done.report["artifacts"]] == ["region"]
    assert "denoise" not in done.report["timings"]


def test_an_endless_workflow_ends_at_its_duration(tmp_path: Path, url: str):
    done = rushes(
        "run", template_path("rollout-live"), "--duration", "1", "--server", url, "--json", folder=tmp_path
    )
    assert done.code == 0, done.err
    (artifact,) = done.report["artifacts"]
    assert artifact["frames"] == 9 + 12
    check_clip(artifact)


def test_ctrl_c_ends_an_endless_workflow_and_writes_what_was_made(tmp_path: Path):
    with server(tmp_path) as (_, address):
        command = ("run", template_path("rollout-live"), "--server", address, "--json")
        with started(*command, folder=tmp_path) as process:
            until_chunk(address, 1)
            done = finish(process)
    assert done.code == 0, done.err
    assert "Ctrl-C" in done.err
    (artifact,) = done.report["artifacts"]
    assert artifact["frames"] >= 9 + 12
    check_clip(artifact)


def test_ctrl_c_cancels_a_workflow_that_would_end_by_itself(tmp_path: Path):
    with server(tmp_path) as (_, address):
        command = ("run", template_path("rollout-shapes"), "--server", address, "--json")
        with started(*command, folder=tmp_path) as process:
            job_id = until_chunk(address, 0)
            done = finish(process)
        with Client(address) as client:
            assert client.job(job_id).job.state == "cancelled"
    assert (done.code, done.report["status"]) == (1, "cancelled")


def test_ctrl_c_before_an_endless_workflow_runs_cancels_it(tmp_path: Path):
    with server(tmp_path) as (_, address), Client(address) as client:
        document = template("rollout-live")
        busy = [client.submit(document).job.job_id for _ in range(4)]
        command = ("run", template_path("rollout-live"), "--server", address, "--json")
        with started(*command, folder=tmp_path) as process:
            assert process.stderr is not None
            assert "endless" in process.stderr.readline()
            done = finish(process)
        for job_id in busy:
            client.cancel(job_id)
    assert (done.code, done.report["status"]) == (1, "cancelled")


def test_a_server_told_to_stop_lets_its_job_end_first(tmp_path: Path):
    with server(tmp_path) as (process, address), Client(address) as client:
        job_id = client.submit(template("rollout-live")).job.job_id
        until_chunk(address, 0)
        assert finish(process, signal.SIGTERM).code == 0
    with server(tmp_path) as (_, address), Client(address) as client:
        detail = client.job(job_id)
        assert detail.job.state == "completed"
        client.download(detail.artifacts[0], tmp_path / "saved.mp4")
        assert (tmp_path / "saved.mp4").stat().st_size == detail.artifacts[0].size_bytes


def test_bad_input_is_refused_and_the_server_goes_on(tmp_path: Path, url: str):
    path = tmp_path / "w.json"
    for change in ("cycle", "off lattice"):  # the others: test_commands.py
        path.write_text(json.dumps(changed(change)))
        done = rushes("run", str(path), "--server", url, folder=tmp_path)
        assert (done.code, done.out) == (2, "")
        assert BAD_WORKFLOWS[change][0] in done.err
    path.write_text('{"schema": ')
    assert "E_MALFORMED" in rushes("run", str(path), "--server", url, folder=tmp_path).err
    data = video(tmp_path / "whole.mp4", frames=40)
    (tmp_path / "cut.mp4").write_bytes(data[: len(data) // 2])
    (tmp_path / "bomb.png").write_bytes(png_bomb(30_000))
    for name, code in (("cut.mp4", "E_MEDIA_BROKEN"), ("bomb.png", "E_MEDIA_TOO_LARGE")):
        done = rushes(
            "run",
            template_path("mask-edit-shapes"),
            "--set",
            f"source.file={name}",
            "--server",
            url,
            folder=tmp_path,
        )
        assert (done.code, code in done.err) == (2, True)
    assert run_generate(tmp_path, "--server", url).code == 0


def test_doctor_finds_this_machine_fit(tmp_path: Path):
    done = rushes("doctor", "--port", "0", "--data-dir", str(tmp_path), folder=tmp_path)
    assert done.code == 0, done.out
    assert "FAILED" not in done.out
    assert "shapes" in done.out


def test_doctor_names_a_weight_file_that_is_cut_short(tmp_path: Path):
    broken = tmp_path / "models" / "broken"
    (broken / "transformer").mkdir(parents=True)
    (broken / "vae").mkdir()
    (broken / "model_index.json").write_text('{"_class_name": "WanPipeline"}')
    (broken / "transformer" / "config.json").write_text("{}")
    (broken / "vae" / "config.json").write_text("{}")
    (broken / "transformer" / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    done = rushes("doctor", "--checkpoints", "models", "--data-dir", str(tmp_path), folder=tmp_path)
    assert done.code == 1
    assert "model.safetensors" in done.out


def test_a_second_server_on_one_data_folder_is_refused(tmp_path: Path):
    with server(tmp_path):
        done = rushes("serve", "--port", "0", "--data-dir", str(tmp_path / "data"), folder=tmp_path)
    assert (done.code, "another server" in done.err) == (1, True)


def test_a_port_in_use_is_said(tmp_path: Path, url: str):
    port = url.rsplit(":", 1)[1]
    done = rushes("serve", "--port", port, "--data-dir", str(tmp_path / "other"), folder=tmp_path)
    assert (done.code, "cannot serve at" in done.err) == (1, True)
    with Client(url) as client:
        assert client.system().version
    with Client("http://127.0.0.1:9") as client, pytest.raises(ClientError):
        client.system()
