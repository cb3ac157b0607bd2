"""A tiny checkpoint that can do everything, for rooms above the models."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from rushes.backend.models.registry import find_checkpoints
from rushes.backend.models.wan.controls import KeyEmbedding
from tests.backend.models.wan.conftest import CONTROL_KEYS, tiny_pipeline

TOLD = {
    "title": "Tiny",
    "sizes_fixed": True,
    "width_px": 48,
    "height_px": 32,
    "fps": 16,
    "frame_count_default": 9,
    "frame_count_max": 81,
    "chunk_latent_frames": 3,
    "step_count": 3,
    "flow_shift": 3.0,
    "guidance_scale": 1.0,
    "control_keys": CONTROL_KEYS,
    "capabilities": ["per_token_timesteps", "rollout", "edit", "adapters", "start_image"],
}


@pytest.fixture(scope="session")
def checkpoint_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one checkpoint, `tiny`, random in diffusers' own format, and its adapter `loud`."""
    root = tmp_path_factory.mktemp("root")
    folder = root / "tiny"
    tiny_pipeline().save_pretrained(folder)
    (folder / "rushes.json").write_text(json.dumps(TOLD))
    (folder / "controls").mkdir()
    (folder / "controls" / "config.json").write_text(
        json.dumps({"keys": CONTROL_KEYS, "key_count": len(CONTROL_KEYS), "dim": 24})
    )
    torch.manual_seed(1)
    save_file(KeyEmbedding(len(CONTROL_KEYS), 24).state_dict(), folder / "controls" / "model.safetensors")
    preview = {"weight": torch.randn(3, 16).tolist(), "bias": [0.5, 0.5, 0.5]}
    (folder / "preview.json").write_text(json.dumps(preview))
    (folder / "adapters").mkdir()
    save_file(_adapter(), folder / "adapters" / "loud.safetensors")
    return root


@pytest.fixture(scope="session")
def tiny(checkpoint_root: Path):
    """The checkpoint, loaded: `Components`."""
    family, folder, _ = find_checkpoints([checkpoint_root])["tiny"]
    return family.build(folder, device="cpu", precision="fp32")


@pytest.fixture(scope="session")
def shipped_assets(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The assets that ship with the templates, by name."""
    folder = tmp_path_factory.mktemp("assets")
    return {path.name: Path(shutil.copy(path, folder)) for path in (root / "workflows" / "assets").iterdir()}


def _adapter() -> dict[str, torch.Tensor]:
    """A LoRA of rank 2 on every feed-forward's last layer, in PEFT's layout."""
    generator = torch.Generator().manual_seed(2)
    return {
        f"transformer.blocks.{block}.ffn.net.2.{side}.weight": 3 * torch.randn(shape, generator=generator)
        for block in range(2)
        for side, shape in (("lora_A", (2, 32)), ("lora_B", (24, 2)))
    }
