"""What can be set, and the only reader of the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

import platformdirs

from .artifacts.assets import UploadLimits
from .jobs.requests import DispatchLimits

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8190
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

Device = Literal["auto", "cpu", "cuda"]


class SettingsError(ValueError):
    """Settings that cannot be served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One server. `port` 0 takes a free one; `origins` are pages elsewhere that may call it."""

    data_dir: Path
    checkpoint_roots: tuple[Path, ...]
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    token: str | None = None
    origins: frozenset[str] = frozenset()
    device: Device = "auto"
    drain_s: float = 20.0
    static_dir: Path
    templates_dir: Path
    shipped_assets_dir: Path
    uploads: UploadLimits
    dispatch: DispatchLimits

    @property
    def is_loopback(self) -> bool:
        return self.host in _LOOPBACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a command line asked for; None leaves it to the environment or the default."""

    data_dir: Path | None = None
    checkpoint_roots: tuple[Path, ...] = ()
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    token: str | None = None
    origins: tuple[str, ...] = ()
    device: Device = "auto"


def load_settings(wishes: Wishes, environment: Mapping[str, str] = os.environ) -> Settings:
    """Wishes first, then `RUSHES_DATA`, `RUSHES_CHECKPOINTS` and `RUSHES_TOKEN`, then defaults.

    Errors: SettingsError for an address others can reach without a token.
    """
    data_dir = (wishes.data_dir or _default_data_dir(environment)).expanduser().absolute()
    token = wishes.token or environment.get("RUSHES_TOKEN") or None
    if wishes.host not in _LOOPBACK and not token:
        raise SettingsError(f"to listen on {wishes.host} expected --token or RUSHES_TOKEN, got none")
    workflows = Path(str(files("rushes.workflows")))
    return Settings(
        data_dir=data_dir,
        checkpoint_roots=_checkpoint_roots(wishes, environment, data_dir),
        host=wishes.host,
        port=wishes.port,
        token=token,
        origins=frozenset(wishes.origins),
        device=wishes.device,
        static_dir=_package_dir() / "static",
        templates_dir=workflows,
        shipped_assets_dir=workflows / "assets",
        uploads=UploadLimits(),
        dispatch=DispatchLimits(),
    )


def _default_data_dir(environment: Mapping[str, str]) -> Path:
    named = environment.get("RUSHES_DATA")
    return Path(named) if named else platformdirs.user_data_path("rushes", appauthor=False)


def _checkpoint_roots(wishes: Wishes, environment: Mapping[str, str], data_dir: Path) -> tuple[Path, ...]:
    named = environment.get("RUSHES_CHECKPOINTS", "")
    roots = [
        _package_dir() / "checkpoints",
        data_dir / "checkpoints",
        *wishes.checkpoint_roots,
        *(Path(part) for part in named.split(os.pathsep) if part),
    ]
    return tuple(dict.fromkeys(root.expanduser().absolute() for root in roots))


def _package_dir() -> Path:
    return Path(__file__).resolve().parent
