"""Writes the catalog that the ComfyUI pack reads: `python -m rushes.nodes.comfy_catalog`.

The pack must work when only its folder is linked into ComfyUI, so it cannot ask us and carries a copy.
"""

from __future__ import annotations

import json
from pathlib import Path

from rushes.nodes.catalog import load_catalog

PATH = Path(__file__).parent / "comfy" / "catalog.json"


def catalog_text() -> str:
    """What `catalog.json` holds."""
    return json.dumps(load_catalog().to_json(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(catalog_text(), encoding="utf-8")
