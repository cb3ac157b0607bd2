"""The base of every message, and the ids they share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

JobId = Annotated[str, Field(pattern=r"^job_[0-9a-z]{12}$")]
NodeId = Annotated[str, Field(min_length=1, max_length=1000)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
JsonObject = dict[str, JsonValue]
Seq = Annotated[int, Field(ge=0, description="Number of the event in the server's one stream; only grows.")]


class WireModel(BaseModel):
    """A message or a part of one: immutable, and a field it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
