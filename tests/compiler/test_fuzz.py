"""Any JSON gives diagnostics, never an exception; what compiles is a valid spec."""

import json
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from rushes.compiler.ir.diagnostics import CODES, has_errors
from rushes.compiler.ir.spec import spec_from_json, spec_to_json
from rushes.compiler.read.text import parse_document
from tests.compiler.target import CATALOG, compiling, editing, generating, rolling

SETTINGS = settings(
    max_examples=250,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, 1, -1, 45, 2**53, 10**400, -(10**400), 0.5, 1e308, float("nan"), float("inf")]),
    st.text(max_size=12),
    st.sampled_from(["\ud800", "\x00", "neon", "shapes", "w*3", "0-1", "0,0 1,1 1,0", "a" * 9000]),
)
KEYS = st.text(max_size=8) | st.sampled_from(["\ud800", "\x00", "", "text", "from", "seed" * 50])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
IDS = st.sampled_from(["a", "b", "c", "d", "e"])
PARAMS = sorted({name for declared in CATALOG.nodes.values() for name in declared.params})
SOCKETS = sorted(
    {name for declared in CATALOG.nodes.values() for name in (*declared.inputs, *declared.outputs)}
)
NODES = st.fixed_dictionaries(
    {"type": st.sampled_from([*CATALOG.nodes, "nothing"])},
    optional={
        "params": st.dictionaries(st.sampled_from(PARAMS), SCALARS, max_size=4),
        "mode": st.sampled_from(["active", "muted", "bypassed"]),
        "version": st.sampled_from([0, 1, 2, None]),
    },
)
ENDS = st.tuples(IDS, st.sampled_from(SOCKETS)).map(list)
GRAPHS = st.fixed_dictionaries(
    {
        "nodes": st.dictionaries(IDS, NODES, max_size=5),
        "edges": st.dictionaries(
            st.text("xyz", min_size=1, max_size=3),
            st.fixed_dictionaries({"from": ENDS, "to": ENDS}),
            max_size=10,
        ),
    }
)
TEMPLATES = (generating(), editing(), rolling())


def check(document: object, targets: list[str] | None = None) -> None:
    """Compile; the promises that hold for every document."""
    compiled = compiling(document, targets=targets)
    assert (compiled.spec is None) == has_errors(compiled.diagnostics)
    for found in compiled.diagnostics:
        assert found.code in CODES
        json.dumps(found.to_json(), allow_nan=False)
        assert len(found.message) < 1000
        found.message.encode()
        str(found).encode()
    if compiled.spec is not None:
        assert spec_from_json(json.loads(json.dumps(spec_to_json(compiled.spec)))) == compiled.spec


@seed(1)
@SETTINGS
@given(JSON)
def test_any_json_is_answered(document):
    check(document)


@seed(2)
@SETTINGS
@given(GRAPHS, st.none() | st.lists(IDS, max_size=3))
def test_any_graph_of_known_words_is_answered(graph, targets):
    check({"schema": "rushes.workflow/1", "graph": graph}, targets)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


@seed(3)
@SETTINGS
@given(st.data())
def test_a_good_workflow_with_anything_in_any_place_is_answered(data):
    document = json.loads(json.dumps(data.draw(st.sampled_from(TEMPLATES))))
    for _ in range(data.draw(st.integers(1, 3))):
        *folders, last = data.draw(st.sampled_from(places(document)[1:]))
        place = document
        for folder in folders:
            place = place[folder]
        place[last] = data.draw(JSON)

    check(document)


@seed(4)
@SETTINGS
@given(
    st.sampled_from(TEMPLATES), st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=3)), max_size=4)
)
def test_any_bytes_are_answered(template, cuts):
    text = json.dumps(template).encode()
    for at, patch in cuts:
        text = text[:at] + patch + text[at + len(patch) :]

    document, found = parse_document(text)

    assert (document is None) == has_errors(found)
    if document is not None:
        check(document)
