"""When a rollout may go on."""

from rushes.backend.ws.chunk_ledger import Ack, ChunkLedger


def test_a_chunk_nobody_reads_is_acknowledged_at_once():
    assert ChunkLedger().sent("job", "n", 0, []) == [Ack("job", "n", 0)]


def test_a_chunk_is_acknowledged_when_its_last_reader_has_it():
    ledger = ChunkLedger()
    assert ledger.sent("job", "n", 0, [1, 2]) == []
    assert ledger.read(1, "job", "n", 0) == []
    assert ledger.read(2, "job", "n", 0) == [Ack("job", "n", 0)]


def test_a_later_chunk_waits_for_the_ones_before_it():
    ledger = ChunkLedger()
    ledger.sent("job", "n", 0, [1])
    ledger.sent("job", "n", 1, [2])
    assert ledger.read(2, "job", "n", 1) == []
    assert ledger.read(1, "job", "n", 0) == [Ack("job", "n", 1)]


def test_reading_a_chunk_reads_all_before_it():
    ledger = ChunkLedger()
    for index in range(3):
        ledger.sent("job", "n", index, [1])
    assert ledger.read(1, "job", "n", 2) == [Ack("job", "n", 2)]


def test_a_reader_that_leaves_owes_nothing():
    ledger = ChunkLedger()
    ledger.sent("a", "n", 0, [1])
    ledger.sent("b", "m", 4, [1, 2])
    assert ledger.left(1) == [Ack("a", "n", 0)]
    assert ledger.left(2) == [Ack("b", "m", 4)]


def test_a_reader_may_leave_one_job_only():
    ledger = ChunkLedger()
    ledger.sent("a", "n", 0, [1])
    ledger.sent("b", "n", 0, [1])
    assert ledger.left(1, "a") == [Ack("a", "n", 0)]


def test_nothing_is_owed_of_a_job_that_is_over():
    ledger = ChunkLedger()
    ledger.sent("a", "n", 0, [1])
    ledger.ended("a")
    assert ledger.left(1) == []
