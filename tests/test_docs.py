"""The documentation agrees with the program: nodes, routes, messages, codes, links."""

import re
from pathlib import Path
from typing import get_args

import pytest

from docs import errors, nodes, routes
from rushes.backend.wire.v1 import commands, events
from rushes.nodes.catalog import load_catalog

CODE = re.compile(r"b?[\"'`]([EWN]_[A-Z][A-Z_]+)[\"'`]")
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
    assert page == nodes.render(load_catalog().to_json()), "run python -m docs"


def test_the_error_page_is_what_the_code_says(root: Path) -> None:
    assert (root / "docs" / "errors.md").read_text(encoding="utf-8") == errors.render(), "run python -m docs"


def test_every_code_that_is_used_is_on_the_error_page(root: Path) -> None:
    used = {code for path in sources(root) for code in CODE.findall(path.read_text(encoding="utf-8"))}
    listed = set(re.findall(r"^\| `([A-Z_]+)` \|", errors.render(), re.MULTILINE))
    assert sorted(listed ^ used) == []


def test_the_http_page_has_the_routes_of_the_server(root: Path) -> None:
    page = (root / "docs" / "http.md").read_text(encoding="utf-8")
    assert routes.render() in page, "run python -m docs"


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
