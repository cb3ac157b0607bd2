"""Names that would be the first sign of a room losing its shape, and the size of what is tracked."""

import re
import subprocess
from pathlib import Path

import pytest

TRACKED_BYTES_MAX = 28 * 1000 * 1000
NOWHERE_FILES = {"utils", "util", "helpers", "helper", "misc", "common"}
FAMILIES = re.compile(
    r"(?<![A-Za-z])([Ww]an|WAN|[Mm]inimax|[Cc]osmos|[Ll]tx|[Ww]aypoint|[Qq]wen|[Ff]lux)(?![a-z])"
)
# Assembled, so that this file does not hold what it looks for.
FORBIDDEN = [
    "/" + "work/",
    "/tmp/" + "brief",
    "shared/" + "reference",
    "shared/" + "design",
    "pypi" + ".org",
    "pythonhosted" + ".org",
    "download.pytorch" + ".org",
    "registry.npmjs" + ".org",
    "deb.debian" + ".org",
]
TEXT = {
    ".py",
    ".md",
    ".toml",
    ".ts",
    ".tsx",
    ".css",
    ".html",
    ".json",
    ".yml",
    ".yaml",
    ".sh",
    ".mjs",
    ".js",
    "",
}


@pytest.fixture(scope="module")
def tracked(root: Path) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True, timeout=60
    )
    return [path for name in listed.stdout.split("\0") if name and (path := root / name).is_file()]


def test_no_file_is_named_for_nothing(root: Path, tracked: list[Path]) -> None:
    named = [path.relative_to(root) for path in tracked if path.stem.lower() in NOWHERE_FILES]
    folders = [
        path.relative_to(root) for path in tracked if NOWHERE_FILES & set(path.relative_to(root).parts[:-1])
    ]
    assert named + folders == []


def test_the_engine_names_no_model_family(root: Path, tracked: list[Path]) -> None:
    engine = root / "backend" / "engine"
    named = [
        f"{path.relative_to(root)}: {match.group()}"
        for path in tracked
        if path.is_relative_to(engine) and path.suffix == ".py"
        for match in FAMILIES.finditer(path.read_text(encoding="utf-8"))
    ]
    assert named == []


def test_nothing_tells_of_the_machine_it_was_written_on(root: Path, tracked: list[Path]) -> None:
    told = [
        f"{path.relative_to(root)}: {word}"
        for path in tracked
        if path.suffix in TEXT
        for word in FORBIDDEN
        if word in path.read_text(encoding="utf-8", errors="replace")
    ]
    assert told == []


def test_lock_files_name_no_registry(root: Path) -> None:
    lock = (root / "frontend" / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock


def test_tracked_files_stay_small_enough_to_carry(tracked: list[Path]) -> None:
    size_bytes = sum(path.stat().st_size for path in tracked)
    largest = sorted(tracked, key=lambda path: path.stat().st_size, reverse=True)[:5]
    assert size_bytes <= TRACKED_BYTES_MAX, [(path.name, path.stat().st_size) for path in largest]


def test_top_level_folders_are_the_rooms(root: Path, tracked: list[Path]) -> None:
    top = {path.relative_to(root).parts[0] for path in tracked if len(path.relative_to(root).parts) > 1}
    rooms = {
        "backend",
        "benchmarks",
        "compiler",
        "docs",
        "frontend",
        "kernels",
        "nodes",
        "tests",
        "workflows",
    }
    assert top - rooms == {".ci", ".typing"} & top
