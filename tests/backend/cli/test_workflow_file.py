"""What the command line changes in a workflow."""

from pathlib import Path
from typing import Any

import pytest

from rushes.backend.cli.refusal import CommandRefused
from rushes.backend.cli.workflow_file import apply_settings, find_node, find_target, read_workflow_file
from rushes.backend.wire.v1.catalog import CatalogReply
from rushes.nodes.catalog import load_catalog
from tests.backend.serving import template

CATALOG = CatalogReply.model_validate(load_catalog().to_json())


def set_params(*settings: str) -> dict[str, Any]:
    return apply_settings(template("all-five"), settings, CATALOG)["graph"]["nodes"]


def refusal(*settings: str) -> str:
    with pytest.raises(CommandRefused) as caught:
        set_params(*settings)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_a_value_is_read_as_the_kind_of_its_param():
    nodes = set_params(
        "generate.seed=12",
        "lora.strength=0.5",
        "lora.enabled=no",
        "prompt.text=a = b.c",
        "model.precision=bf16",
    )
    assert nodes["generate"]["params"]["seed"] == 12
    assert nodes["lora"]["params"]["strength"] == 0.5
    assert nodes["lora"]["params"]["enabled"] is False
    assert nodes["prompt"]["params"]["text"] == "a = b.c"
    assert nodes["model"]["params"]["precision"] == "bf16"


def test_the_document_that_was_read_is_not_touched():
    document = template("all-five")
    apply_settings(document, ["generate.seed=99"], CATALOG)
    assert document == template("all-five")


def test_a_node_is_found_by_id_then_by_title_then_by_type_when_unique():
    document = template("generate-shapes")
    document["graph"]["nodes"]["prompt"]["title"] = "What. it shows"
    assert find_node(document, "generate") == "generate"
    assert find_node(document, "What. it shows") == "prompt"
    assert find_node(document, "generate_video") == "generate"
    changed = apply_settings(document, ["What. it shows.text=x"], CATALOG)
    assert changed["graph"]["nodes"]["prompt"]["params"]["text"] == "x"


def test_a_type_that_is_there_twice_is_no_name():
    document = template("generate-shapes")
    nodes = document["graph"]["nodes"]
    nodes["first"] = nodes.pop("prompt")
    nodes["second"] = {"type": "prompt", "version": 1, "params": {}}
    with pytest.raises(CommandRefused, match=r"E_UNKNOWN_NODE.*first, second"):
        find_node(document, "prompt")


def with_subgraph() -> dict[str, Any]:
    """A node `look` that stands for one prompt with its text exposed as `words`, twice deep."""
    inner = {
        "nodes": {"prompt": {"type": "prompt", "version": 1, "params": {}}},
        "edges": {},
        "params": {"text": {"to": [["prompt", "text"]]}},
    }
    outer = {
        "nodes": {"inner": {"type": "subgraph", "subgraph": "inner", "params": {}}},
        "edges": {},
        "params": {"words": {"to": [["inner", "text"]]}},
    }
    document = template("generate-shapes")
    document["graph"]["subgraphs"] = {"inner": inner, "outer": outer}
    document["graph"]["nodes"]["look"] = {"type": "subgraph", "subgraph": "outer", "params": {}}
    return document


def test_an_exposed_param_is_read_as_the_param_it_stands_for():
    changed = apply_settings(with_subgraph(), ["look.words=12"], CATALOG)
    assert changed["graph"]["nodes"]["look"]["params"] == {"words": "12"}
    with pytest.raises(CommandRefused, match=r"E_UNKNOWN_PARAM.*\(words\)"):
        apply_settings(with_subgraph(), ["look.text=12"], CATALOG)


def test_a_target_may_lie_inside_a_subgraph():
    assert find_target(with_subgraph(), "look/inner/prompt") == "look/inner/prompt"
    with pytest.raises(CommandRefused, match="E_UNKNOWN_NODE"):
        find_target(with_subgraph(), "nowhere/prompt")


@pytest.mark.parametrize(
    ("setting", "code"),
    [
        ("generate.seed", "E_INVALID"),
        ("seed=3", "E_INVALID"),
        (".seed=3", "E_INVALID"),
        ("nobody.seed=3", "E_UNKNOWN_NODE"),
        ("generate.speed=3", "E_UNKNOWN_PARAM"),
        ("generate.seed=three", "E_PARAM_TYPE"),
        ("generate.seed=1.5", "E_PARAM_TYPE"),
        ("lora.strength=much", "E_PARAM_TYPE"),
        ("lora.enabled=maybe", "E_PARAM_TYPE"),
    ],
)
def test_a_setting_that_cannot_be_made_is_refused(setting: str, code: str):
    assert code in refusal(setting)


@pytest.mark.parametrize("text", ["{", "", "[]", '{"a": 1, "a": 2}', "\x00", '{"graph": NaN}'])
def test_a_file_that_is_no_workflow_is_refused_by_name(tmp_path: Path, text: str):
    path = tmp_path / "w.json"
    path.write_text(text)
    with pytest.raises(CommandRefused, match=r"E_MALFORMED.*w\.json"):
        read_workflow_file(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(CommandRefused, match="E_FILE"):
        read_workflow_file(tmp_path / "none.json")
    with pytest.raises(CommandRefused, match="E_FILE"):
        read_workflow_file(tmp_path)
