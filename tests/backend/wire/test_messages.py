"""The protocol: what goes out comes back, and nothing unknown gets in."""

import struct
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from rushes.backend.engine import protocol
from rushes.backend.wire import export
from rushes.backend.wire.v1 import commands, events
from rushes.backend.wire.v1.binary import pack_binary, split_frames, unpack_binary
from rushes.backend.wire.v1.catalog import CatalogReply
from rushes.backend.wire.v1.error_codes import ERROR_CODES
from rushes.backend.wire.v1.schema import json_schema, wire_models
from rushes.nodes.catalog import load_catalog

RENAMED = {"control.applied": {"control_seq"}, "artifact.created": {"artifact_id", "url"}}
"""What the wire says instead of the worker's own words."""
HIDDEN = {"artifact.created": {"path", "sha256"}}

PREVIEW = events.PreviewFrame(
    seq=9,
    job_id="job_0123456789ab",
    node_id="generate",
    chunk_index=0,
    frame_index=0,
    step=1,
    step_count=4,
    width_px=12,
    height_px=12,
    encoding="jpeg",
    frame_count=2,
    frame_bytes=(3, 4),
)


def server_events() -> dict[str, type[events.WireModel]]:
    models = get_args(get_args(events.ServerEvent)[0])
    return {model.model_fields["type"].default: model for model in models}


@pytest.mark.parametrize("event", get_args(protocol.Event), ids=lambda event: event.type)
def test_every_event_of_the_worker_is_a_message_with_its_fields(event):
    wire = server_events()[event.type]
    said = {field.name for field in fields(event)} - HIDDEN.get(event.type, set())
    told = set(wire.model_fields) - {"type", "seq"} - RENAMED.get(event.type, set())
    assert told == said - {"seq"}


def test_a_binary_message_comes_back_whole():
    header, payload = unpack_binary(pack_binary(PREVIEW, b"abcdefg"))
    assert header == PREVIEW
    assert split_frames(payload, header.frame_bytes) == (b"abc", b"defg")


def test_a_binary_message_starts_with_the_header_s_length():
    message = pack_binary(PREVIEW, b"abcdefg")
    (length,) = struct.unpack(">I", message[:4])
    assert message[4 : 4 + length].startswith(b"{")
    assert message[4 + length :] == b"abcdefg"


def test_a_payload_of_another_length_than_announced_is_refused():
    with pytest.raises(ValueError, match="7 bytes"):
        pack_binary(PREVIEW.model_copy(update={"frame_bytes": (3,)}), b"abcdefg")


@pytest.mark.parametrize("cut", [0, 3, 4, 20])
def test_a_binary_message_cut_short_is_refused(cut: int):
    with pytest.raises(ValueError, match="must"):
        unpack_binary(pack_binary(PREVIEW, b"abcdefg")[:cut])


def test_messages_do_not_change_and_take_no_unknown_field():
    with pytest.raises(ValidationError):
        PREVIEW.step = 2
    with pytest.raises(ValidationError):
        commands.JobCancel.model_validate({"job_id": "job_0123456789ab", "reason": "bored"})


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"subscribe","job_id":"*"}',
        '{"type":"job.control","job_id":"job_0123456789ab","node_id":"r","seq":3,"keys":["w"]}',
    ],
)
def test_client_messages_are_told_apart_by_type(text: str):
    message = TypeAdapter(commands.ClientMessage).validate_json(text)
    assert message.type in text


def test_the_catalog_is_what_the_protocol_says():
    catalog = load_catalog().to_json()
    assert CatalogReply.model_validate(catalog).model_dump(mode="json") == catalog


def test_the_editor_s_types_are_those_of_the_models(root: Path):
    committed = (root / "frontend" / "src" / "wire" / "api.ts").read_text(encoding="utf-8")
    assert committed == export.typescript(), "run python -m rushes.backend.wire.export frontend/src/wire/"


def test_the_schema_has_every_model_and_no_dangling_reference():
    schemas = json_schema()
    assert {model.__name__ for model in wire_models()} <= set(schemas)
    text = str(schemas)
    wanted = {part.split("'")[0] for part in text.split("#/components/schemas/")[1:]}
    assert wanted <= set(schemas)


def test_the_exporter_writes_one_file_and_refuses_anything_but_a_folder(tmp_path: Path, capsys):
    assert export.main([str(tmp_path / "wire")]) == 0
    assert (tmp_path / "wire" / "api.ts").read_text(encoding="utf-8").startswith("// Generated")
    assert export.main([]) == 2
    assert "one folder" in capsys.readouterr().err


def test_every_code_has_a_sentence():
    assert [code for code, meaning in ERROR_CODES.items() if not meaning.endswith((".", "?"))] == []
