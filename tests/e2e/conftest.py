"""A real server with the shipped model, and a real Chromium on its editor."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from playwright.sync_api import Browser, Error, Page, Playwright, sync_playwright

from tests.e2e.editor import Editor

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_READY_S = 90


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/e2e" in Path(item.path).as_posix():
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def server(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of `rushes serve` on a free port, its worker ready."""
    if not (root / "backend" / "static" / "index.html").exists():
        _unavailable("the editor is not built: npm ci && npm run build in frontend/")
    command = [sys.executable, "-m", "rushes.backend.cli.main", "serve", "--port", "0", "--device", "cpu"]
    data = tmp_path_factory.mktemp("data")
    log = tmp_path_factory.mktemp("log") / "server.txt"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [*command, "--data-dir", str(data)], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            yield _when_ready(process, log)
        finally:
            process.terminate()
            process.wait(timeout=40)


def _when_ready(process: subprocess.Popen[str], log: Path) -> str:
    assert process.stdout is not None
    url = process.stdout.readline().strip().rpartition(" ")[2]
    assert url.startswith("http"), log.read_text()
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        with urllib.request.urlopen(f"{url}/api/v1/system", timeout=10) as reply:
            if json.load(reply)["worker"]["state"] == "ready":
                return url
        time.sleep(0.2)
    raise AssertionError(f"the worker was not ready within {_READY_S} s: {log.read_text()}")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = _launch(playwright)
        yield browser
        browser.close()


def _launch(playwright: Playwright) -> Browser:
    """An installed browser, else the one Playwright brought."""
    installed = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    try:
        return playwright.chromium.launch(executable_path=installed, args=list(_FLAGS))
    except Error as error:
        _unavailable(f"no Chromium could be started: {error.message.splitlines()[0]}")


def _unavailable(reason: str) -> NoReturn:
    """A machine without a browser or an editor skips; continuous integration never does."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def editor(chromium: Browser, server: str, tmp_path: Path) -> Iterator[Editor]:
    """The editor in a fresh browser profile. A script error on the page fails the test."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server)
    page = context.new_page()
    page.set_default_timeout(20_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    # Heard from the start: asked for at the moment of a key press, the browser may open its own dialog first.
    page.on("filechooser", lambda _: None)
    yield Editor(page, server, tmp_path)
    context.close()
    assert errors == []


@pytest.fixture
def still_editor(chromium: Browser, server: str, tmp_path: Path) -> Iterator[Editor]:
    """The editor for a person who asked for less motion: a preview is a still, its last picture."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(20_000)
    yield Editor(page, server, tmp_path)
    context.close()


@pytest.fixture
def page(editor: Editor) -> Page:
    return editor.page
