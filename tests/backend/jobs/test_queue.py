"""The queue: events in, commands out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushes.backend.jobs.queue import (
    CancelRequested,
    Drained,
    Ended,
    Finish,
    JobQueue,
    Moved,
    QueueCommand,
    QueueEvent,
    Requeue,
    Start,
    StartRefused,
    StopInWorker,
    Submitted,
    WorkerCame,
    WorkerWent,
)


def ready_queue(*job_ids: str, running_max: int = 2) -> JobQueue:
    queue = JobQueue(running_max=running_max)
    queue.handle(WorkerCame())
    for job_id in job_ids:
        queue.handle(Submitted(job_id))
    return queue


def finishes(commands: list[QueueCommand]) -> list[tuple[str, str]]:
    return [(each.job_id, each.state) for each in commands if isinstance(each, Finish)]


def test_a_job_waits_until_there_is_a_worker():
    queue = JobQueue()
    assert queue.handle(Submitted("a")) == [Moved("a", 0)]
    assert queue.handle(WorkerCame()) == [Start("a", 1)]


def test_no_more_jobs_run_than_may_and_the_next_starts_when_one_ends():
    queue = ready_queue("a", "b", "c", "d")
    assert queue.running == ("a", "b")
    assert queue.waiting == ("c", "d")
    assert queue.handle(Ended("a", "completed")) == [
        Finish("a", "completed", None),
        Start("c", 1),
        Moved("d", 0),
    ]


def test_a_waiting_job_is_cancelled_at_once():
    queue = ready_queue("a", "b", "c", "d")
    assert queue.handle(CancelRequested("c")) == [Finish("c", "cancelled", None), Moved("d", 0)]


def test_a_running_job_is_cancelled_by_the_worker_and_asked_once():
    queue = ready_queue("a")
    assert queue.handle(CancelRequested("a")) == [StopInWorker("a")]
    assert queue.handle(CancelRequested("a")) == []
    assert queue.handle(Ended("a", "cancelled")) == [Finish("a", "cancelled", None)]


def test_a_job_that_completes_while_it_is_being_cancelled_has_completed():
    queue = ready_queue("a")
    queue.handle(CancelRequested("a"))
    assert queue.handle(Ended("a", "completed")) == [Finish("a", "completed", None)]


def test_jobs_of_a_dead_worker_wait_again_at_the_front_in_their_order():
    queue = ready_queue("a", "b", "c")
    commands = queue.handle(WorkerWent())
    assert commands[:2] == [Requeue("a", 1), Requeue("b", 1)]
    assert queue.waiting == ("a", "b", "c")


def test_after_a_death_each_of_its_jobs_runs_alone():
    queue = ready_queue("a", "b", "c")
    queue.handle(WorkerWent())
    assert queue.handle(WorkerCame())[0] == Start("a", 2)
    assert queue.running == ("a",)
    queue.handle(Ended("a", "completed"))
    assert queue.running == ("b",)
    queue.handle(Ended("b", "completed"))
    assert queue.running == ("c",)


def test_the_second_death_under_a_job_fails_it_and_no_other():
    queue = ready_queue("bad", "good")
    queue.handle(WorkerWent())
    queue.handle(WorkerCame())
    commands = queue.handle(WorkerWent())
    assert finishes(commands) == [("bad", "failed")]
    assert queue.waiting == ("good",)
    failure = next(each.failure for each in commands if isinstance(each, Finish))
    assert failure is not None
    assert failure.code == "E_WORKER_DIED"


def test_a_job_that_was_being_cancelled_when_the_worker_died_is_cancelled():
    queue = ready_queue("a")
    queue.handle(CancelRequested("a"))
    assert queue.handle(WorkerWent()) == [Finish("a", "cancelled", None)]


def test_an_endless_job_is_not_started_again():
    queue = ready_queue()
    queue.handle(Submitted("live", is_endless=True))
    assert finishes(queue.handle(WorkerWent())) == [("live", "failed")]


def test_a_refused_start_does_not_count():
    queue = ready_queue("a")
    assert queue.handle(StartRefused("a")) == [Requeue("a", 0), Moved("a", 0)]
    assert queue.handle(WorkerCame()) == [Start("a", 1)]


def test_a_drained_queue_starts_nothing_even_when_a_worker_comes():
    queue = ready_queue("a", "b", "c")
    queue.handle(Drained())
    assert queue.handle(Ended("a", "completed")) == [Finish("a", "completed", None)]
    assert queue.handle(WorkerCame()) == []
    assert queue.waiting == ("c",)


JOBS = ("a", "b", "c", "d", "e")
ENDS = st.sampled_from(("completed", "failed", "cancelled"))
EVENTS = st.one_of(
    st.sampled_from(JOBS).map(CancelRequested),
    st.builds(Ended, st.sampled_from(JOBS), ENDS),
    st.sampled_from(JOBS).map(StartRefused),
    st.just(WorkerCame()),
    st.just(WorkerWent()),
)


@given(st.lists(EVENTS, max_size=60))
def test_whatever_happens_a_job_finishes_at_most_once_and_never_runs_after(events: list[QueueEvent]):
    queue = JobQueue(running_max=2)
    submitted: list[QueueEvent] = [Submitted(job_id) for job_id in JOBS]
    finished: set[str] = set()
    for event in [*submitted, *events]:
        for command in queue.handle(event):
            assert command.job_id not in finished
            if isinstance(command, Finish):
                finished.add(command.job_id)
        assert len(queue.running) <= 2
        assert not finished & {*queue.running, *queue.waiting}
    assert finished | {*queue.running, *queue.waiting} == set(JOBS)


@pytest.mark.parametrize("deaths", [1, 2, 3])
def test_enough_deaths_end_every_job(deaths: int):
    queue = ready_queue("a", "b", running_max=2)
    for _ in range(deaths):
        queue.handle(WorkerWent())
        queue.handle(WorkerCame())
    assert len(queue.running) + len(queue.waiting) == max(0, 3 - deaths)
