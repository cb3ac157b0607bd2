"""Wan: facts of a checkpoint from its JSON files, and the builder. Imports no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushes.backend.models.content_id import content_id
from rushes.backend.models.family import FamilyError
from rushes.compiler.ir.facts import CheckpointFacts

if TYPE_CHECKING:
    from rushes.backend.models.wan.components import WanComponents

PIPELINES = ("WanPipeline",)

# What Wan 2.1 was published with; a checkpoint's own rushes.json says otherwise.
PUBLISHED: Mapping[str, Any] = {
    "title": None,
    "sizes_fixed": False,
    "width_px": 832,
    "height_px": 480,
    "fps": 16,
    "frame_count_default": 81,
    "frame_count_max": 81,
    "chunk_latent_frames": 3,
    "step_count": 50,
    "flow_shift": None,
    "guidance_scale": 5.0,
    "control_keys": [],
    "capabilities": ["adapters", "edit"],
}


class WanFamily:
    family_id = "wan"

    def recognises(self, folder: Path) -> bool:
        index = folder / "model_index.json"
        return index.is_file() and _read(index).get("_class_name") in PIPELINES

    def facts(self, folder: Path) -> CheckpointFacts:
        transformer = _read(folder / "transformer" / "config.json")
        vae = _read(folder / "vae" / "config.json")
        told = _told(folder)
        if told["control_keys"] and not (folder / "controls" / "config.json").is_file():
            raise FamilyError(f"{folder.name}: control_keys need controls/config.json, got none")
        files = (path for path in folder.rglob("*") if path.suffix in (".json", ".safetensors"))
        own = (path for path in files if path.parent != folder / "adapters")
        return CheckpointFacts(
            checkpoint=folder.name,
            family=self.family_id,
            title=told["title"] or folder.name,
            latent_channels=int(vae.get("z_dim", 16)),
            spatial=int(vae.get("scale_factor_spatial", 8)),
            temporal=int(vae.get("scale_factor_temporal", 4)),
            patch=int(transformer.get("patch_size", (1, 2, 2))[1]),
            width_px=int(told["width_px"]),
            height_px=int(told["height_px"]),
            sizes_fixed=bool(told["sizes_fixed"]),
            fps=int(told["fps"]),
            frame_count_default=int(told["frame_count_default"]),
            frame_count_max=int(told["frame_count_max"]),
            chunk_latent_frames=int(told["chunk_latent_frames"]),
            step_count=int(told["step_count"]),
            flow_shift=float(told["flow_shift"]),
            guidance_scale=float(told["guidance_scale"]),
            samplers=("euler", "unipc"),
            precisions=("fp32", "bf16"),
            control_keys=tuple(told["control_keys"]),
            capabilities=frozenset(told["capabilities"]),
            content_id=content_id(folder, own),
        )

    def build(self, folder: Path, *, device: str, precision: str) -> WanComponents:
        from rushes.backend.models.wan.components import build_components

        return build_components(folder, self.facts(folder), device=device, precision=precision)


def _told(folder: Path) -> dict[str, Any]:
    """What rushes.json says, on top of what Wan was published with."""
    path = folder / "rushes.json"
    own = _read(path) if path.is_file() else {}
    if unknown := sorted(own.keys() - PUBLISHED.keys()):
        raise FamilyError(f"{folder.name}: rushes.json must have known fields only, got {', '.join(unknown)}")
    told = {**PUBLISHED, **own}
    if told["flow_shift"] is None:
        scheduler = folder / "scheduler" / "scheduler_config.json"
        told["flow_shift"] = _read(scheduler).get("flow_shift", 3.0) if scheduler.is_file() else 3.0
    return told


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise FamilyError(f"{path.parent.name}/{path.name}: must be a JSON file, got {error}") from error
    if not isinstance(value, dict):
        raise FamilyError(
            f"{path.parent.name}/{path.name}: must be a JSON object, got {type(value).__name__}"
        )
    return value


FAMILY = WanFamily()
