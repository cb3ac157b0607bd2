"""The events WebSocket of a real server; the test plays the worker."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from rushes.backend.wire.v1.binary import unpack_binary
from tests.backend.serving import ScriptedWorker, Serving, run_to_the_end, serving, until_true


class Socket:
    """A client of the raw protocol."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        self.ws = ws
        self.hello: dict[str, Any] = {}

    async def say(self, kind: str, **fields: Any) -> None:
        await self.ws.send_str(json.dumps({"type": kind, **fields}))

    async def hear(self) -> dict[str, Any]:
        message = await self.ws.receive(timeout=20)
        if message.type is aiohttp.WSMsgType.BINARY:
            header, payload = unpack_binary(message.data)
            return header.model_dump() | {"payload": payload}
        assert message.type is aiohttp.WSMsgType.TEXT, message
        return dict(json.loads(message.data))

    async def hear_until(self, *kinds: str) -> list[dict[str, Any]]:
        heard = [await self.hear()]
        while heard[-1]["type"] not in kinds:
            heard.append(await self.hear())
        return heard


@asynccontextmanager
async def socket(
    serve: Serving, *, since: int | None = None, job_id: str | None = "*", acks: bool = False
) -> AsyncIterator[Socket]:
    async with serve.session.ws_connect(serve.url("/events"), max_msg_size=0) as ws:
        each = Socket(ws)
        await each.say("hello", since=since)
        each.hello = await each.hear()
        if job_id is not None:
            await each.say("subscribe", job_id=job_id, acks=acks)
        yield each


def kinds(heard: list[dict[str, Any]]) -> list[str]:
    return [message["type"] for message in heard]


END = ("job.completed", "job.failed", "job.cancelled")


async def test_a_job_s_events_arrive_in_order_and_its_one_terminal_event_last(tmp_path: Path):
    async with serving(tmp_path) as serve, socket(serve) as each:
        serve.worker.on_submit = run_to_the_end
        job_id = await serve.submit()
        heard = await each.hear_until(*END)
        mine = [message for message in heard if message.get("job_id") == job_id]
        assert kinds(mine) == [
            "job.started",
            "node.started",
            "job.progress",
            "preview.frame",
            "node.finished",
            "artifact.created",
            "job.completed",
        ]
        assert [message["seq"] for message in heard] == sorted({message["seq"] for message in heard})
        artifact = mine[-2]
        assert artifact["url"] == f"/api/v1/artifacts/{artifact['artifact_id']}"
        assert "path" not in artifact


async def test_nothing_between_hello_and_subscribe_is_lost(tmp_path: Path):
    worker = ScriptedWorker(on_submit=run_to_the_end)
    async with serving(tmp_path, worker) as serve, socket(serve, job_id=None) as each:
        job_id = await serve.submit()
        await serve.until_state(job_id, "completed")
        await each.say("subscribe", job_id=job_id)
        heard = await each.hear_until(*END)
        assert "artifact.created" in kinds(heard)


async def test_a_reconnect_with_since_gets_exactly_what_it_missed(tmp_path: Path):
    async with serving(tmp_path) as serve:
        async with socket(serve) as each:
            job_id = await serve.submit()
            seen = (await each.hear_until("job.started"))[-1]["seq"]
        for step in (1, 2, 3):
            serve.worker.progress(job_id, step=step)
        async with socket(serve, since=seen, job_id=job_id) as each:
            assert each.hello["has_gap"] is False
            serve.worker.complete(job_id)
            heard = await each.hear_until(*END)
        assert [message["step"] for message in heard if message["type"] == "job.progress"] == [1, 2, 3]
        assert heard[0]["seq"] == seen + 1


async def test_a_reload_in_the_middle_gets_the_snapshot_and_the_last_preview(tmp_path: Path):
    async with serving(tmp_path) as serve:
        job_id = await serve.submit()
        await until_true(lambda: len(serve.worker.submitted) == 1)
        serve.worker.say("node.started", job_id=job_id, node_id="generate")
        for step in (1, 2):
            serve.worker.progress(job_id, step=step)
            serve.worker.preview(job_id, step=step)
        serve.worker.artifact(serve.worker.submitted[0], node_id="other")

        async def has_artifact() -> bool:
            return bool((await serve.get(f"/jobs/{job_id}"))[1]["artifacts"])

        await _until(has_artifact)
        async with socket(serve) as each:
            (snapshot,) = each.hello["jobs"]
            assert snapshot["job"]["job_id"] == job_id
            assert (snapshot["nodes"][0]["node_id"], snapshot["nodes"][0]["step"]) == ("generate", 2)
            assert snapshot["artifacts"][0]["node_id"] == "other"
            preview = await each.hear()
            assert (preview["type"], preview["payload"][0]) == ("preview.frame", 2)


async def _until(condition) -> None:
    while not await condition():
        await asyncio.sleep(0.01)


async def test_a_cursor_from_before_the_restart_is_told_that_there_is_a_gap(tmp_path: Path):
    worker = ScriptedWorker(on_submit=run_to_the_end)
    async with serving(tmp_path, worker) as serve, socket(serve) as each:
        await serve.submit()
        seen = (await each.hear_until(*END))[-1]["seq"]
    async with serving(tmp_path) as serve, socket(serve, since=seen) as each:
        assert each.hello["has_gap"] is True
        assert each.hello["seq"] > seen


async def test_a_connection_hears_only_of_the_job_it_asked_for(tmp_path: Path):
    async with serving(tmp_path) as serve:
        first, second = await serve.submit(), await serve.submit()
        await serve.until_state(second, "running")
        async with socket(serve, job_id=second) as each:
            serve.worker.progress(first)
            serve.worker.progress(second)
            assert (await each.hear())["job_id"] == second


async def test_subscribing_twice_does_not_send_twice(tmp_path: Path):
    async with serving(tmp_path) as serve, socket(serve, job_id=None) as each:
        job_id = await serve.submit()
        await serve.until_state(job_id, "running")
        await each.say("subscribe", job_id=job_id)
        await each.say("subscribe", job_id="*")
        serve.worker.complete(job_id)
        heard = await each.hear_until(*END)
        numbers = [message["seq"] for message in heard]
        assert len(numbers) == len(set(numbers))


async def test_positions_in_the_queue_are_told_when_they_change(tmp_path: Path):
    worker = ScriptedWorker(is_ready_at_start=False)
    async with serving(tmp_path, worker) as serve, socket(serve) as each:
        first, second = await serve.submit(), await serve.submit()
        await serve.post(f"/jobs/{first}/cancel")
        heard = [await each.hear() for _ in range(4)]
        told = [(message["type"], message["job_id"], message.get("position")) for message in heard]
        assert told == [
            ("job.queued", first, 0),
            ("job.queued", second, 1),
            ("job.cancelled", first, None),
            ("job.queued", second, 0),
        ]


# ---- chunks and back-pressure ----


async def test_without_a_listener_chunks_are_acknowledged_at_once(tmp_path: Path):
    async with serving(tmp_path) as serve:
        job_id = await serve.submit("rollout-shapes")
        await serve.until_state(job_id, "running")
        serve.worker.chunk(job_id, 0)
        await until_true(lambda: serve.worker.acks == [(job_id, "rollout", 0)])


async def test_a_chunk_that_was_sent_is_acknowledged_after_its_last_part(tmp_path: Path):
    async with serving(tmp_path) as serve, socket(serve) as each:
        job_id = await serve.submit("rollout-shapes")
        await serve.until_state(job_id, "running")
        serve.worker.chunk(job_id, 0, parts=3)
        heard = await each.hear_until("chunk.frames")
        assert heard[-1]["part_index"] == 0
        await each.hear_until("chunk.frames")
        await each.hear_until("chunk.frames")
        await until_true(lambda: len(serve.worker.acks) > 0)
        assert serve.worker.acks == [(job_id, "rollout", 0)]


async def test_a_client_with_acks_holds_the_rollout_until_it_says_so(tmp_path: Path):
    async with serving(tmp_path) as serve, socket(serve, acks=True) as each:
        job_id = await serve.submit("rollout-shapes")
        await serve.until_state(job_id, "running")
        for index in range(3):
            serve.worker.chunk(job_id, index)
            await each.hear_until("chunk.frames")
        assert serve.worker.acks == []
        await each.say("chunk.ack", job_id=job_id, node_id="rollout", chunk_index=1)
        await until_true(lambda: serve.worker.acks == [(job_id, "rollout", 1)])


async def test_the_slower_of_two_readers_decides(tmp_path: Path):
    async with serving(tmp_path) as serve, socket(serve) as fast, socket(serve, acks=True) as slow:
        job_id = await serve.submit("rollout-shapes")
        await serve.until_state(job_id, "running")
        await slow.hear_until("job.started")
        serve.worker.chunk(job_id, 0)
        await fast.hear_until("chunk.frames")
        await slow.hear_until("chunk.frames")
        assert serve.worker.acks == []
        await slow.say("chunk.ack", job_id=job_id, node_id="rollout", chunk_index=0)
        await until_true(lambda: serve.worker.acks == [(job_id, "rollout", 0)])


@pytest.mark.parametrize("way", ["close", "unsubscribe"])
async def test_a_reader_that_goes_away_frees_the_rollout(tmp_path: Path, way: str):
    async with serving(tmp_path) as serve, socket(serve, acks=True) as each:
        job_id = await serve.submit("rollout-shapes")
        await serve.until_state(job_id, "running")
        serve.worker.chunk(job_id, 0)
        await each.hear_until("chunk.frames")
        if way == "close":
            await each.ws.close()
        else:
            await each.say("unsubscribe", job_id="*")
        await until_true(lambda: serve.worker.acks == [(job_id, "rollout", 0)])


async def test_a_stalled_reader_loses_previews_but_no_chunk_and_holds_nobody_else_up(tmp_path: Path):
    megabyte = 1 << 20
    async with serving(tmp_path) as serve, socket(serve) as other, socket(serve) as stalled:
        job_id = await serve.submit("rollout-shapes")
        await serve.until_state(job_id, "running")
        await stalled.hear_until("job.started")
        transport = stalled.ws._response.connection.transport  # type: ignore[union-attr]
        transport.pause_reading()
        for index in range(30):
            serve.worker.chunk(job_id, index, size=megabyte)
            serve.worker.preview(job_id, "rollout", step=1, size=megabyte)
        serve.worker.complete(job_id)
        fast = await other.hear_until(*END)
        assert len([message for message in fast if message["type"] == "chunk.frames"]) == 30
        assert (job_id, "rollout", 29) not in serve.worker.acks
        transport.resume_reading()
        slow = await stalled.hear_until(*END)
        assert [m["chunk_index"] for m in slow if m["type"] == "chunk.frames"] == list(range(30))
        assert len([message for message in slow if message["type"] == "preview.frame"]) < 30


# ---- live control ----


async def live_job(serve: Serving) -> str:
    job_id = await serve.submit("rollout-live")
    await serve.until_state(job_id, "running")
    return job_id


async def test_a_control_reaches_the_worker_and_its_effect_is_told(tmp_path: Path):
    async with serving(tmp_path) as serve, socket(serve) as each:
        job_id = await live_job(serve)
        control = {"seq": 7, "wanted_chunk": 3, "keys": ["w", "d"], "prompt": "a red ring", "stop": False}
        await each.say("job.control", job_id=job_id, node_id="rollout", **control)
        await until_true(lambda: len(serve.worker.controls) == 1)
        expected = {**control, "keys": ("w", "d"), "job_id": job_id, "node_id": "rollout"}
        assert serve.worker.controls == [expected]
        serve.worker.say(
            "control.applied", job_id=job_id, node_id="rollout", seq=7, chunk_index=4, is_late=True
        )
        applied = (await each.hear_until("control.applied"))[-1]
        assert (applied["control_seq"], applied["chunk_index"], applied["is_late"]) == (7, 4, True)


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"keys": ["w", "jump"]}, "E_CONTROL", "keys.1"),
        ({"keys": "w"}, "E_INVALID", "keys"),
        ({"keys": [1]}, "E_INVALID", "keys.0"),
        ({"node_id": "prompt"}, "E_CONTROL", "node_id"),
        ({"seq": -1}, "E_INVALID", "seq"),
        ({"wanted_chunk": "next"}, "E_INVALID", "wanted_chunk"),
        ({"prompt": 5}, "E_INVALID", "prompt"),
        ({"speed": 2}, "E_INVALID", "speed"),
        ({"job_id": "job_000000000000"}, "E_NOT_FOUND", "job_id"),
        ({"job_id": "nonsense"}, "E_INVALID", "job_id"),
    ],
)
async def test_a_bad_control_is_refused_by_the_name_of_its_field(
    tmp_path: Path, fields: dict[str, Any], code: str, field: str
):
    async with serving(tmp_path) as serve, socket(serve) as each:
        job_id = await live_job(serve)
        await each.say("job.control", **{"job_id": job_id, "node_id": "rollout", "seq": 1, **fields})
        error = (await each.hear_until("error"))[-1]
        assert (error["code"], error["field"], error["request"]) == (code, field, "job.control")
        assert serve.worker.controls == []


async def test_keys_for_a_rollout_that_takes_none_are_refused(tmp_path: Path):
    async with serving(tmp_path) as serve, socket(serve) as each:
        job_id = await serve.submit("rollout-shapes")
        await serve.until_state(job_id, "running")
        await each.say("job.control", job_id=job_id, node_id="rollout", seq=1, keys=["w"])
        error = (await each.hear_until("error"))[-1]
        assert (error["code"], error["field"]) == ("E_CONTROL", "keys")


async def test_a_control_of_a_job_that_waits_is_refused(tmp_path: Path):
    worker = ScriptedWorker(is_ready_at_start=False)
    async with serving(tmp_path, worker) as serve, socket(serve) as each:
        job_id = await serve.submit("rollout-live")
        await each.say("job.control", job_id=job_id, node_id="rollout", seq=1, stop=True)
        assert (await each.hear_until("error"))[-1]["code"] == "E_JOB_STATE"


async def test_a_job_is_cancelled_over_the_connection(tmp_path: Path):
    async with serving(tmp_path) as serve, socket(serve) as each:
        job_id = await live_job(serve)
        await each.say("job.cancel", job_id=job_id)
        await until_true(lambda: serve.worker.cancelled == [job_id])
        serve.worker.say("job.cancelled", job_id=job_id)
        assert kinds(await each.hear_until(*END))[-1] == "job.cancelled"


# ---- manners ----


async def test_the_connection_must_begin_with_hello_and_says_so_only_once(tmp_path: Path):
    async with serving(tmp_path) as serve:
        async with serve.session.ws_connect(serve.url("/events")) as ws:
            each = Socket(ws)
            await each.say("subscribe", job_id="*")
            assert (await each.hear())["code"] == "E_HELLO_FIRST"
        async with socket(serve) as each:
            await each.say("hello")
            assert (await each.hear())["code"] == "E_HELLO_FIRST"


@pytest.mark.parametrize("text", ["not json", "[]", "{}", '{"type":"dance"}', "[" * 5000, '{"type":"hello"'])
async def test_a_message_that_is_none_is_answered_and_the_connection_goes_on(tmp_path: Path, text: str):
    async with serving(tmp_path) as serve, socket(serve) as each:
        await each.ws.send_str(text)
        assert (await each.hear())["code"] == "E_INVALID"
        await each.ws.send_bytes(b"\0\1")
        assert (await each.hear())["code"] == "E_INVALID"
        serve.worker.die()
        assert (await each.hear())["type"] == "worker.died"


async def test_a_message_beyond_the_bound_closes_the_connection_and_not_the_server(tmp_path: Path):
    async with serving(tmp_path) as serve:
        async with socket(serve) as each:
            await each.ws.send_str("x" * (1 << 20))
            message = await each.ws.receive(timeout=20)
            assert message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
            assert each.ws.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
        assert (await serve.get("/system"))[0] == 200


async def test_clients_are_told_when_the_server_ends(tmp_path: Path):
    async with aiohttp.ClientSession() as session:
        async with serving(tmp_path) as serve:
            ws = await session.ws_connect(serve.url("/events"))
            each = Socket(ws)
            await each.say("hello")
            await each.hear()
            closing = asyncio.create_task(ws.receive(timeout=20))
        assert (await closing).data == aiohttp.WSCloseCode.GOING_AWAY


async def test_an_event_that_is_none_of_the_protocol_stops_neither_its_job_nor_others(tmp_path: Path, caplog):
    async with serving(tmp_path) as serve, socket(serve) as each:
        job_id = await serve.submit()
        await serve.until_state(job_id, "running")
        serve.worker.say("node.started", job_id=job_id, node_id="generate", colour="red")
        serve.worker.complete(job_id)
        assert kinds(await each.hear_until(*END))[-1] == "job.completed"
        assert "not an event of the protocol" in caplog.text
