"""One file per op; the table is this folder's listing."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from rushes.backend.engine.stages.stage import Stage

_NOT_OPS = frozenset({"stage", "steered"})


def load_stages() -> Mapping[str, Stage]:
    """Every op's stage. ValueError when two files say the same op."""
    stages: dict[str, Stage] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name in _NOT_OPS:
            continue
        stage: Stage = import_module(f"{__name__}.{module.name}").STAGE
        if stage.op in stages:
            raise ValueError(f"two stages are called {stage.op}")
        stages[stage.op] = stage
    return stages
