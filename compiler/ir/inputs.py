"""The values that reached the input sockets of one node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from rushes.compiler.ir.values import Value

V = TypeVar("V", bound=Value)


@dataclass(frozen=True, slots=True)
class Inputs:
    values: Mapping[str, Value]

    def need(self, socket: str, kind: type[V]) -> V:
        """The value of a required socket. The checks before lowering promise that it is there."""
        value = self.values[socket]
        if not isinstance(value, kind):
            raise TypeError(f"socket {socket!r} expects {kind.__name__}, got {type(value).__name__}")
        return value

    def find(self, socket: str, kind: type[V]) -> V | None:
        """The value of an optional socket, None when it is not connected."""
        return self.need(socket, kind) if socket in self.values else None

    def get(self, socket: str) -> Value | None:
        """The value of a socket of several types, None when it is not connected."""
        return self.values.get(socket)
