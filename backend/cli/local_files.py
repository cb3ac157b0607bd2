"""Files on this machine that a workflow names are brought to the server, and named as it names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from ..client import AsyncClient
from ..wire.v1.catalog import CatalogReply
from .params import all_nodes, find_rule
from .refusal import refuse


async def bring_files(
    document: Mapping[str, Any], catalog: CatalogReply, client: AsyncClient, folders: Sequence[Path]
) -> dict[str, Any]:
    """The document with every local path replaced by the name of its upload.

    A name the server knows is left as it is; a path is looked for in `folders`, in order.
    Errors: CommandRefused for a path that leads nowhere; ClientError for a file the server does not take.
    """
    changed = deepcopy(dict(document))
    known = {asset.asset for asset in (await client.assets()).assets}
    for node_id, params, name in _asset_params(changed, catalog):
        value = params[name]
        if not isinstance(value, str) or not value or value in known:
            continue
        path = _find(value, folders)
        if path is not None:
            params[name] = (await client.upload(path)).asset.asset
        elif "/" in value or "\\" in value:
            raise refuse("E_UNKNOWN_ASSET", f"{node_id}.{name}: expected a file or an asset, got {value!r}")
    return changed


def _asset_params(
    document: Mapping[str, Any], catalog: CatalogReply
) -> Iterator[tuple[str, dict[str, Any], str]]:
    for node_id, node in all_nodes(document):
        params = node.get("params")
        if not isinstance(params, dict):
            continue
        for name in tuple(params):
            rule = find_rule(document, node, name, catalog)
            if rule is not None and rule.choices_from in ("images", "videos"):
                yield node_id, params, name


def _find(value: str, folders: Sequence[Path]) -> Path | None:
    candidates = (folder / Path(value).expanduser() for folder in folders)
    return next((path for path in candidates if path.is_file()), None)
