"""The floors of the house: who may import whom, and that every room that exists has a floor."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

FAMILY_CONTRACT = "Model families do not know each other"
NOT_FAMILIES = {"layers", "adapters"}


@pytest.fixture(scope="module")
def contracts(root: Path) -> list[dict[str, object]]:
    with (root / "pyproject.toml").open("rb") as file:
        return list(tomllib.load(file)["tool"]["importlinter"]["contracts"])


def folders(room: Path) -> set[str]:
    return {path.parent.name for path in room.glob("*/__init__.py")}


def test_imports_go_downwards_only(root: Path) -> None:
    lint_imports = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run(
        [lint_imports, "--no-cache"], cwd=root, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_model_family_is_in_the_contract(root: Path, contracts: list[dict[str, object]]) -> None:
    listed = next(contract["modules"] for contract in contracts if contract["name"] == FAMILY_CONTRACT)
    there = folders(root / "backend" / "models") - NOT_FAMILIES
    assert listed == sorted(f"rushes.backend.models.{family}" for family in there)


def test_a_room_that_exists_is_not_in_parentheses(root: Path, contracts: list[dict[str, object]]) -> None:
    layers = next(
        contract["layers"] for contract in contracts if contract["name"] == "Rooms open downwards only"
    )
    assert isinstance(layers, list)
    waiting = [name.strip()[1:-1] for layer in layers for name in layer.split("|") if "(" in name]
    built = [
        name
        for name in waiting
        if (path := root / name.removeprefix("rushes.").replace(".", "/")).with_suffix(".py").exists()
        or (path / "__init__.py").exists()
    ]
    assert built == []


def test_every_top_level_package_says_what_it_is(root: Path) -> None:
    rooms = [
        "backend",
        "benchmarks",
        "compiler",
        "docs",
        "frontend",
        "kernels",
        "nodes",
        "tests",
        "workflows",
    ]
    assert [room for room in rooms if not (root / room / "README.md").exists()] == []
