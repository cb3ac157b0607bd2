"""The HTTP API of a real server; the test plays the worker."""

import io
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from rushes.backend.wire.v1.bodies import CompileReply, JobDetailReply, JobReply, JobsReply
from rushes.backend.wire.v1.diagnostics import ErrorReply
from rushes.backend.wire.v1.records import SystemReply
from tests.backend.artifacts.media_files import png, png_bomb, video
from tests.backend.serving import ScriptedWorker, Serving, run_to_the_end, serving, template


async def upload(serve: Serving, name: str, data: bytes, field: str = "file") -> tuple[int, Any]:
    form = aiohttp.FormData(quote_fields=False)
    form.add_field(field, io.BytesIO(data), filename=name)
    async with serve.session.post(serve.url("/uploads"), data=form) as response:
        return response.status, await response.json()


async def send(
    serve: Serving, method: str, path: str, data: bytes | str | io.BytesIO, **headers: str
) -> tuple[int, ErrorReply]:
    given = {"Content-Type": "application/json", **headers}
    async with serve.session.request(method, serve.url(path), data=data, headers=given) as response:
        text = await response.text()
        assert "Traceback" not in text
        return response.status, ErrorReply.model_validate_json(text)


# ---- reading ----


async def test_replies_are_the_messages_of_the_wire(tmp_path: Path):
    async with serving(tmp_path, ScriptedWorker(on_submit=run_to_the_end)) as serve:
        _, created = await serve.post("/jobs", {"workflow": template("rollout-live")})
        job = JobReply.model_validate(created).job
        assert [(each.node_id, each.chunk_count, each.keys) for each in job.rollouts] == [
            ("rollout", None, ("w", "a", "s", "d"))
        ]
        await serve.until_state(job.job_id, "completed")
        JobDetailReply.model_validate((await serve.get(f"/jobs/{job.job_id}"))[1])
        assert len(JobsReply.model_validate((await serve.get("/jobs?state=completed"))[1]).jobs) == 1
        assert JobsReply.model_validate((await serve.get("/jobs?state=queued"))[1]).jobs == ()
        system = SystemReply.model_validate((await serve.get("/system"))[1])
        assert (system.worker.state, system.worker.torch, system.queue.running_max) == ("ready", "2.13.0", 4)


async def test_the_catalog_is_not_sent_again_to_who_has_it(tmp_path: Path):
    async with serving(tmp_path) as serve:
        async with serve.session.get(serve.url("/nodes")) as response:
            etag = response.headers["ETag"]
            assert "generate_video" in (await response.json())["nodes"]
        async with serve.session.get(serve.url("/nodes"), headers={"If-None-Match": etag}) as response:
            assert response.status == 304


async def test_the_schema_of_workflows_knows_the_node_types(tmp_path: Path):
    async with serving(tmp_path) as serve:
        async with serve.session.get(serve.url("/workflow-schema")) as response:
            schema = json.loads(await response.text())
        assert "params.generate_video" in schema["$defs"]


async def test_frames_of_a_rollout_may_be_asked_for_as_they_are(tmp_path: Path):
    async with serving(tmp_path) as serve:
        document = template("rollout-shapes")
        _, reply = await serve.post("/jobs", {"workflow": document, "chunk_encoding": "rgb24"})
        await serve.until_state(reply["job"]["job_id"], "running")
        assert serve.worker.submitted[0].chunk_encoding == "rgb24"


async def test_a_model_file_that_arrives_later_is_listed(tmp_path: Path):
    async with serving(tmp_path) as serve:
        folder = tmp_path / "checkpoints" / "shapes" / "adapters"
        (folder / "noir.safetensors").write_bytes(b"x")
        _, reply = await serve.get("/adapters")
        assert [each["adapter"] for each in reply["adapters"]] == ["neon", "noir"]


async def test_the_job_s_workflow_comes_back_as_it_was_sent(tmp_path: Path):
    document = template("generate-shapes") | {"unknown": {"kept": [1, 2.5]}}
    async with serving(tmp_path) as serve:
        _, created = await serve.post("/jobs", {"workflow": document, "targets": ["generate"]})
        job_id = created["job"]["job_id"]
        _, reply = await serve.get(f"/jobs/{job_id}/workflow")
        assert reply == {"document": document, "targets": ["generate"]}


async def test_artifacts_are_served_with_ranges_type_and_name(tmp_path: Path):
    async with serving(tmp_path, ScriptedWorker(on_submit=run_to_the_end)) as serve:
        job_id = await serve.submit()
        await serve.until_state(job_id, "completed")
        _, reply = await serve.get(f"/jobs/{job_id}/artifacts")
        url = serve.server.url + reply["artifacts"][0]["url"]
        async with serve.session.get(url, headers={"Range": "bytes=0-4"}) as response:
            assert (response.status, await response.read()) == (206, b"bytes")
            assert response.content_type == "video/mp4"
            assert "save.mp4" in response.headers["Content-Disposition"]
            assert response.headers["X-Content-Type-Options"] == "nosniff"
        async with serve.session.head(url) as response:
            assert (response.status, response.content_length) == (200, 16)


@pytest.mark.parametrize("name", ["..%2F..%2Fetc%2Fpasswd", "..", "rushes.sqlite", "a" * 64])
async def test_nothing_outside_is_reached_through_a_name(tmp_path: Path, name: str):
    async with serving(tmp_path) as serve:
        for room in ("artifacts", "assets", "templates", "jobs", "workflows"):
            async with serve.session.get(serve.url(f"/{room}/{name}")) as response:
                assert response.status in (403, 404)


# ---- compile ----


async def test_compiling_tells_the_program_or_what_is_wrong(tmp_path: Path):
    async with serving(tmp_path) as serve:
        _, good = await serve.post("/compile", {"workflow": template("all-five")})
        reply = CompileReply.model_validate(good)
        assert reply.ok
        assert "rollout" in (reply.explain or "")
        broken = template("all-five")
        del broken["graph"]["edges"][next(iter(broken["graph"]["edges"]))]
        status, bad = await serve.post("/compile", {"workflow": broken})
        assert (status, bad["ok"], bad["spec_hash"]) == (200, False, None)
        assert bad["diagnostics"][0]["code"] == "E_MISSING_INPUT"


async def test_targets_run_only_what_they_need(tmp_path: Path):
    async with serving(tmp_path) as serve:
        _, mask = await serve.post(
            "/compile", {"workflow": template("mask-edit-shapes"), "targets": ["region"]}
        )
        assert mask["ok"], mask["diagnostics"]
        assert "load_model" not in mask["explain"]


# ---- uploads ----


async def test_an_uploaded_clip_can_be_named_by_a_workflow(tmp_path: Path):
    data = video(tmp_path / "clip.mp4", frames=45, fps=16)
    async with serving(tmp_path) as serve:
        status, reply = await upload(serve, "mine.mp4", data)
        assert (status, reply["asset"]["asset"], reply["renamed_from"]) == (201, "mine.mp4", None)
        document = template("mask-edit-shapes")
        document["graph"]["nodes"]["source"]["params"]["file"] = "mine.mp4"
        _, compiled = await serve.post("/compile", {"workflow": document})
        assert compiled["ok"], compiled["diagnostics"]
        async with serve.session.get(serve.url("/assets/mine.mp4")) as response:
            assert await response.read() == data


async def test_a_second_file_of_that_name_is_renamed_and_that_is_said(tmp_path: Path):
    async with serving(tmp_path) as serve:
        await upload(serve, "a.png", png(colour="red"))
        _, reply = await upload(serve, "a.png", png(colour="blue"))
        assert (reply["asset"]["asset"], reply["renamed_from"]) == ("a-2.png", "a.png")


@pytest.mark.parametrize(
    ("name", "data", "status", "code"),
    [
        ("words.png", b"these are words and no picture", 415, "E_MEDIA_TYPE"),
        ("bomb.png", png_bomb(30_000), 413, "E_MEDIA_TOO_LARGE"),
        ("half.png", png(64, 64)[:80], 422, "E_MEDIA_BROKEN"),
        ("..", png(), 400, "E_ASSET_NAME"),
        ("a:b.png", png(), 400, "E_ASSET_NAME"),
        ("empty.png", b"", 415, "E_MEDIA_TYPE"),
    ],
    ids=["words", "bomb", "half", "dots", "colon", "empty"],
)
async def test_a_bad_upload_is_refused_and_the_server_goes_on(
    tmp_path: Path, name: str, data: bytes, status: int, code: str
):
    async with serving(tmp_path) as serve:
        got, reply = await upload(serve, name, data)
        assert (got, reply["error"]["code"]) == (status, code)
        assert (await upload(serve, "good.png", png()))[0] == 201


async def test_a_truncated_video_is_refused(tmp_path: Path):
    data = video(tmp_path / "clip.mp4", frames=40)
    async with serving(tmp_path) as serve:
        status, reply = await upload(serve, "cut.mp4", data[: len(data) // 2])
        assert (status, reply["error"]["code"]) == (422, "E_MEDIA_BROKEN")


async def test_a_form_without_a_file_is_refused(tmp_path: Path):
    async with serving(tmp_path) as serve:
        assert (await upload(serve, "a.png", png(), field="picture"))[0] == 400
        status, reply = await send(serve, "POST", "/uploads", "{}")
        assert (status, reply.error.code) == (415, "E_INVALID")
        broken = await send(
            serve,
            "POST",
            "/uploads",
            "no boundary here",
            **{"Content-Type": "multipart/form-data; boundary=x"},
        )
        assert broken[0] == 400
        assert (await send(serve, "POST", "/uploads", "", **{"Content-Type": "multipart/form-data"}))[
            0
        ] == 400


# ---- bad input ----


def changed(change: str) -> dict[str, Any]:
    """generate-shapes with one thing wrong."""
    document = deepcopy(template("generate-shapes"))
    nodes, edges = document["graph"]["nodes"], document["graph"]["edges"]
    match change:
        case "unknown node type":
            nodes["generate"]["type"] = "dream_video"
        case "wrong socket type":
            edges["wrong"] = {"from": ["prompt", "prompt"], "to": ["generate", "adapters"]}
        case "missing input":
            name = next(name for name, edge in edges.items() if edge["to"] == ["generate", "model"])
            del edges[name]
        case "cycle":
            for name in ("a", "b"):
                nodes[name] = {"type": "lora", "version": 1, "params": {"file": "neon"}}
            edges["ab"] = {"from": ["a", "adapters"], "to": ["b", "adapters"]}
            edges["ba"] = {"from": ["b", "adapters"], "to": ["a", "adapters"]}
            edges["bg"] = {"from": ["b", "adapters"], "to": ["generate", "adapters"]}
        case "out of range":
            nodes["generate"]["params"]["frame_count"] = -5
        case "off lattice":
            nodes["generate"]["params"]["frame_count"] = 44
        case "missing file":
            nodes["file"] = {"type": "load_image", "version": 1, "params": {"file": "nowhere.png"}}
            edges["file"] = {"from": ["file", "image"], "to": ["generate", "keyframes"]}
        case "newer schema":
            document["schema"] = "rushes.workflow/99"
        case "no graph":
            del document["graph"]
        case "graph is a list":
            document["graph"] = []
    return document


BAD_WORKFLOWS = {
    "unknown node type": ("E_UNKNOWN_NODE_TYPE", "generate"),
    "wrong socket type": ("E_SOCKET_TYPE", "generate"),
    "missing input": ("E_MISSING_INPUT", "generate"),
    "cycle": ("E_CYCLE", None),
    "out of range": ("E_PARAM_RANGE", "generate"),
    "off lattice": ("E_OFF_LATTICE", "generate"),
    "missing file": ("E_UNKNOWN_ASSET", "file"),
    "newer schema": ("E_SCHEMA", None),
    "no graph": ("E_MALFORMED", None),
    "graph is a list": ("E_MALFORMED", None),
}


@pytest.mark.parametrize("change", BAD_WORKFLOWS)
async def test_a_bad_workflow_is_refused_with_the_node_and_the_server_goes_on(tmp_path: Path, change: str):
    code, node_id = BAD_WORKFLOWS[change]
    async with serving(tmp_path, ScriptedWorker(on_submit=run_to_the_end)) as serve:
        status, reply = await serve.post("/jobs", {"workflow": changed(change)})
        assert (status, reply["error"]["code"]) == (422, code)
        first = next(found for found in reply["diagnostics"] if found["code"] == code)
        assert node_id is None or first["node_id"] == node_id
        assert first["message"]
        job_id = await serve.submit()
        assert await serve.until_state(job_id, "completed", "failed") == "completed"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{", "E_MALFORMED"),
        ("", "E_MALFORMED"),
        ("[]", "E_MALFORMED"),
        ("null", "E_MALFORMED"),
        (b"\xff\xfe{}", "E_MALFORMED"),
        ('{"workflow": NaN}', "E_MALFORMED"),
        ('{"workflow": {}, "workflow": {}}', "E_MALFORMED"),
        ('{"workflow": ' + "[" * 200 + "]" * 200 + "}", "E_TOO_LARGE"),
        ("[" * 100_000, "E_TOO_LARGE"),
        ('{"workflow": {"a": ' + "9" * 5000 + "}}", "E_MALFORMED"),
        ('{"workflow": 5}', "E_INVALID"),
        ('{"workflow": {}, "speed": 3}', "E_INVALID"),
        ('{"targets": []}', "E_INVALID"),
        ('{"workflow": {}, "targets": "save"}', "E_INVALID"),
    ],
)
async def test_a_body_that_is_none_is_refused(tmp_path: Path, body: str | bytes, code: str):
    async with serving(tmp_path) as serve:
        for path in ("/jobs", "/compile"):
            status, reply = await send(serve, "POST", path, body)
            assert (status, reply.error.code) == (400, code)
            assert reply.error.message


async def test_a_wrong_field_is_named(tmp_path: Path):
    async with serving(tmp_path) as serve:
        _, reply = await send(serve, "POST", "/jobs", '{"workflow": {}, "targets": ["save", 7]}')
        assert reply.error.given == "targets.1"


async def test_a_body_beyond_the_bound_is_refused(tmp_path: Path):
    async with serving(tmp_path) as serve:
        status, reply = await send(serve, "POST", "/jobs", io.BytesIO(b" " * (18 << 20)))
        assert (status, reply.error.code) == (413, "E_TOO_LARGE")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "E_NOT_FOUND"),
        ("DELETE", "/nodes", 405, "E_METHOD"),
        ("GET", "/jobs/job_000000000000", 404, "E_NOT_FOUND"),
        ("POST", "/jobs/job_000000000000/cancel", 404, "E_NOT_FOUND"),
        ("GET", "/jobs?state=lost", 400, "E_INVALID"),
        ("GET", "/jobs?limit=0", 400, "E_INVALID"),
        ("GET", "/jobs?limit=many", 400, "E_INVALID"),
        ("GET", "/workflows/wf_nothing", 404, "E_NOT_FOUND"),
    ],
)
async def test_what_is_not_there_is_said_as_an_error_body(
    tmp_path: Path, method: str, path: str, status: int, code: str
):
    async with serving(tmp_path) as serve:
        got, reply = await send(serve, method, path, b"")
        assert (got, reply.error.code) == (status, code)


async def test_a_form_cannot_pass_for_json(tmp_path: Path):
    async with serving(tmp_path) as serve:
        body = json.dumps({"workflow": template("generate-shapes")})
        status, reply = await send(serve, "POST", "/jobs", body, **{"Content-Type": "text/plain"})
        assert (status, reply.error.code) == (415, "E_INVALID")


async def test_a_broken_model_folder_is_told_and_the_server_goes_on(tmp_path: Path):
    async with serving(tmp_path) as serve:
        path = tmp_path / "checkpoints" / "shapes" / "rushes.json"
        good = path.read_text()
        path.write_text("{")
        status, reply = await serve.get("/models")
        assert (status, reply["error"]["code"]) == (500, "E_CHECKPOINT")
        path.write_text(good)
        assert (await serve.get("/models"))[0] == 200


async def test_with_a_broken_worker_jobs_are_refused_and_not_lost_in_a_queue(tmp_path: Path):
    async with serving(tmp_path) as serve:
        serve.worker.state = "broken"
        status, reply = await serve.post("/jobs", {"workflow": template("generate-shapes")})
        assert (status, reply["error"]["code"]) == (503, "E_WORKER_BROKEN")


# ---- saved workflows ----


async def test_a_workflow_is_saved_changed_and_guarded_by_its_version(tmp_path: Path):
    async with serving(tmp_path) as serve:
        document = template("generate-shapes")
        async with serve.session.post(serve.url("/workflows"), json={"document": document}) as response:
            assert (response.status, response.headers["ETag"]) == (201, '"1"')
            workflow = (await response.json())["workflow"]
        assert workflow["title"] == document["title"]
        path = f"/workflows/{workflow['workflow_id']}"
        body = json.dumps({"document": document, "title": "Mine"})
        assert (await send(serve, "PUT", path, body))[0] == 428
        async with serve.session.put(
            serve.url(path), json={"document": document, "title": "Mine"}, headers={"If-Match": '"1"'}
        ) as response:
            assert (response.status, response.headers["ETag"]) == (200, '"2"')
        status, reply = await send(serve, "PUT", path, body, **{"If-Match": '"1"'})
        assert (status, reply.error.code) == (412, "E_VERSION_CONFLICT")
        assert (await send(serve, "PUT", path, body, **{"If-Match": "newest"}))[0] == 400
        _, newest = await serve.get(path)
        _, oldest = await serve.get(f"{path}?version=1")
        assert (newest["workflow"]["title"], oldest["workflow"]["version"]) == ("Mine", 1)
        assert oldest["document"] == document
        async with serve.session.delete(serve.url(path)) as response:
            assert response.status == 204
        assert (await serve.get(path))[0] == 404
