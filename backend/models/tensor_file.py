"""What a safetensors file says it holds, read and checked before a byte of a tensor is.

Without torch, so that facts about a checkpoint can be told without it.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_HEADER_BYTES = 100_000_000
ITEM_BYTES = {
    **{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1},
    **{"I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1},
}


class TensorFileError(ValueError):
    """A weights file that is not what it must be; the message names the file."""


@dataclass(frozen=True, slots=True)
class TensorFacts:
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TensorFile:
    """A safetensors file and what its header tells."""

    path: Path
    tensors: Mapping[str, TensorFacts]
    metadata: Mapping[str, str]
    header: bytes


def read_tensor_file(path: Path) -> TensorFile:
    """Read the header; dtypes, shapes and offsets must add up to the size of the file.

    Errors: TensorFileError for a file that is not safetensors, is cut short or holds a dtype nobody knows.
    """
    header = _header_bytes(path)
    entries = _parsed(path, header)
    metadata = entries.pop("__metadata__", {})
    tensors: dict[str, TensorFacts] = {}
    spans: list[tuple[int, int]] = []
    for name, entry in entries.items():
        facts, span = _entry(path, name, entry)
        tensors[name] = facts
        spans.append(span)
    _check_spans(path, sorted(spans), path.stat().st_size - 8 - len(header))
    return TensorFile(path, tensors, metadata, header)


def _header_bytes(path: Path) -> bytes:
    room = min(path.stat().st_size - 8, MAX_HEADER_BYTES)
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if room < 2 or length > room:
            raise TensorFileError(f"{path.name}: must be a safetensors file, got a header of {length} bytes")
        return file.read(length)


def _parsed(path: Path, header: bytes) -> dict[str, Any]:
    try:
        entries = json.loads(header)
    except ValueError as error:
        raise TensorFileError(
            f"{path.name}: must be a safetensors file, got a header that is not JSON"
        ) from error
    if not isinstance(entries, dict):
        raise TensorFileError(f"{path.name}: the header must be an object, got {type(entries).__name__}")
    return entries


def _entry(path: Path, name: str, entry: Any) -> tuple[TensorFacts, tuple[int, int]]:
    try:
        dtype, shape = str(entry["dtype"]), tuple(int(side) for side in entry["shape"])
        start, stop = (int(offset) for offset in entry["data_offsets"])
    except (KeyError, TypeError, ValueError) as error:
        raise TensorFileError(f"{path.name}: {name} must have dtype, shape and data_offsets") from error
    if dtype not in ITEM_BYTES or any(side < 0 for side in shape):
        raise TensorFileError(f"{path.name}: {name} must have a known dtype and a shape, got {dtype} {shape}")
    if stop - start != math.prod(shape) * ITEM_BYTES[dtype]:
        raise TensorFileError(
            f"{path.name}: {name} must take {math.prod(shape)} x {dtype}, got {stop - start} bytes"
        )
    return TensorFacts(dtype, shape), (start, stop)


def _check_spans(path: Path, spans: list[tuple[int, int]], size: int) -> None:
    """Tensors must follow each other without a gap and fill the file."""
    end = 0
    for start, stop in spans:
        if start != end:
            raise TensorFileError(f"{path.name}: the next tensor must start at byte {end}, got {start}")
        end = stop
    if end != size:
        raise TensorFileError(f"{path.name}: must hold {end} bytes of tensors, got {size}")
