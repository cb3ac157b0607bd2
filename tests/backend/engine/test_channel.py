"""The two pipes of a worker: framing, order, and what is dropped."""

import io
import os
import threading

import pytest

from rushes.backend.engine.channel import PREVIEWS_MAX, EventWriter, read_commands
from rushes.backend.engine.protocol import (
    AckChunk,
    CancelJob,
    ControlJob,
    JobCancelled,
    JobStarted,
    PreviewFrame,
    ProtocolError,
    StopWorker,
    SubmitJob,
    pack_message,
    parse_command,
    read_message,
    to_header,
    unpack_header,
)

COMMANDS = [
    SubmitJob("job", {"schema": "s"}, {"a.mp4": "/a.mp4"}, "/out", {"workflow": {}}, "rgb24"),
    CancelJob("job"),
    ControlJob("job", "node", 3, wanted_chunk=2, keys=["w"], prompt="é", stop=True),
    AckChunk("job", "node", 4),
    StopWorker(),
]


def preview(step):
    return PreviewFrame("job", "node", 0, 0, step, 9, 8, 8, "jpeg", 1, [3])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.type)
def test_a_command_comes_back_as_it_was_sent(command):
    header, payload = read_message(io.BytesIO(pack_message(to_header(command))))

    assert parse_command(header) == command
    assert payload == b""


def test_a_payload_follows_its_header():
    stream = io.BytesIO(pack_message({"type": "x"}, b"bytes") + pack_message({"type": "y"}))

    assert read_message(stream) == ({"type": "x"}, b"bytes")
    assert read_message(stream) == ({"type": "y"}, b"")
    assert read_message(stream) is None


@pytest.mark.parametrize("kept", [2, 6, -2])
def test_a_stream_that_ends_inside_a_message_is_broken(kept):
    with pytest.raises(ProtocolError, match="ended inside"):
        read_message(io.BytesIO(pack_message({"type": "x"}, b"bytes")[:kept]))


@pytest.mark.parametrize("raw", [b"[]", b"{", b"{}", b'{"payload_bytes": -1}'])
def test_a_header_of_another_form_is_refused(raw):
    with pytest.raises(ProtocolError, match="expected"):
        unpack_header(raw)


@pytest.mark.parametrize("header", [{"type": "dance"}, {}, {"type": "cancel"}, {"type": "stop", "now": 1}])
def test_a_command_nobody_knows_is_refused(header):
    with pytest.raises(ProtocolError):
        parse_command(header)


def test_a_slow_reader_loses_the_oldest_previews_and_nothing_else():
    read_fd, write_fd = os.pipe()
    with os.fdopen(read_fd, "rb") as reader:
        writer = EventWriter(os.fdopen(write_fd, "wb"), lambda: None)
        writer.put(JobStarted("job"), b"x" * (1 << 20))  # fills the pipe, so that the rest waits
        for step in range(1, 41):
            writer.put(preview(step), b"abc")
            writer.put(JobStarted(f"job-{step}"))
        writer.put(JobCancelled("job"))
        messages = []
        taker = threading.Thread(target=lambda: messages.extend(iter(lambda: read_message(reader), None)))
        taker.start()
        writer.close()
        writer._stream.close()
        taker.join()

    kinds = [header["type"] for header, _ in messages]
    steps = [header["step"] for header, _ in messages if header["type"] == "preview.frame"]
    assert kinds.count("job.started") == 41
    assert kinds[-1] == "job.cancelled"
    assert len(steps) <= PREVIEWS_MAX + 1
    assert steps[-PREVIEWS_MAX:] == list(range(41 - PREVIEWS_MAX, 41))


def test_a_reader_that_is_gone_is_told_once():
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    broken = threading.Event()
    stream = os.fdopen(write_fd, "wb", buffering=0)
    writer = EventWriter(stream, broken.set)
    writer.put(JobStarted("job"))

    assert broken.wait(10)
    writer.close()
    stream.close()


def test_commands_are_handed_over_and_the_end_is_told():
    stream = io.BytesIO(b"".join(pack_message(to_header(command)) for command in COMMANDS))
    taken, reasons = [], []

    read_commands(stream, taken.append, reasons.append).join(10)

    assert taken == COMMANDS
    assert reasons == ["the owner closed the channel"]
