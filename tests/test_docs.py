"""The documentation agrees with the program: nodes, routes, messages, codes, links."""

import re
from pathlib import Path
from typing import get_args

import pytest

from docs.nodes import render
from rushes.backend.wire.v1 import commands, events
from rushes.compiler.ir.diagnostics import CODES
from rushes.nodes.catalog import load_catalog

CODE = re.compile(r"[\"'`]([EWN]_[A-Z][A-Z_]+)[\"'`]")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def sources(root: Path) -> list[Path]:
    rooms = ("backend", "compiler", "nodes", "kernels")
    return [path for room in rooms for path in (root / room).rglob("*.py")]


def message_types(*unions: object) -> set[str]:
    """The `type` of every message model in annotated unions."""
    models = [model for union in unions for model in get_args(get_args(union)[0])]
    return {model.model_fields["type"].default for model in models}


def test_the_node_page_is_what_the_catalog_says(root: Path) -> None:
    page = (root / "docs" / "nodes.md").read_text(encoding="utf-8")
    assert page == render(load_catalog().to_json()), "run python -m docs.nodes"


def test_the_error_page_lists_the_codes_that_are_used(root: Path) -> None:
    used = {code for path in sources(root) for code in CODE.findall(path.read_text(encoding="utf-8"))}
    rows = re.findall(
        r"^\| `([A-Z_]+)` \|", (root / "docs" / "errors.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(rows) == sorted(used)


def test_the_error_page_says_what_the_compiler_says(root: Path) -> None:
    page = (root / "docs" / "errors.md").read_text(encoding="utf-8")
    assert [code for code, meaning in CODES.items() if f"| `{code}` | {meaning} |" not in page] == []


def test_the_http_page_lists_every_message(root: Path) -> None:
    page = (root / "docs" / "http.md").read_text(encoding="utf-8")
    said = message_types(commands.ClientMessage, events.ServerEvent) | {"hello", "error"}
    assert [name for name in sorted(said) if f"`{name}`" not in page] == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs", "rooms"])
def test_links_lead_somewhere(root: Path, page: str) -> None:
    chosen = {
        "README.md": [root / "README.md"],
        "CONTRIBUTING.md": [root / "CONTRIBUTING.md"],
        "docs": list((root / "docs").glob("*.md")),
        "rooms": list(root.glob("*/README.md")),
    }[page]
    dead = [
        f"{path.relative_to(root)}: {link}"
        for path in chosen
        for link in LINK.findall(path.read_text(encoding="utf-8"))
        if not link.startswith(("http:", "https:", "#")) and not (path.parent / link.split("#")[0]).exists()
    ]
    assert dead == []
