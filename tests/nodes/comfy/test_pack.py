"""The pack as a folder: what it imports, what it declares, how it loads where there is nothing."""

import ast
import inspect
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import aiohttp
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rushes.nodes.catalog import load_catalog
from rushes.nodes.comfy_catalog import PATH, catalog_text
from tests.nodes.comfy.standin import PACK, ComfyUI, vars_of

OF_COMFYUI = ("comfy.", "comfy_api.latest", "folder_paths", "torch", "PIL.")
"""What may be imported by name while a node runs: ComfyUI's API and what it stands on."""


def imports(path: Path) -> set[str]:
    """First words of the absolute imports of a file, at any depth."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


def imports_by_name(path: Path) -> list[str]:
    calls = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    ]
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "import_module"]
    return [ast.literal_eval(call.args[0]) for call in named]


def test_the_copied_catalog_is_the_catalog():
    assert PATH.read_text(encoding="utf-8") == catalog_text(), "run python -m rushes.nodes.comfy_catalog"


@pytest.mark.parametrize("path", sorted(PACK.glob("*.py")), ids=lambda path: path.name)
def test_the_pack_imports_the_standard_library_and_aiohttp(path: Path):
    assert imports(path) <= sys.stdlib_module_names | {"aiohttp"}
    if path.name == "host.py":
        assert all(name.startswith(OF_COMFYUI) for name in imports_by_name(path))
    else:
        assert imports_by_name(path) == []


BARE = """
import importlib.util, sys

folder, site = sys.argv[1:]
sys.path.append(site)
absent = [name for name in ("torch", "rushes", "numpy", "PIL", "comfy") if not importlib.util.find_spec(name)]
spec = importlib.util.spec_from_file_location(folder, folder + "/__init__.py")
pack = importlib.util.module_from_spec(spec)
sys.modules[folder] = pack
spec.loader.exec_module(pack)
for node in pack.NODE_CLASS_MAPPINGS.values():
    node.INPUT_TYPES()
print(len(pack.NODE_CLASS_MAPPINGS), *absent)
"""


def aiohttp_and_what_it_needs() -> set[str]:
    """Modules of aiohttp and of every package that it needs here."""
    names, left = set(), ["aiohttp"]
    while left:
        name = canonicalize_name(left.pop())
        if name not in names:
            names.add(name)
            needed = [Requirement(text) for text in requires(name) or []]
            left += [each.name for each in needed if each.marker is None or each.marker.evaluate()]
    return {
        module
        for module, distributions in packages_distributions().items()
        if names & {canonicalize_name(distribution) for distribution in distributions}
    }


def test_it_loads_alone_with_nothing_but_aiohttp(tmp_path: Path):
    folder, site = tmp_path / "custom_nodes" / "rushes", tmp_path / "site"
    shutil.copytree(PACK, folder, ignore=shutil.ignore_patterns("settings.json", "__pycache__"))
    site.mkdir()
    modules = aiohttp_and_what_it_needs()
    for path in Path(aiohttp.__file__).parents[1].iterdir():
        if path.name.partition(".")[0] in modules:
            (site / path.name).symlink_to(path)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", BARE, str(folder), str(site)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    count, *absent = done.stdout.split()
    assert absent == ["torch", "rushes", "numpy", "PIL", "comfy"]
    assert int(count) >= 19


def test_every_node_type_is_there_or_left_out_on_purpose(comfyui: ComfyUI):
    declared = set(load_catalog().nodes) - comfyui.pack.LEFT_OUT
    there = {
        node.declaration.type_id
        for node in comfyui.pack.NODE_CLASS_MAPPINGS.values()
        if "declaration" in vars_of(node)
    }
    assert there == declared
    assert {"live_actions"} == comfyui.pack.LEFT_OUT
    assert set(comfyui.pack.NODE_DISPLAY_NAME_MAPPINGS) == set(comfyui.pack.NODE_CLASS_MAPPINGS)


def test_a_socket_takes_ours_and_what_comfyui_calls_the_same(comfyui: ComfyUI):
    form = comfyui.classes["RushesStreamingRollout"].INPUT_TYPES()
    assert form["required"]["model"][0] == "RUSHES_MODEL"
    assert form["optional"]["start"][0] == "RUSHES_IMAGE,RUSHES_VIDEO,IMAGE,VIDEO"
    assert comfyui.classes["RushesGenerateVideo"].RETURN_TYPES == ("RUSHES_VIDEO", "RUSHES_LATENT")


def test_a_param_becomes_a_widget_with_its_bounds(comfyui: ComfyUI):
    widgets = comfyui.classes["RushesGenerateVideo"].INPUT_TYPES()["optional"]
    kind, options = widgets["frame_count"]
    assert (kind, options["default"], options["min"], options["step"]) == ("INT", 45, 1, 4)
    assert widgets["seed"][1]["control_after_generate"]
    assert "(px)" in widgets["width_px"][1]["tooltip"]
    shape, _ = comfyui.classes["RushesLatentMask"].INPUT_TYPES()["optional"]["shape"]
    assert shape == ["rectangle", "ellipse", "polygon", "full"]


def test_a_choice_of_the_server_is_not_checked_by_comfyui(comfyui: ComfyUI):
    """ComfyUI leaves alone the inputs that VALIDATE_INPUTS names, and would check bounds of no other."""
    lora = comfyui.classes["RushesLora"]
    assert inspect.getfullargspec(lora.VALIDATE_INPUTS).args == ["cls", "file"]
    assert inspect.getfullargspec(lora.VALIDATE_INPUTS).varkw is None
    assert lora.VALIDATE_INPUTS(file="not-seen-yet") is True


def test_without_a_server_a_choice_is_its_default(comfyui: ComfyUI):
    comfyui.settings(url="http://127.0.0.1:9")
    choices, options = comfyui.classes["RushesLoadModel"].INPUT_TYPES()["optional"]["checkpoint"]
    assert (choices, options["default"]) == (["shapes"], "shapes")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "Expecting"),
        ("[]", "an object"),
        ('{"urls": ""}', "url and token"),
        ('{"url": "here"}', "'here'"),
    ],
)
def test_broken_settings_name_the_file_and_the_fault(comfyui: ComfyUI, text: str, why: str):
    settings = comfyui.part("settings")
    settings.PATH.write_text(text)
    with pytest.raises(comfyui.part("failure").RushesError, match=why) as caught:
        settings.read_settings(settings.PATH)
    assert str(settings.PATH) in str(caught.value)
