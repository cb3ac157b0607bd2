"""An adapter file to an Adapter: find its dialect, place every tensor, refuse what is left over."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from rushes.backend.models.adapters import comfyui, kohya, peft
from rushes.backend.models.adapters.adapter import Adapter, AdapterError, LowRank
from rushes.backend.models.adapters.dialect import Dialect, Part, Targets
from rushes.backend.models.tensor_file import TensorFile, TensorFileError, read_tensor_file

# ComfyUI's files may carry PEFT's endings, so its prefix is looked for first.
DIALECTS: tuple[Dialect, ...] = (comfyui.DIALECT, kohya.DIALECT, peft.DIALECT)
FLOAT_DTYPES = ("F32", "F16", "BF16")
LISTED = 8


def read_adapter(path: Path, targets: Targets, *, device: torch.device | str, dtype: torch.dtype) -> Adapter:
    """Errors: AdapterError for a file of no known dialect, with text-encoder parts, with keys that match no
    layer or are no low-rank delta (all of them listed), or with shapes that do not fit.
    """
    try:
        file = read_tensor_file(path)
    except TensorFileError as error:
        raise AdapterError(str(error)) from error
    dialect = _dialect_of(file)
    _refuse_text(file, dialect)
    parts = _parts(file, dialect, targets)
    with safe_open(path, framework="pt", device="cpu") as tensors:
        deltas = {layer: _loaded(tensors, keys) for layer, keys in parts.items()}
    for layer, (down, up, _) in deltas.items():
        _check_shapes(path, layer, down, up, targets.shapes[layer])
    ranks = {layer: down.shape[0] for layer, (down, _, _) in deltas.items()}
    told = dialect.scales(file.metadata, ranks)
    return Adapter(
        path.stem,
        {
            layer: LowRank(
                down.to(device, dtype),
                up.to(device, dtype),
                told.get(layer, 1.0) if alpha is None else alpha / ranks[layer],
            )
            for layer, (down, up, alpha) in deltas.items()
        },
    )


def _dialect_of(file: TensorFile) -> Dialect:
    keys = frozenset(file.tensors)
    for dialect in DIALECTS:
        if dialect.recognises(keys):
            return dialect
    names = ", ".join(dialect.name for dialect in DIALECTS)
    raise AdapterError(f"{file.path.name}: must be a LoRA file ({names}), got {_listed(sorted(keys))}")


def _refuse_text(file: TensorFile, dialect: Dialect) -> None:
    text = sorted(key for key in file.tensors if dialect.is_text(key))
    if text:
        raise AdapterError(
            f"{file.path.name}: must change the transformer only, got text encoder parts {_listed(text)}"
        )


def _parts(file: TensorFile, dialect: Dialect, targets: Targets) -> dict[str, dict[str, str]]:
    """layer -> role -> key; every layer with a down and an up."""
    placed: dict[str, Part | None] = {key: dialect.part(key, targets) for key in file.tensors}
    if unmatched := sorted(key for key, part in placed.items() if part is None):
        raise AdapterError(
            f"{file.path.name}: every key must be a low-rank part of a layer, got {_listed(unmatched)}"
        )
    if odd := sorted(key for key, facts in file.tensors.items() if facts.dtype not in FLOAT_DTYPES):
        raise AdapterError(
            f"{file.path.name}: tensors must be {', '.join(FLOAT_DTYPES)}, others are {_listed(odd)}"
        )
    layers: dict[str, dict[str, str]] = {}
    for key, part in placed.items():
        assert part is not None
        layers.setdefault(part.layer, {})[part.role] = key
    if halves := sorted(layer for layer, keys in layers.items() if not {"down", "up"} <= keys.keys()):
        raise AdapterError(f"{file.path.name}: a delta must have a down and an up, not so {_listed(halves)}")
    return layers


def _loaded(tensors: safe_open, keys: Mapping[str, str]) -> tuple[Tensor, Tensor, float | None]:
    alpha = float(tensors.get_tensor(keys["alpha"])) if "alpha" in keys else None
    return tensors.get_tensor(keys["down"]), tensors.get_tensor(keys["up"]), alpha


def _check_shapes(path: Path, layer: str, down: Tensor, up: Tensor, shape: tuple[int, int]) -> None:
    out, inputs = shape
    if down.ndim != 2 or up.ndim != 2 or down.shape[1] != inputs or up.shape != (out, down.shape[0]):
        raise AdapterError(
            f"{path.name}: {layer} must get [R, {inputs}] and [{out}, R], "
            f"got {list(down.shape)} and {list(up.shape)}"
        )


def _listed(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - LISTED} more" if len(keys) > LISTED else ""
    return ", ".join(keys[:LISTED]) + more
