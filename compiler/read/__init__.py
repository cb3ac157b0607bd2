"""JSON to `Graph`: the door for documents, where old and strange ones are told apart."""

from rushes.compiler.read.any_format import AnyFormat, read_any

__all__ = ["AnyFormat", "read_any"]
