"""The spec as data: exact round trip, one text in every process, and a grammar that is held."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from rushes.compiler.compile import explain
from rushes.compiler.ir.ops import OPS
from rushes.compiler.ir.spec import (
    OutputSpec,
    canonical_json,
    sorted_attrs,
    spec_from_json,
    spec_to_json,
)
from rushes.compiler.ir.verify import SpecError, verify
from tests.compiler.target import editing, generating, rolling, spec_of

DOCUMENTS = {"generate": generating(), "edit": editing(), "rollout": rolling(chunk_count=0)}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_spec_comes_back_from_its_json_as_it_was(name):
    spec = spec_of(DOCUMENTS[name])

    back = spec_from_json(json.loads(json.dumps(spec_to_json(spec))))

    assert back == spec
    assert hash(back) == hash(spec)
    assert canonical_json(spec_to_json(back)) == canonical_json(spec_to_json(spec))


def test_a_spec_of_another_schema_is_refused():
    with pytest.raises(ValueError, match=r"expected schema 'rushes\.pipeline/1', got 'rushes\.pipeline/2'"):
        spec_from_json({"schema": "rushes.pipeline/2"})


SCRIPT = """
import json, sys
from rushes.compiler.ir.spec import canonical_json, spec_to_json
from tests.compiler.target import editing, spec_of
spec = spec_of(editing())
sys.stdout.write(spec.spec_hash + canonical_json(spec_to_json(spec)))
assert "torch" not in sys.modules
"""


def test_two_processes_with_other_hash_seeds_write_the_same_bytes_and_load_no_torch(root):
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]

    assert runs[0] == runs[1]
    assert len(runs[0]) > 1000


def test_the_order_of_keys_in_the_document_changes_nothing():
    document = editing()
    graph = document["graph"]
    shuffled = {
        "graph": {
            "edges": dict(reversed(graph["edges"].items())),
            "nodes": dict(reversed(graph["nodes"].items())),
        },
        "schema": document["schema"],
    }

    assert spec_of(shuffled) == spec_of(document)


def test_layout_and_titles_do_not_change_the_hash_but_seed_and_file_do():
    document = generating(seed=1)
    moved = {**document, "title": "x", "view": {"nodes": {"save": {"x": 1, "y": 2}}}, "ext": {"a": 1}}

    assert spec_of(moved).spec_hash == spec_of(document).spec_hash
    assert spec_of(generating(seed=2)).spec_hash != spec_of(document).spec_hash


def test_the_estimate_is_not_part_of_the_hash():
    spec = spec_of(generating())

    assert replace(spec, estimate=None).spec_hash == spec.spec_hash


def stage_broken(spec, which, /, **changes):
    stages = tuple(replace(stage, **changes) if stage.op == which else stage for stage in spec.stages)
    return replace(spec, stages=stages)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda spec: replace(spec, stages=spec.stages[1:]), "not written before"),
        (lambda spec: replace(spec, stages=(*spec.stages, spec.stages[0])), "written twice"),
        (
            lambda spec: replace(spec, outputs=(OutputSpec("x", "nowhere", "preview"),)),
            "nobody writes nowhere",
        ),
        (lambda spec: stage_broken(spec, "decode", op="encode"), "no such op"),
        (lambda spec: stage_broken(spec, "decode", reads=()), "must read latent"),
        (lambda spec: stage_broken(spec, "decode", attrs=()), "differ from the op's by ['fps']"),
        (lambda spec: stage_broken(spec, "decode", attrs=(("fps", 16),)), "fps must be float, is int"),
        (
            lambda spec: stage_broken(
                spec, "decode", reads=(("model", "model.model"), ("latent", "model.model"))
            ),
            "is model",
        ),
        (lambda spec: stage_broken(spec, "denoise", trip_count=3), "trip count differs"),
        (lambda spec: stage_broken(spec, "denoise", trip_count=0), "runs nothing"),
    ],
)
def test_a_spec_that_breaks_a_rule_is_refused(broken, said):
    with pytest.raises(SpecError, match=re.escape(said)):
        verify(broken(spec_of(generating())))


def test_a_stage_answers_for_its_ports_and_attrs():
    (denoise,) = [stage for stage in spec_of(generating(seed=5)).stages if stage.op == "denoise"]

    assert denoise.attr("seed") == 5
    assert denoise.read("model") == "model.model"
    assert denoise.read("mask") is None
    assert denoise.write("latent") == "generate.latent"
    with pytest.raises(KeyError, match="no attr 'steps'"):
        denoise.attr("steps")


def test_every_loop_says_so_and_ports_are_named_once():
    assert {name for name, op in OPS.items() if op.is_loop} == {"denoise", "rollout"}
    for op in OPS.values():
        ports = [port.name for port in op.reads]
        assert len(set(ports)) == len(ports)
        assert sorted_attrs(dict.fromkeys(op.attrs)) == tuple((name, None) for name in sorted(op.attrs))


def test_the_explanation_shows_loops_runs_and_outputs():
    text = explain(spec_of(rolling(("action_script", {"script": "w*6, w+d*2"}), chunk_count=0)))

    assert "until stopped: denoise, decode, commit" in text
    assert 'script [["w"] x6, ["d", "w"] x2]' in text
    assert "outputs\n    save_video of rollout.video at save\n\ncost\n" in text
    assert "    rollout: 0." in text
