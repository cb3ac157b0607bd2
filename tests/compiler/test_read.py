"""The door: text to document, document to graph. What is wrong is said, what is unknown is kept."""

import json

import pytest

from rushes.compiler.read.text import DOCUMENT_BYTES, parse_document
from rushes.compiler.read.workflow import read_workflow
from tests.compiler.target import codes_of, compiling, errors_of, generating, only_error, workflow


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (b"", "E_MALFORMED", "line 1 column 1"),
        (b'{"schema": ', "E_MALFORMED", "line 1 column 12"),
        (b"[1, 2]", "E_MALFORMED", "expected a JSON object, got list"),
        (b"\xff\xfe{", "E_MALFORMED", "UTF-8"),
        (b'{"a": NaN}', "E_MALFORMED", "finite number, got NaN"),
        (b'{"a": -Infinity}', "E_MALFORMED", "finite number, got -Infinity"),
        (b'{"graph": {"a": 1, "a": 2}}', "E_MALFORMED", "'a' twice"),
        (b'{"a": ' + b"9" * 5000 + b"}", "E_MALFORMED", "digits"),
        (b'{"a": ' * 80 + b"1" + b"}" * 80, "E_TOO_LARGE", "64 deep"),
        (b"[" * 200_000, "E_TOO_LARGE", "64 deep"),
    ],
)
def test_text_that_is_no_document_is_refused_with_its_place(text, code, said):
    document, (found,) = parse_document(text)

    assert document is None
    assert (found.code, found.severity) == (code, "error")
    assert said in found.message


def test_a_text_over_the_bound_is_refused_unparsed():
    document, (found,) = parse_document(" " * (DOCUMENT_BYTES + 1))

    assert document is None
    assert found.code == "E_TOO_LARGE"


def test_a_byte_order_mark_is_no_fault():
    assert parse_document("\ufeff{}") == ({}, ())
    assert parse_document(b"\xef\xbb\xbf{}") == ({}, ())


@pytest.mark.parametrize(
    ("document", "code", "path"),
    [
        (None, "E_MALFORMED", "document"),
        ([], "E_MALFORMED", "document"),
        ({}, "E_SCHEMA", "schema"),
        ({"schema": "rushes.workflow/2", "graph": {}}, "E_SCHEMA", "schema"),
        ({"schema": "rushes.workflow/x", "graph": {}}, "E_SCHEMA", "schema"),
        ({"schema": "rushes.workflow/1"}, "E_MALFORMED", "graph"),
        ({"schema": "rushes.workflow/1", "graph": {}}, "E_MALFORMED", "graph.nodes"),
        ({"schema": "rushes.workflow/1", "graph": {"nodes": {}, "edges": []}}, "E_MALFORMED", "graph.edges"),
        ({"schema": "rushes.workflow/1", "graph": {"nodes": {}}, "requires": 3}, "E_MALFORMED", "requires"),
        (
            {"schema": "rushes.workflow/1", "graph": {"nodes": {str(n): {} for n in range(10_001)}}},
            "E_TOO_LARGE",
            "graph.nodes",
        ),
    ],
)
def test_a_document_of_another_shape_is_refused_at_its_path(document, code, path):
    error = only_error(document)

    assert (error.code, error.param) == (code, path)


def test_a_newer_schema_says_that_an_update_opens_it():
    error = only_error({"schema": "rushes.workflow/9", "graph": {"nodes": {}}})

    assert "newer" in error.message
    assert error.expected == "rushes.workflow/1"


@pytest.mark.parametrize(
    ("node", "param"),
    [
        ("text", "node"),
        ({"params": {}}, "type"),
        ({"type": 3}, "type"),
        ({"type": "prompt", "mode": "off"}, "mode"),
        ({"type": "prompt", "mode": ["muted"]}, "mode"),
        ({"type": "prompt", "version": "1"}, "version"),
        ({"type": "prompt", "params": [1]}, "params"),
    ],
)
def test_a_broken_node_is_named_once_and_the_rest_is_read(node, param):
    document = generating(seed=-1)
    document["graph"]["nodes"]["prompt"] = node

    found = {(error.node_id, error.param): error.code for error in errors_of(document)}

    assert found == {("prompt", param): "E_MALFORMED", ("generate", "seed"): "E_PARAM_RANGE"}


@pytest.mark.parametrize(
    "edge", [None, {}, {"from": ["a"], "to": ["b", "c"]}, {"from": "ab", "to": ["b", "c"]}]
)
def test_a_broken_edge_is_named_by_its_path(edge):
    document = generating()
    document["graph"]["edges"]["odd"] = edge

    error = only_error(document)

    assert error.code == "E_MALFORMED"
    assert error.param is not None
    assert error.param.startswith("graph.edges.odd")


@pytest.mark.parametrize("node_id", ["", "a\nb", "x" * 129, "\ud800"])
def test_an_id_that_cannot_be_printed_is_refused(node_id):
    document = generating()
    document["graph"]["nodes"][node_id] = {"type": "prompt"}

    assert only_error(document).code == "E_MALFORMED"


def test_unknown_keys_are_notes_and_do_not_stop_the_run():
    document = generating()
    document["colour"] = 1
    document["graph"]["groups"] = {}
    document["graph"]["nodes"]["save"]["tint"] = "red"
    document["graph"]["edges"]["e0"]["via"] = [[0, 0]]

    compiled = compiling(document)

    assert compiled.spec is not None
    notes = [(found.code, found.node_id, found.param) for found in compiled.diagnostics]
    assert notes == [
        ("N_UNKNOWN_KEY", None, "document"),
        ("N_UNKNOWN_KEY", None, "graph"),
        ("N_UNKNOWN_KEY", "save", "node"),
        ("N_UNKNOWN_KEY", None, "graph.edges.e0"),
    ]


def test_only_schema_and_graph_are_required():
    read = read_workflow({"schema": "rushes.workflow/1", "graph": {"nodes": {"p": {"type": "prompt"}}}})

    assert read.diagnostics == ()
    assert read.graph is not None
    assert read.graph.nodes["p"].mode == "active"


def test_an_unknown_level_is_refused_and_a_known_one_is_kept():
    assert only_error({**generating(), "requires": {"level": "perfect"}}).code == "E_LEVEL"
    compiled = compiling({**generating(), "requires": {"level": "exact"}})
    assert compiled.spec is not None
    assert compiled.spec.level == "exact"
    assert codes_of({**generating(), "requires": {"level": "fast"}}, "error") == []


def test_a_document_is_not_changed_by_compiling_it():
    document = workflow({"a": ("prompt", {"txt": 1})}, ["a.x > b.y"], extra={"deep": [1, {"x": None}]})
    before = json.dumps(document)

    compiling(document)

    assert json.dumps(document) == before
