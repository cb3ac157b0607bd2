"""Writes the checkpoint folder from the files that training left.

Run: python -m benchmarks.shapes.export TRAINED backend/checkpoints/shapes
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.shapes.networks import export_checkpoint
from benchmarks.shapes.train_transformer import load_networks


def main(trained: Path, folder: Path) -> None:
    networks = load_networks(trained, "cpu", with_transformer=True)
    export_checkpoint(networks, folder, json.loads((trained / "vae.json").read_text())["preview"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
