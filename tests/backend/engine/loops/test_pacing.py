"""When a live rollout begins its next chunk. The clock is the test's."""

from itertools import pairwise

import pytest

from rushes.backend.engine.loops.pacing import Pacer


def send(pacer, now_s, frames):
    """All parts of a chunk at once."""
    for part in range(frames // 4):
        pacer.sent(now_s, 4, is_first=part == 0)


def play(pacer, took_s, chunks, frames=12, now_s=0.0):
    """Make chunks as the pacer says; when each began and when its first part left."""
    times = []
    for _ in range(chunks):
        began_s = max(now_s, pacer.not_before_s)
        pacer.begin(began_s, frames)
        now_s = began_s + took_s
        send(pacer, now_s, frames)
        times.append((began_s, now_s))
    return times


def test_the_first_chunk_begins_at_once():
    assert Pacer(16.0).not_before_s == 0.0


def test_chunks_leave_at_the_rate_they_are_played():
    times = play(Pacer(16.0), took_s=0.2, chunks=30)

    gaps = [after[1] - before[1] for before, after in pairwise(times[10:])]
    assert gaps == pytest.approx([0.75] * len(gaps), abs=0.01)


def test_a_steady_chunk_begins_just_before_it_is_due():
    pacer = Pacer(16.0)
    play(pacer, took_s=0.2, chunks=40)

    assert pacer.lead_s == pytest.approx(0.2 + pacer.margin_s, abs=0.01)


def test_a_rollout_that_is_too_slow_never_waits():
    times = play(Pacer(16.0), took_s=1.0, chunks=10)

    assert all(after[0] == before[1] for before, after in pairwise(times))


def test_a_late_chunk_moves_the_viewers_clock_and_is_not_caught_up():
    pacer = Pacer(16.0)
    play(pacer, took_s=0.2, chunks=20)
    due_s = pacer.due_s
    pacer.begin(due_s, 12)
    send(pacer, due_s + 0.5, 12)

    assert pacer.due_s == pytest.approx(due_s + 0.5 + 0.75)


def test_a_part_that_is_late_in_the_middle_of_a_chunk_moves_the_clock_too():
    pacer = Pacer(16.0)
    pacer.begin(0.0, 12)
    pacer.sent(0.2, 4, is_first=True)
    assert pacer.not_before_s == pytest.approx(0.2 + 0.75 - pacer.lead_s)
    pacer.sent(0.65, 4, is_first=False)
    pacer.sent(0.65, 4, is_first=False)

    assert pacer.due_s == pytest.approx(0.65 + 0.5)


def test_jitter_widens_the_lead():
    pacer = Pacer(16.0)
    for index in range(40):
        pacer.begin(0.0, 12)
        send(pacer, 0.2 if index % 2 else 0.3, 12)

    assert pacer.lead_s > 0.3
