"""What resources work with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from rushes.compiler.ir.declaration import Catalog

from ..artifacts.assets import AssetLibrary
from ..artifacts.finished import ArtifactStore
from ..jobs.dispatcher import Dispatcher
from ..jobs.workflow_store import WorkflowStore
from ..submit import ModelFolders, Submitter


@dataclass(frozen=True, slots=True)
class Services:
    """Made in `app.py`, shared by every resource."""

    version: str
    catalog: Catalog
    submitter: Submitter
    dispatcher: Dispatcher
    models: ModelFolders
    assets: AssetLibrary
    artifacts: ArtifactStore
    workflows: WorkflowStore
    templates_dir: Path


SERVICES: web.AppKey[Services] = web.AppKey("services", Services)
