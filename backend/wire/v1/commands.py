"""What a client sends over `WS /api/v1/events`, as JSON text messages. The first must be `hello`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .model import JobId, NodeId, WireModel

Key = Annotated[str, Field(min_length=1, max_length=32)]


class ClientHello(WireModel):
    type: Literal["hello"] = "hello"
    since: int | None = Field(
        default=None,
        ge=0,
        description="Last seq seen before a reconnect; null starts with what comes from now on.",
    )


class Subscribe(WireModel):
    """Send me the events of this job, or of all, from my `since` on. A job may be named before it exists."""

    type: Literal["subscribe"] = "subscribe"
    job_id: JobId | Literal["*"]
    acks: bool = Field(
        default=False,
        description="I send chunk.ack when I have shown a chunk; until then it counts as unread. "
        "False: a chunk is read when it was sent.",
    )


class Unsubscribe(WireModel):
    type: Literal["unsubscribe"] = "unsubscribe"
    job_id: JobId | Literal["*"]


class JobControl(WireModel):
    """Steer a running rollout. A field left null keeps what holds."""

    type: Literal["job.control"] = "job.control"
    job_id: JobId
    node_id: NodeId
    seq: int = Field(ge=0, description="The client's own growing number; chunks name the last one used.")
    wanted_chunk: int | None = Field(
        default=None, ge=0, description="First chunk it is for; null is the next."
    )
    keys: tuple[Key, ...] | None = Field(
        default=None, max_length=16, description="All keys held from now on."
    )
    prompt: str | None = Field(default=None, max_length=4000)
    stop: bool = Field(default=False, description="End the rollout, save what was made.")


class ChunkAck(WireModel):
    type: Literal["chunk.ack"] = "chunk.ack"
    job_id: JobId
    node_id: NodeId
    chunk_index: int = Field(ge=0)


class JobCancel(WireModel):
    type: Literal["job.cancel"] = "job.cancel"
    job_id: JobId


ClientMessage = Annotated[
    ClientHello | Subscribe | Unsubscribe | JobControl | ChunkAck | JobCancel, Field(discriminator="type")
]
