"""What the server has to choose from: checkpoints, LoRAs, pictures, clips.

ComfyUI asks for a node's choices whenever it draws its menus. It gets what is known; a look at the server
runs beside it, is waited for only a moment, and never makes ComfyUI fail.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence

from .failure import RushesError
from .server import API
from .settings import Settings

FRESH_S = 5.0
WAIT_S = 0.25
ANSWER_S = 5.0


class Choices:
    """Lists by the catalog's `choices_from`; empty while no server answered."""

    def __init__(self, read_settings: Callable[[], Settings]) -> None:
        self._read_settings = read_settings
        self._lock = threading.Lock()
        self._lists: Mapping[str, tuple[str, ...]] = {}
        self._looked_at = float("-inf")

    def known(self, choices_from: str) -> tuple[str, ...]:
        """As of a few seconds ago."""
        self._refresh()
        return self._lists.get(choices_from, ())

    def _refresh(self) -> None:
        with self._lock:
            if time.monotonic() - self._looked_at < FRESH_S:
                return
            self._looked_at = time.monotonic()
            look = threading.Thread(target=self._look_at_server, name="rushes-choices", daemon=True)
            look.start()
        look.join(WAIT_S)

    def _look_at_server(self) -> None:
        try:
            self._lists = _read_lists(self._read_settings())
        except (RushesError, OSError, ValueError, KeyError, TypeError):
            return  # running a node says what is wrong


def _read_lists(settings: Settings) -> Mapping[str, tuple[str, ...]]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def read(path: str, key: str) -> Sequence[Mapping[str, str]]:
        request = urllib.request.Request(settings.url + API + path, headers=settings.headers)
        with opener.open(request, timeout=ANSWER_S) as reply:
            rows: Sequence[Mapping[str, str]] = json.load(reply)[key]
            return rows

    assets = read("/assets", "assets")
    return {
        "checkpoints": tuple(row["checkpoint"] for row in read("/models", "checkpoints")),
        "adapters": tuple(row["adapter"] for row in read("/adapters", "adapters")),
        "images": tuple(row["asset"] for row in assets if row["kind"] == "image"),
        "videos": tuple(row["asset"] for row in assets if row["kind"] == "video"),
    }
