"""Weights from disk into a module: headers first, memory after, nothing left over on either side."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import torch
from safetensors import safe_open
from torch import Tensor, nn

from rushes.backend.models.family import FamilyError
from rushes.backend.models.tensor_file import TensorFile, read_tensor_file
from rushes.backend.models.wan.names import CHECKPOINT_PREFIX, is_original, original_to_ours

FLOAT_DTYPES = ("F32", "F16", "BF16")
LISTED = 8

# What diffusers keeps in fp32 whatever the precision: rounding these is seen in the picture.
KEPT_FP32 = ("time_embedder", "scale_shift_table", "norm1", "norm2", "norm3")


M = TypeVar("M", bound=nn.Module)


def load_module(
    build: Callable[[], M],
    place: Path,
    *,
    device: torch.device,
    dtype: torch.dtype,
    kept_fp32: Sequence[str] = (),
    copies: Mapping[str, str] = MappingProxyType({}),
) -> M:
    """Build a module without memory and fill it from `place`: a file, or a folder as diffusers does.

    Parameters whose name holds one of `kept_fp32` stay fp32. `copies` are names under which some files hold a
    parameter a second time, or only.
    Errors: FamilyError for names or shapes that do not match, all of them listed, or a dtype that is not
        float; TensorFileError for a broken file. Both before memory is taken.
    """
    with torch.device("meta"):
        module = build()
    files = [read_tensor_file(path) for path in weight_files(place)]
    expected = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    own_names = _matched(place, files, expected, copies)
    state: dict[str, Tensor] = {}
    for file in files:
        with safe_open(file.path, framework="pt", device="cpu") as tensors:
            for key in file.tensors.keys() & own_names.keys():
                name = own_names[key]
                keeps = any(part in name for part in kept_fp32)
                state[name] = tensors.get_tensor(key).to(device, torch.float32 if keeps else dtype)
    module.load_state_dict(state, strict=True, assign=True)
    return module.eval().requires_grad_(False)


def weight_files(place: Path) -> list[Path]:
    """The files of a component: itself, those its index names, or the one safetensors file there is."""
    if place.is_file():
        return [place]
    indexes = sorted(place.glob("*.safetensors.index.json"))
    if indexes:
        named = sorted(set(json.loads(indexes[0].read_bytes())["weight_map"].values()))
        if outside := [name for name in named if Path(name).name != name]:
            raise FamilyError(f"{place.name}: an index must name files beside it, got {_listed(outside)}")
        return [place / name for name in named]
    found = sorted(place.glob("*.safetensors"))
    if len(found) != 1:
        raise FamilyError(f"{place.name}: must hold one safetensors file or an index, got {len(found)} files")
    return found


def _matched(
    place: Path,
    files: Sequence[TensorFile],
    expected: Mapping[str, tuple[int, ...]],
    copies: Mapping[str, str],
) -> Mapping[str, str]:
    """Key in the files -> our name, one for one."""
    held = {key: facts for file in files for key, facts in file.tensors.items()}
    facts = {key: fact for key, fact in held.items() if copies.get(key) not in held}
    if odd := sorted(key for key, fact in facts.items() if fact.dtype not in FLOAT_DTYPES):
        raise FamilyError(
            f"{place.name}: tensors must be {', '.join(FLOAT_DTYPES)}, others are {_listed(odd)}"
        )
    known = original_to_ours(expected) if is_original(facts) else {name: name for name in expected}
    own = {key: copies.get(key) or known.get(key.removeprefix(CHECKPOINT_PREFIX)) for key in facts}
    unknown = sorted(key for key, name in own.items() if name is None)
    missing = sorted(expected.keys() - set(own.values()))
    if unknown or missing:
        raise FamilyError(
            f"{place.name}: keys must match the config's parameters, "
            f"got {len(unknown)} unknown ({_listed(unknown)}) and {len(missing)} missing ({_listed(missing)})"
        )
    matched = {key: name for key, name in own.items() if name is not None}
    if len(set(matched.values())) != len(matched):
        raise FamilyError(
            f"{place.name}: keys must name each parameter once, got some with and without prefix"
        )
    if misfits := sorted(key for key, name in matched.items() if facts[key].shape != expected[name]):
        told = [f"{key} {list(facts[key].shape)} for {list(expected[matched[key]])}" for key in misfits]
        raise FamilyError(f"{place.name}: shapes must match the config, got {_listed(told)}")
    return matched


def _listed(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - LISTED} more" if len(keys) > LISTED else ""
    return ", ".join(keys[:LISTED]) + more
