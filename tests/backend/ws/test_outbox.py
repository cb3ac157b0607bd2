"""What waits on one connection."""

import asyncio

import pytest

from rushes.backend.jobs.event_log import LoggedEvent
from rushes.backend.ws.outbox import Letter, Outbox, OutboxFull


def letter(kind: str, node_id: str = "n", data: bytes = b"") -> Letter:
    return Letter(data, LoggedEvent(1, {"type": kind, "job_id": "job", "node_id": node_id}))


async def drained(outbox: Outbox) -> list[bytes]:
    return [bytes((await outbox.get()).data) for _ in range(len(outbox))]


async def test_of_many_previews_of_a_node_the_newest_two_wait():
    outbox = Outbox()
    for number in range(5):
        outbox.put(letter("preview.frame", data=b"%d" % number))
    outbox.put(letter("preview.frame", "other", b"x"))
    assert await drained(outbox) == [b"3", b"4", b"x"]


async def test_chunks_and_progress_never_give_way():
    outbox = Outbox()
    for number in range(4):
        outbox.put(letter("chunk.frames", data=b"c%d" % number))
        outbox.put(letter("preview.frame", data=b"p%d" % number))
    assert await drained(outbox) == [b"c0", b"c1", b"c2", b"p2", b"c3", b"p3"]


async def test_more_than_the_bounds_is_refused():
    outbox = Outbox(letters_max=2)
    outbox.put(letter("job.progress"))
    outbox.put(letter("job.progress"))
    with pytest.raises(OutboxFull):
        outbox.put(letter("job.progress"))
    with pytest.raises(OutboxFull):
        Outbox(bytes_max=3).put(letter("chunk.frames", data=b"1234"))


async def test_a_reader_waits_for_the_next_letter():
    outbox = Outbox()
    waiting = asyncio.create_task(outbox.get())
    await asyncio.sleep(0)
    assert not waiting.done()
    outbox.put(Letter("late"))
    assert (await waiting).data == "late"
