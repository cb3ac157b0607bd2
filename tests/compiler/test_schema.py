"""The JSON Schema says what reader and checks say; documents of old versions are brought up to date."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rushes.compiler.read.migrations import WORKFLOW, Lineage, migrate
from rushes.compiler.read.schema import workflow_schema
from rushes.compiler.read.workflow import read_workflow
from tests.compiler.json_schema import faults
from tests.compiler.target import CATALOG, compiling, editing, generating, rolling
from tests.compiler.test_checks import changed

SCHEMA = workflow_schema(CATALOG)


def found(document):
    return sorted(faults(document, SCHEMA, SCHEMA))


def test_the_published_schema_is_the_one_of_the_code(root: Path) -> None:
    published = (root / "docs" / "workflow.schema.json").read_text(encoding="utf-8")

    assert published == json.dumps(SCHEMA, indent=1) + "\n", "run python -m docs.schema"


@pytest.mark.parametrize(
    "document", [generating(), editing(), rolling()], ids=["generate", "edit", "rollout"]
)
def test_a_workflow_that_compiles_is_valid(document):
    assert compiling(document).spec is not None
    assert found(document) == []


def test_every_template_is_valid(root: Path) -> None:
    for path in (root / "workflows").glob("*.json"):
        assert found(json.loads(path.read_text(encoding="utf-8"))) == [], path.name


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("schema", "rushes.workflow/2", "/schema: const"),
        ("graph", None, "/graph: required"),
        ("graph/nodes/generate/params", {"seed": -1}, "/graph/nodes/generate/params/seed: minimum"),
        ("graph/nodes/generate/params", {"seed": "7"}, "/graph/nodes/generate/params/seed: type"),
        ("graph/nodes/generate/params", {"seeed": 7}, "/graph/nodes/generate/params/seeed: false"),
        ("graph/nodes/save/params", {"format": "mp5"}, "/graph/nodes/save/params/format: enum"),
        ("graph/nodes/save/mode", "off", "/graph/nodes/save/mode: enum"),
        ("graph/nodes/save/type", 3, "/graph/nodes/save/type: type"),
        ("graph/edges/e0/from", ["a"], "/graph/edges/e0/from: min_items"),
    ],
)
def test_what_the_compiler_refuses_by_shape_the_schema_refuses_at_the_same_place(path, value, fault):
    document = changed(generating(), path, value)

    assert compiling(document).spec is None
    assert found(document) == [fault]


def test_keys_and_types_of_others_are_valid_and_kept():
    document = changed(
        generating(), "graph/nodes/other", {"type": "their_node", "params": {"x": 1}, "tint": 2}
    )
    document["colour"] = "red"

    assert found(document) == []


def _two_to_three(document):
    graph = {**document["graph"], "edges": document["graph"]["links"]}
    del graph["links"]
    return {**document, "graph": graph}


LATER = Lineage(
    "rushes.workflow",
    latest=3,
    steps={1: lambda document: {**document, "title": document.get("name", "")}, 2: _two_to_three},
)


def test_an_old_document_takes_every_step_and_keeps_what_no_step_knows():
    old = {"schema": "rushes.workflow/1", "name": "a", "graph": {"nodes": {}, "links": {"e": 1}, "mine": 5}}
    before = json.dumps(old)

    document, notes = migrate(old, LATER)

    assert document == {
        "schema": "rushes.workflow/3",
        "name": "a",
        "title": "a",
        "graph": {"nodes": {}, "edges": {"e": 1}, "mine": 5},
    }
    assert [(note.code, note.severity) for note in notes] == [("N_MIGRATED", "note")] * 2
    assert json.dumps(old) == before


def test_a_document_of_the_middle_version_takes_the_last_step_and_is_read():
    nodes = {"p": {"type": "prompt"}}
    read = read_workflow({"schema": "rushes.workflow/2", "graph": {"nodes": nodes, "links": {}}}, LATER)

    assert read.graph is not None
    assert list(read.graph.nodes) == ["p"]
    assert [note.message for note in read.diagnostics] == [
        "brought from rushes.workflow/2 to rushes.workflow/3"
    ]


def test_the_latest_version_is_handed_on_as_it_is():
    document = generating()

    assert migrate(document) == (document, ())


@pytest.mark.parametrize(
    ("schema", "lineage", "said"),
    [
        ("rushes.workflow/4", LATER, "newer Rushes"),
        ("rushes.workflow/1", Lineage("rushes.workflow", 3, {2: _two_to_three}), "that old"),
        ("rushes.workflow/0", WORKFLOW, "expected rushes.workflow/1, got 'rushes.workflow/0'"),
        ("rushes.workflow/01", WORKFLOW, "expected rushes.workflow/1"),
        ("rushes.pipeline/1", WORKFLOW, "expected rushes.workflow/1"),
        (None, WORKFLOW, "got null"),
    ],
)
def test_what_no_step_starts_from_is_refused(schema, lineage, said):
    document, (refusal,) = migrate({"schema": schema, "graph": {}}, lineage)

    assert document is None
    assert refusal.code == "E_SCHEMA"
    assert said in refusal.message


def test_every_version_has_a_step_to_the_next_and_a_golden(
    root: Path, golden: Callable[[str, str], None]
) -> None:
    assert sorted(WORKFLOW.steps) == list(range(1, WORKFLOW.latest))
    for version in range(1, WORKFLOW.latest + 1):
        path = root / "tests" / "golden" / f"workflow-{version}.json"
        read = read_workflow(json.loads(path.read_text(encoding="utf-8")))
        assert read.graph is not None
        lines = [str(found) for found in read.diagnostics]
        lines += [f"{node!r}" for node in read.graph.nodes.values()]
        lines += [f"{edge!r}" for edge in read.graph.edges]
        lines += [f"{one!r}" for _, one in sorted(read.graph.subgraphs.items())]
        golden(f"workflow-{version}", "\n".join(lines) + "\n")
