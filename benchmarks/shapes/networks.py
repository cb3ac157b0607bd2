"""The networks of the shipped model as one bundle: built fresh, saved for training, exported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import split_torch_state_dict_into_shards
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import UMT5Config, UMT5EncoderModel

from benchmarks.shapes import configs
from benchmarks.shapes.tokenizer import build_tokenizer, pieces
from rushes.backend.models.wan.controls import KeyEmbedding
from rushes.backend.models.wan.transformer import WanTransformer, WanTransformerConfig
from rushes.backend.models.wan.vae import WanVae, WanVaeConfig

SHARD_BYTES = 14_000_000


@dataclass(slots=True)
class Networks:
    """What is trained; `statistics` are the mean and standard deviation of each latent channel [16]."""

    transformer: WanTransformer
    text: UMT5EncoderModel
    keys: KeyEmbedding
    vae: WanVae
    statistics: tuple[Tensor, Tensor]

    def parts(self) -> dict[str, nn.Module]:
        return {"transformer": self.transformer, "text": self.text, "keys": self.keys, "vae": self.vae}

    def normalised(self, latent: Tensor) -> Tensor:
        mean, std = (value.to(latent).view(1, -1, 1, 1, 1) for value in self.statistics)
        return (latent - mean) / std

    def denormalised(self, latent: Tensor) -> Tensor:
        mean, std = (value.to(latent).view(1, -1, 1, 1, 1) for value in self.statistics)
        return latent * std + mean


def build_networks(seed: int = 0) -> Networks:
    """Untrained networks; the seed fixes their weights."""
    torch.manual_seed(seed)
    transformer = WanTransformer(WanTransformerConfig.from_json(configs.TRANSFORMER))
    for name, parameter in transformer.named_parameters():
        if name.endswith(("proj_out.weight", "proj_out.bias")):
            nn.init.zeros_(parameter)
    text = UMT5EncoderModel(UMT5Config(**configs.text_config(len(pieces()))))
    vae = WanVae(WanVaeConfig.from_json(configs.VAE))
    keys = KeyEmbedding(configs.KEY_COUNT, configs.MODEL_DIM)
    channels = configs.LATENT_CHANNELS
    return Networks(transformer, text, keys, vae, (torch.zeros(channels), torch.ones(channels)))


def save_part(module: nn.Module, path: Path, dtype: torch.dtype = torch.float16) -> None:
    """One module's weights as one safetensors file."""
    save_file(_stored(module.state_dict(), dtype), path)


def load_part(module: nn.Module, path: Path) -> None:
    """The weights `save_part` wrote, strictly."""
    module.load_state_dict(load_file(path), strict=True)


def export_checkpoint(networks: Networks, folder: Path, preview: Mapping[str, Any]) -> None:
    """Write the diffusers folder: transformer and autoencoder in fp16, the small parts in fp32."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "model_index.json", configs.MODEL_INDEX)
    write_json(folder / "rushes.json", configs.RUSHES)
    write_json(folder / "preview.json", preview)
    _write_sharded(folder / "transformer", configs.TRANSFORMER, networks.transformer.state_dict())
    mean, std = (value.tolist() for value in networks.statistics)
    vae_config = {**configs.VAE, "latents_mean": mean, "latents_std": std}
    _write_sharded(folder / "vae", vae_config, networks.vae.state_dict())
    networks.text.float().save_pretrained(folder / "text_encoder")
    build_tokenizer().save_pretrained(folder / "tokenizer")
    (folder / "scheduler").mkdir(exist_ok=True)
    write_json(folder / "scheduler" / "scheduler_config.json", configs.SCHEDULER)
    (folder / "controls").mkdir(exist_ok=True)
    write_json(
        folder / "controls" / "config.json",
        {"keys": configs.RUSHES["control_keys"], "key_count": configs.KEY_COUNT, "dim": configs.MODEL_DIM},
    )
    save_part(networks.keys, folder / "controls" / "model.safetensors", torch.float32)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n")


def _write_sharded(folder: Path, config: Mapping[str, Any], state: Mapping[str, Tensor]) -> None:
    folder.mkdir(exist_ok=True)
    write_json(folder / "config.json", config)
    stored = _stored(state, torch.float16)
    split = split_torch_state_dict_into_shards(
        stored,
        filename_pattern="diffusion_pytorch_model{suffix}.safetensors",
        max_shard_size=SHARD_BYTES,
    )
    for name, keys in split.filename_to_tensors.items():
        save_file({key: stored[key] for key in keys}, folder / name, metadata={"format": "pt"})
    if split.is_sharded:
        index = {"metadata": split.metadata, "weight_map": split.tensor_to_filename}
        write_json(folder / "diffusion_pytorch_model.safetensors.index.json", index)


def _stored(state: Mapping[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    return {name: value.detach().to("cpu", dtype).clone().contiguous() for name, value in state.items()}
