"""The Python client, for programs and for the CLI: `AsyncClient` and `Client`. Imports no torch."""

from .asynchronous import AsyncClient
from .refusal import ClientError
from .stream import EventStream, Received
from .synchronous import Client

__all__ = ["AsyncClient", "Client", "ClientError", "EventStream", "Received"]
