"""What goes into the wheel: every package listed by hand, and the data that makes it whole without Node."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points, packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from setuptools import Distribution
from setuptools.command.build_py import build_py

ROOTS = ("backend", "compiler", "kernels", "nodes", "workflows")
OPTIONAL = {"flash-attn", "fa3-fwd-interface"}  # used where they are installed
DATA_FOLDERS = {"static", "checkpoints", "__pycache__"}


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    with (root / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def packages_in_the_tree(root: Path) -> set[str]:
    folders = {
        path.parent.relative_to(root)
        for name in ROOTS
        for path in (root / name).rglob("*.py")
        if not DATA_FOLDERS & set(path.relative_to(root).parts)
    }
    return {"rushes." + ".".join(folder.parts) for folder in folders}


def wheel_data(root: Path, project: dict[str, Any], package: str) -> set[str]:
    """What setuptools would copy beside the code of a package, relative to it."""
    tools = project["tool"]["setuptools"]
    distribution = Distribution(
        {
            "packages": [package],
            "package_dir": {name: str(root / folder) for name, folder in tools["package-dir"].items()},
            "package_data": tools["package-data"],
            "include_package_data": False,
        }
    )
    command = build_py(distribution)
    command.finalize_options()
    command.analyze_manifest()
    folder = root.joinpath(*package.split(".")[1:])
    return {
        Path(found).relative_to(folder).as_posix() for found in command.find_data_files(package, str(folder))
    }


def test_every_package_is_listed(root: Path, project: dict[str, Any]) -> None:
    listed = set(project["tool"]["setuptools"]["packages"])
    there = packages_in_the_tree(root)
    assert (there - listed, listed - there) == (set(), set()), "run .ci/packages"


def test_every_package_folder_has_an_init_file(root: Path) -> None:
    bare = {
        name
        for name in packages_in_the_tree(root)
        if not (root.joinpath(*name.split(".")[1:]) / "__init__.py").exists()
    }
    assert bare == set()


def test_the_type_checkers_folder_mirrors_the_packages(root: Path, project: dict[str, Any]) -> None:
    mirrored = {path.name: path.resolve() for path in (root / ".typing" / "rushes").iterdir()}
    expected = {
        name.removeprefix("rushes."): (root / folder).resolve()
        for name, folder in project["tool"]["setuptools"]["package-dir"].items()
    }
    assert mirrored == expected


def test_the_wheel_carries_all_data_that_is_tracked(root: Path, project: dict[str, Any]) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *ROOTS],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    tracked = {name for name in listed.stdout.split("\0") if name and (root / name).is_file()}
    folders = project["tool"]["setuptools"]["package-dir"]
    carried = {
        f"{package.removeprefix('rushes.').replace('.', '/')}/{name}"
        for package in project["tool"]["setuptools"]["package-data"]
        for name in wheel_data(root, project, package)
    }
    data = {
        name
        for name in tracked
        if Path(name).suffix not in {".py", ".md"} and Path(name).name != ".gitignore"
    }
    assert set(folders.values()) == set(ROOTS)
    assert sorted(data - carried) == []


@pytest.mark.parametrize(
    "file",
    ["workflows/generate-shapes.json", "workflows/assets", "backend/checkpoints/shapes/model_index.json"],
)
def test_templates_clips_and_model_are_there_to_be_carried(root: Path, file: str) -> None:
    assert (root / file).exists()


def third_party_imports(root: Path) -> set[str]:
    """Distributions that the installed rooms import, wherever in a file."""
    modules = set()
    for path in (path for name in ROOTS for path in (root / name).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                modules.add(node.module.split(".")[0])
    modules -= {"rushes", *sys.stdlib_module_names}
    owners = packages_distributions()
    return {canonicalize_name(owner) for module in modules for owner in owners.get(module, [module])}


def test_what_is_imported_is_what_is_depended_on(root: Path, project: dict[str, Any]) -> None:
    declared = {canonicalize_name(Requirement(line).name) for line in project["project"]["dependencies"]}
    extra = {
        canonicalize_name(Requirement(line).name)
        for line in project["project"]["optional-dependencies"]["gpu"]
    }
    assert third_party_imports(root) - OPTIONAL - extra == declared


def test_the_command_is_installed() -> None:
    scripts = {entry.name: entry for entry in entry_points(group="console_scripts")}
    assert callable(scripts["rushes"].load())


def test_the_readmes_first_two_commands_run_and_test(root: Path) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (root / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    commands = [line.split("#")[0].strip() for block in blocks for line in block.splitlines() if line.strip()]
    assert commands[:2] == ["make run", "make test"]


def test_ci_runs_what_the_readme_tells(root: Path) -> None:
    lines = (root / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert lines[-2:] == ["make check", "make test"]


def test_the_makefile_installs_a_torch_that_the_project_accepts(root: Path, project: dict[str, Any]) -> None:
    pinned = re.search(
        r"^TORCH \?= (.+)$", (root / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert pinned
    version = next(iter(Requirement(pinned.group(1)).specifier)).version
    accepted = next(
        Requirement(line) for line in project["project"]["dependencies"] if line.startswith("torch")
    )
    assert accepted.specifier.contains(version)
