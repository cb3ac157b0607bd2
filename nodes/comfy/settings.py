"""Where the server is: `settings.json` beside this file, read at every run, so that no restart is needed.

Neither the address nor the token is an input of a node: both would be saved with a workflow, the token would
leak with it, and a workflow of somebody else could send pictures to a server of theirs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from . import labels
from .failure import RushesError

DEFAULT_URL = "http://127.0.0.1:8190"
PATH = Path(__file__).parent / "settings.json"


@dataclass(frozen=True, slots=True)
class Settings:
    url: str = DEFAULT_URL
    token: str = ""
    path: Path = PATH

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def read_settings(path: Path = PATH) -> Settings:
    """Errors: RushesError for a file that is no object of two texts."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings(path=path)
    except (OSError, UnicodeDecodeError) as error:
        raise _broken(path, str(error)) from error
    try:
        values = json.loads(text)
    except ValueError as error:
        raise _broken(path, str(error)) from error
    if not isinstance(values, dict) or set(values) - {"url", "token"}:
        raise _broken(path, "an object with url and token was expected")
    url, token = values.get("url", DEFAULT_URL), values.get("token", "")
    if not isinstance(url, str) or not isinstance(token, str):
        raise _broken(path, "url and token must be texts")
    return Settings(_checked(path, url), token, path)


def _checked(path: Path, url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise _broken(path, f"an address such as {DEFAULT_URL} was expected, got {url!r}")
    return url.rstrip("/")


def _broken(path: Path, why: str) -> RushesError:
    return RushesError(labels.settings_broken(str(path), why))
