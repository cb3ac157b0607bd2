"""Jobs on a real server with a real database; the test plays the worker."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from rushes.backend.database import Database, DatabaseError
from rushes.backend.jobs import store
from rushes.backend.jobs.requests import DispatchLimits
from tests.backend.serving import ScriptedWorker, Submitted, run_to_the_end, serving, until_true


async def test_a_job_runs_from_queued_to_completed_and_leaves_what_it_made(tmp_path: Path):
    async with serving(tmp_path, ScriptedWorker(on_submit=run_to_the_end)) as serve:
        job_id = await serve.submit()
        assert await serve.until_state(job_id, "completed", "failed") == "completed"
        _, detail = await serve.get(f"/jobs/{job_id}")
        assert [node["state"] for node in detail["nodes"]] == ["finished"]
        assert detail["timings"] == {"total_s": 1.0}
        artifact = detail["artifacts"][0]
        async with serve.session.get(serve.server.url + artifact["url"]) as response:
            assert await response.read() == b"bytes of a video"


async def test_the_worker_gets_the_program_its_files_and_what_to_embed(tmp_path: Path):
    async with serving(tmp_path) as serve:
        await serve.submit("mask-edit-shapes")
        await until_true(lambda: len(serve.worker.submitted) == 1)
        job = serve.worker.submitted[0]
        assert job.assets["shapes-source.mp4"].read_bytes()[4:8] == b"ftyp"
        assert job.output_dir.is_dir()
        assert job.metadata["workflow"]["schema"] == "rushes.workflow/1"
        assert job.metadata["params"]["edit"]["denoise_strength"] == 1.0


async def test_queued_jobs_survive_a_restart_and_run_in_their_order(tmp_path: Path):
    limits = DispatchLimits(running_max=1)
    async with serving(tmp_path, ScriptedWorker(is_ready_at_start=False), dispatch=limits) as serve:
        jobs = [await serve.submit() for _ in range(3)]
        assert [await serve.state(job_id) for job_id in jobs] == ["queued"] * 3
    async with serving(tmp_path, ScriptedWorker(on_submit=run_to_the_end), dispatch=limits) as serve:
        for job_id in jobs:
            assert await serve.until_state(job_id, "completed", "failed") == "completed"
        assert [each.job_id for each in serve.worker.submitted] == jobs


async def test_a_job_that_runs_when_the_server_ends_runs_again_after_the_restart(tmp_path: Path):
    async with serving(tmp_path) as serve:
        job_id = await serve.submit()
        await serve.until_state(job_id, "running")
    async with serving(tmp_path, ScriptedWorker(on_submit=run_to_the_end)) as serve:
        assert await serve.until_state(job_id, "completed", "failed") == "completed"
        _, detail = await serve.get(f"/jobs/{job_id}")
        assert detail["job"]["attempt"] == 1


@pytest.mark.parametrize(("attempt", "ends"), [(1, "completed"), (2, "failed")])
async def test_after_a_crash_of_the_server_a_job_that_ran_gets_its_second_start_and_no_third(
    tmp_path: Path, attempt: int, ends: str
):
    async with serving(tmp_path, ScriptedWorker(is_ready_at_start=False)) as serve:
        job_id = await serve.submit()
    database = Database(tmp_path / "data")
    await database.run(partial(store.mark_running, job_id=job_id, attempt=attempt, started_at=1.0))
    database.close()
    async with serving(tmp_path, ScriptedWorker(on_submit=run_to_the_end)) as serve:
        assert await serve.until_state(job_id, "completed", "failed") == ends
        _, detail = await serve.get(f"/jobs/{job_id}")
        assert detail["job"]["attempt"] == 2
        assert (detail["error"] or {}).get("code") == (None if ends == "completed" else "E_SERVER_STOPPED")


async def test_a_live_job_is_stopped_gracefully_when_the_server_ends(tmp_path: Path):
    async with serving(tmp_path, drain_s=20.0) as serve:
        job_id = await serve.submit("rollout-live")
        await serve.until_state(job_id, "running")
        worker = serve.worker
        ending = asyncio.create_task(_complete_when_stopped(worker, job_id))
    await ending
    async with serving(tmp_path) as serve:
        assert await serve.state(job_id) == "completed"


async def _complete_when_stopped(worker: ScriptedWorker, job_id: str) -> None:
    await until_true(lambda: any(control["stop"] for control in worker.controls))
    worker.complete(job_id)


async def test_cancelling_a_queued_job_ends_it_without_the_worker(tmp_path: Path):
    async with serving(tmp_path, ScriptedWorker(is_ready_at_start=False)) as serve:
        job_id = await serve.submit()
        status, reply = await serve.post(f"/jobs/{job_id}/cancel")
        assert (status, reply["job"]["state"]) == (200, "cancelled")
        assert serve.worker.cancelled == []


async def test_cancelling_a_running_job_waits_for_the_worker_s_word(tmp_path: Path):
    async with serving(tmp_path) as serve:
        job_id = await serve.submit()
        await serve.until_state(job_id, "running")
        _, reply = await serve.post(f"/jobs/{job_id}/cancel")
        assert reply["job"]["state"] == "running"
        assert serve.worker.cancelled == [job_id]
        serve.worker.say("job.cancelled", job_id=job_id)
        assert await serve.until_state(job_id, "cancelled") == "cancelled"


async def test_cancelling_a_job_that_is_over_changes_nothing(tmp_path: Path):
    async with serving(tmp_path, ScriptedWorker(on_submit=run_to_the_end)) as serve:
        job_id = await serve.submit()
        await serve.until_state(job_id, "completed")
        status, reply = await serve.post(f"/jobs/{job_id}/cancel")
        assert (status, reply["job"]["state"]) == (200, "completed")
        assert serve.worker.cancelled == []


async def test_a_dead_worker_s_job_runs_again_and_what_it_had_made_is_dropped(tmp_path: Path):
    async with serving(tmp_path) as serve:
        job_id = await serve.submit()
        await until_true(lambda: len(serve.worker.submitted) == 1)
        serve.worker.artifact(serve.worker.submitted[0])
        serve.worker.die()
        assert await serve.until_state(job_id, "queued") == "queued"
        serve.worker.on_submit = run_to_the_end
        serve.worker.become_ready()
        await serve.until_state(job_id, "completed")
        _, detail = await serve.get(f"/jobs/{job_id}")
        assert detail["job"]["attempt"] == 2
        assert len(detail["artifacts"]) == 1


async def test_a_job_that_kills_the_worker_twice_fails(tmp_path: Path):
    def die(worker: ScriptedWorker, _job: Submitted) -> None:
        worker.die()
        worker.become_ready()

    async with serving(tmp_path, ScriptedWorker(on_submit=die)) as serve:
        job_id = await serve.submit()
        assert await serve.until_state(job_id, "failed", "completed") == "failed"
        _, detail = await serve.get(f"/jobs/{job_id}")
        assert detail["error"]["code"] == "E_WORKER_DIED"
        assert len(serve.worker.submitted) == 2


async def test_an_artifact_that_is_not_what_was_said_fails_its_job_only(tmp_path: Path):
    async with serving(tmp_path) as serve:
        job_id = await serve.submit()
        await until_true(lambda: len(serve.worker.submitted) == 1)
        job = serve.worker.submitted[0]
        serve.worker.artifact(job)
        (job.output_dir / "save.mp4").write_bytes(b"something else")
        assert await serve.until_state(job_id, "failed", "completed") == "failed"
        _, detail = await serve.get(f"/jobs/{job_id}")
        assert detail["error"]["code"] == "E_STORAGE"
        serve.worker.on_submit = run_to_the_end
        other = await serve.submit()
        assert await serve.until_state(other, "completed", "failed") == "completed"


async def test_what_a_job_says_after_its_end_is_left_out(tmp_path: Path):
    async with serving(tmp_path, ScriptedWorker(on_submit=run_to_the_end)) as serve:
        job_id = await serve.submit()
        await serve.until_state(job_id, "completed")
        serve.worker.say("job.failed", job_id=job_id, code="E_LATE", message="late", node_id=None)
        serve.worker.on_submit = run_to_the_end
        await serve.until_state(await serve.submit(), "completed")
        assert await serve.state(job_id) == "completed"


async def test_a_full_queue_refuses(tmp_path: Path):
    limits = DispatchLimits(queued_max=1)
    async with serving(tmp_path, ScriptedWorker(is_ready_at_start=False), dispatch=limits) as serve:
        await serve.submit()
        status, reply = await serve.post("/jobs", {"workflow": (await _document(serve))})
        assert (status, reply["error"]["code"]) == (503, "E_QUEUE_FULL")


async def _document(serve):
    _, reply = await serve.get("/templates/generate-shapes")
    return reply["document"]


async def test_only_so_many_jobs_are_in_the_worker(tmp_path: Path):
    async with serving(tmp_path, dispatch=replace(DispatchLimits(), running_max=2)) as serve:
        jobs = [await serve.submit() for _ in range(4)]
        await serve.until_state(jobs[1], "running")
        assert [await serve.state(job_id) for job_id in jobs] == ["running", "running", "queued", "queued"]
        _, reply = await serve.get(f"/jobs/{jobs[3]}")
        assert reply["job"]["position"] == 1


async def test_deleting_a_job_removes_it_and_bytes_nobody_else_has(tmp_path: Path):
    async with serving(tmp_path, ScriptedWorker(on_submit=run_to_the_end)) as serve:
        first, second = await serve.submit(), await serve.submit()
        for job_id in (first, second):
            await serve.until_state(job_id, "completed")
        _, detail = await serve.get(f"/jobs/{first}")
        url = serve.server.url + detail["artifacts"][0]["url"]
        for job_id, status_after in ((first, 200), (second, 404)):
            async with serve.session.delete(serve.url(f"/jobs/{job_id}")) as response:
                assert response.status == 204
            async with serve.session.get(url) as response:
                assert response.status == status_after
        assert (await serve.get(f"/jobs/{first}"))[0] == 404


async def test_a_job_that_runs_cannot_be_deleted(tmp_path: Path):
    async with serving(tmp_path) as serve:
        job_id = await serve.submit()
        async with serve.session.delete(serve.url(f"/jobs/{job_id}")) as response:
            assert response.status == 409
            assert (await response.json())["error"]["code"] == "E_JOB_STATE"


async def test_two_servers_do_not_share_a_data_folder(tmp_path: Path):
    async with serving(tmp_path):
        with pytest.raises(DatabaseError, match="another server"):
            Database(tmp_path / "data")
    Database(tmp_path / "data").close()
