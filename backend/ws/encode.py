"""Events of the server as messages of the wire."""

from __future__ import annotations

from pydantic import TypeAdapter

from ..jobs.event_log import LoggedEvent
from ..wire.v1.binary import pack_binary
from ..wire.v1.events import ChunkFrames, PreviewFrame, ServerEvent

_EVENT: TypeAdapter[ServerEvent] = TypeAdapter(ServerEvent)


def encode_event(event: LoggedEvent) -> str | bytes:
    """Text, or bytes for pictures. Errors: ValidationError for an event the protocol does not have."""
    message = _EVENT.validate_python({**event.header, "seq": event.seq})
    if isinstance(message, PreviewFrame | ChunkFrames):
        return pack_binary(message, event.payload)
    return message.model_dump_json()
