"""The use case: a workflow comes in, a queued job or diagnostics come out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rushes.compiler.compile import Compiled, compile_workflow
from rushes.compiler.ir.declaration import Catalog
from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.facts import AdapterFacts, CheckpointFacts, Target

from .artifacts.assets import AssetLibrary
from .jobs.dispatcher import Dispatcher
from .jobs.record import JobRecord
from .jobs.requests import ChunkEncoding, NewJob
from .models.content_id import content_id
from .models.registry import find_adapters, find_checkpoints

_Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class ModelShelf:
    """The checkpoints and adapters on this machine."""

    checkpoints: Mapping[str, CheckpointFacts]
    adapters: Mapping[str, AdapterFacts]


class ModelFolders:
    """Looks at the model folders, and again only when a file in them changed."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(roots)
        self._stamp: _Stamp | None = None
        self._shelf = ModelShelf({}, {})

    def read(self) -> ModelShelf:
        """Blocks. Errors: FamilyError for a checkpoint or adapter that is not what it should be."""
        stamp = tuple(_file_stamps(self._roots))
        if stamp != self._stamp:
            self._shelf, self._stamp = _read_shelf(self._roots), stamp
        return self._shelf


@dataclass(frozen=True, slots=True)
class Submission:
    """A job, or none when a diagnostic is an error."""

    job: JobRecord | None
    diagnostics: tuple[Diagnostic, ...]


class Submitter:
    """Compiles for this machine, and queues what compiled."""

    def __init__(
        self,
        catalog: Catalog,
        models: ModelFolders,
        assets: AssetLibrary,
        dispatcher: Dispatcher,
        *,
        program: str,
    ) -> None:
        self._catalog = catalog
        self._models = models
        self._assets = assets
        self._dispatcher = dispatcher
        self._program = program

    async def compile(self, document: Mapping[str, Any], targets: Sequence[str] | None) -> Compiled:
        """Errors: FamilyError."""
        target = await self._target()
        return await asyncio.to_thread(compile_workflow, document, self._catalog, target, targets=targets)

    async def submit(
        self,
        document: Mapping[str, Any],
        targets: Sequence[str] | None,
        chunk_encoding: ChunkEncoding = "jpeg",
    ) -> Submission:
        """Errors: Draining, QueueFull, FamilyError."""
        compiled = await self.compile(document, targets)
        if compiled.spec is None:
            return Submission(None, compiled.diagnostics)
        title = document.get("title")
        new = NewJob(
            spec=compiled.spec,
            document=document,
            targets=None if targets is None else tuple(targets),
            title=title if isinstance(title, str) else None,
            diagnostics=tuple(found.to_json() for found in compiled.diagnostics),
            metadata={
                "program": self._program,
                "workflow": document,
                "targets": None if targets is None else list(targets),
                "params": resolve_params(document, self._catalog),
                "spec_hash": compiled.spec.spec_hash,
            },
            chunk_encoding=chunk_encoding,
        )
        return Submission(await self._dispatcher.submit(new), compiled.diagnostics)

    async def _target(self) -> Target:
        shelf = await asyncio.to_thread(self._models.read)
        records = await self._assets.list_all()
        device = self._dispatcher.worker_facts.device or "cpu"
        return Target(
            checkpoints=shelf.checkpoints,
            adapters=shelf.adapters,
            assets={record.asset: record.facts() for record in records},
            device_kind=device.split(":")[0],
        )


def resolve_params(document: Mapping[str, Any], catalog: Catalog) -> dict[str, dict[str, Any]]:
    """Every param of every known node of a document that compiled, defaults filled in."""
    resolved: dict[str, dict[str, Any]] = {}
    for node_id, node in document["graph"]["nodes"].items():
        declaration = catalog.nodes.get(node["type"])
        if declaration is not None:
            defaults = {name: rule.default for name, rule in declaration.params.items()}
            resolved[node_id] = defaults | dict(node.get("params", {}))
    return resolved


def _read_shelf(roots: Sequence[Path]) -> ModelShelf:
    checkpoints = {name: facts for name, (_, _, facts) in find_checkpoints(roots).items()}
    adapters = {
        name: AdapterFacts(name, content_id(path.parent, [path]), path.stat().st_size)
        for name, path in find_adapters(roots).items()
    }
    return ModelShelf(checkpoints, adapters)


def _file_stamps(roots: Sequence[Path]) -> list[tuple[str, int, int]]:
    found = []
    for path in (path for root in roots for path in sorted(root.rglob("*"))):
        status = path.stat()
        found.append((str(path), status.st_size, status.st_mtime_ns))
    return found
