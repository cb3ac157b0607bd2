"""Reads what the autoencoder's training measured."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor


def read_vae_statistics(path: Path) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each latent channel."""
    values = json.loads(path.read_text())
    return torch.tensor(values["mean"]), torch.tensor(values["std"])
