"""The event stream: numbers, what is kept, what a late listener gets."""

from rushes.backend.jobs.event_log import EVERY_JOB, EventLog


def progress(job_id: str) -> dict[str, str]:
    return {"type": "job.progress", "job_id": job_id, "node_id": "n"}


def preview(job_id: str, node_id: str = "n") -> dict[str, str]:
    return {"type": "preview.frame", "job_id": job_id, "node_id": node_id}


def test_numbers_grow_by_one_and_start_after_those_of_earlier_starts():
    first, second = EventLog(0), EventLog(1)
    assert [first.append(progress("a")).seq for _ in range(3)] == [1, 2, 3]
    assert second.append(progress("a")).seq > 10**10
    assert second.seq < 2**53


def test_a_job_s_events_come_back_in_order_with_those_about_the_worker():
    log = EventLog()
    log.append(progress("a"))
    log.append(progress("b"))
    log.append({"type": "worker.ready"})
    log.append(progress("a"))
    assert [event.seq for event in log.since(0, "a")] == [1, 3, 4]
    assert [event.seq for event in log.since(2, EVERY_JOB)] == [3, 4]


def test_only_the_last_preview_of_a_node_is_kept_and_none_once_the_job_is_over():
    log = EventLog()
    log.append(preview("a"), b"old")
    log.append(preview("a"), b"new")
    log.append(preview("a", "other"), b"x")
    assert [event.payload for event in log.since(log.seq, "a")] == [b"new", b"x"]
    log.append({"type": "job.completed", "job_id": "a"})
    assert [event.type for event in log.since(0, "a")] == ["job.completed"]


def test_too_many_events_push_out_the_oldest_and_that_is_told():
    log = EventLog(events_max=3)
    for _ in range(5):
        log.append(progress("a"))
    assert [event.seq for event in log.since(0, "a")] == [3, 4, 5]
    assert log.has_gap(1)
    assert not log.has_gap(2)


def test_large_chunks_are_bounded_by_bytes():
    log = EventLog(bytes_max=5000)
    for _ in range(4):
        log.append({"type": "chunk.frames", "job_id": "a", "node_id": "n"}, bytes(2000))
    assert len(log.since(0, "a")) == 1


def test_a_number_of_another_start_is_a_gap():
    log = EventLog(1)
    log.append(progress("a"))
    assert log.has_gap(17)
    assert log.has_gap(log.seq + 1)


def test_a_listener_hears_until_it_stops():
    log = EventLog()
    heard: list[int] = []
    stop = log.listen(lambda event: heard.append(event.seq))
    log.append(progress("a"))
    stop()
    log.append(progress("a"))
    assert heard == [1]
