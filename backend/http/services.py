"""What resources work with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from ..artifacts.assets import AssetLibrary
from ..artifacts.finished import ArtifactStore
from ..jobs.dispatcher import Dispatcher
from ..jobs.workflow_store import WorkflowStore
from ..submit import ModelFolders, Submitter


@dataclass(frozen=True, slots=True)
class Services:
    """Made in `app.py`, shared by every resource."""

    version: str
    catalog: Mapping[str, Any]
    submitter: Submitter
    dispatcher: Dispatcher
    models: ModelFolders
    assets: AssetLibrary
    artifacts: ArtifactStore
    workflows: WorkflowStore
    templates_dir: Path


SERVICES: web.AppKey[Services] = web.AppKey("services", Services)
