"""A workflow file made ready for a server: settings applied, files brought, targets named by id."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..client import AsyncClient
from .local_files import bring_files
from .workflow_file import apply_settings, find_target


@dataclass(frozen=True, slots=True)
class Prepared:
    document: dict[str, Any]
    targets: tuple[str, ...] | None


async def prepare_workflow(
    document: dict[str, Any], arguments: argparse.Namespace, client: AsyncClient
) -> Prepared:
    """Errors: CommandRefused for a mistake on the command line, ClientError for what the server refuses."""
    catalog = await client.nodes()
    changed = apply_settings(document, arguments.set, catalog)
    targets = tuple(find_target(changed, name) for name in arguments.only) or None
    folders = (Path(), arguments.workflow.resolve().parent)
    return Prepared(await bring_files(changed, catalog, client, folders), targets)
