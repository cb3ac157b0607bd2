"""Any graph: what passes make of it is what was written; keys change with meaning and nothing else."""

import copy
import json
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st

from rushes.compiler.compile import compile_workflow
from rushes.compiler.ir.keys import value_keys
from rushes.compiler.ir.spec import spec_to_json
from rushes.compiler.passes.merge_equal import STEERED
from rushes.compiler.passes.order import PLAIN_PASSES
from tests.compiler.target import CATALOG, TARGET, compiling, generating, spec_of

SETTINGS = settings(
    max_examples=80,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
# Few values, so that graphs hold equal parts.
PARAMS: dict[str, dict[str, list[object]]] = {
    "load_video": {"file": ["shapes-source.mp4"]},
    "load_image": {"file": ["photo.png"]},
    "lora": {"file": ["neon", "ink"], "strength": [1.0, 0.5, 0], "enabled": [True, False]},
    "sampler_settings": {"step_count": [4, 2], "guidance_scale": [1, 1.5]},
    "prompt": {"text": ["a star", "a ring"]},
    "latent_mask": {"shape": ["full", "ellipse"], "value": [1.0, 0.5]},
    "temporal_mask": {"mode": ["continuation", "bridge"], "preserve_fraction": [0.5, 1]},
    "combine_masks": {"mode": ["union", "multiply"]},
    "mask_overlay": {"opacity": [0.5, 0.25]},
    "generate_video": {"frame_count": [45, 9], "seed": [0, 1]},
    "edit_video": {"seed": [0, 1], "denoise_strength": [1.0, 0.5]},
    "streaming_rollout": {"chunk_count": [1, 2], "seed": [0, 1]},
    "action_script": {"script": ["w*3", "w*3, a"]},
    "live_actions": {},
    "load_model": {},
}
KINDS = (*sorted(PARAMS), *["generate_video", "edit_video"] * 3)
OUTPUTS = ("preview", "save_video")
BOUND_TO_BE = ("load_model", "prompt", "load_video")


@st.composite
def workflows(draw: st.DrawFn) -> dict[str, Any]:
    """A graph that compiles, grown node by node: each reads what is there already."""
    nodes: dict[str, Any] = {}
    edges: dict[str, Any] = {}
    made: dict[str, list[tuple[str, str]]] = {}

    def add(kind: str) -> None:
        declared, node_id = CATALOG.nodes[kind], f"n{len(nodes)}"
        for name, socket in declared.inputs.items():
            known = [end for socket_type in socket.types for end in made.get(socket_type, [])]
            if known and (not socket.optional or draw(st.booleans())):
                edges[f"e{len(edges)}"] = {
                    "from": list(draw(st.sampled_from(known[-4:]))),
                    "to": [node_id, name],
                }
        params = {name: draw(st.sampled_from(values)) for name, values in PARAMS.get(kind, {}).items()}
        nodes[node_id] = {"type": kind, "params": params}
        for name, socket in declared.outputs.items():
            made.setdefault(socket.types[0], []).append((node_id, name))

    for kind in (*BOUND_TO_BE, "latent_mask"):
        add(kind)
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=9)):
        add(kind)
    for kind in draw(st.lists(st.sampled_from(OUTPUTS), min_size=2, max_size=4)):
        add(kind)
    document = {"schema": "rushes.workflow/1", "graph": {"nodes": nodes, "edges": edges}}
    assume(compiling(document).spec is not None)
    return document


def results(spec):
    """What a program gives out: for each output its node, its kind, and the key of its value."""
    keys = value_keys(spec)
    return sorted((output.node_id, output.kind, keys[output.value]) for output in spec.outputs)


def contents(spec):
    """The keys of what a program gives out, whatever its nodes are called."""
    return sorted(key for _, _, key in results(spec))


@seed(21)
@SETTINGS
@given(workflows())
def test_an_optimised_program_gives_out_what_was_written_and_computes_nothing_twice(document):
    plain = compile_workflow(document, CATALOG, TARGET, passes=PLAIN_PASSES).spec
    optimised = spec_of(document)

    assert plain is not None
    assert results(optimised) == results(plain)
    assert len(optimised.stages) <= len(plain.stages)
    keys = value_keys(optimised)
    for stage in optimised.stages:
        steered = stage.op in STEERED or any(read in _steered(optimised) for _, read in stage.reads)
        for _, value in stage.writes:
            assert steered or list(keys.values()).count(keys[value]) == 1
    read = {value for stage in optimised.stages for _, value in stage.reads}
    assert all(
        not stage.writes or read.intersection(dict(stage.writes).values()) for stage in optimised.stages
    )


def _steered(spec) -> set[str]:
    """Values a person steers, directly or through what reads them."""
    found: set[str] = set()
    for stage in spec.stages:
        if stage.op in STEERED or any(value in found for _, value in stage.reads):
            found.update(value for _, value in stage.writes)
    return found


@seed(22)
@SETTINGS
@given(workflows(), st.randoms(use_true_random=False))
def test_what_changes_no_meaning_changes_no_key(document, random):
    keys = contents(spec_of(document))

    assert contents(spec_of(renamed(document, random))) == keys
    assert contents(spec_of(decorated(document, random))) == keys


def renamed(document, random):
    """Other ids, in another order."""
    graph = document["graph"]
    names = list(graph["nodes"])
    random.shuffle(names)
    other = {node_id: f"m{index}" for index, node_id in enumerate(names)}
    edges = [
        {"from": [other[edge["from"][0]], edge["from"][1]], "to": [other[edge["to"][0]], edge["to"][1]]}
        for edge in graph["edges"].values()
    ]
    random.shuffle(edges)
    nodes = {other[node_id]: graph["nodes"][node_id] for node_id in names}
    return {**document, "graph": {"nodes": nodes, "edges": {f"x{at}": edge for at, edge in enumerate(edges)}}}


def decorated(document, random):
    """Titles, places, notes, unknown keys, defaults written out, nodes that nobody reads."""
    again = copy.deepcopy(document)
    again |= {"title": "again", "view": {"nodes": {"n0": {"x": random.random()}}}, "mine": 1}
    graph = again["graph"]
    graph["notes"] = {"n": {"text": "hello"}}
    for node in graph["nodes"].values():
        node["title"] = f"title {random.random()}"
        defaults = {name: rule.default for name, rule in CATALOG.nodes[node["type"]].params.items()}
        node["params"] = {**defaults, **node["params"]}
    graph["nodes"]["spare"] = {"type": "prompt", "params": {"text": "spare"}}
    graph["nodes"]["muted"] = {"type": "save_video", "mode": "muted"}
    return again


@seed(23)
@SETTINGS
@given(workflows(), st.data())
def test_a_changed_seed_changes_the_key_of_what_it_makes_and_of_no_text(document, data):
    spec = spec_of(document)
    sampled = [stage.node_id for stage in spec.stages if stage.op in ("denoise", "rollout")]
    assume(sampled)
    changed = copy.deepcopy(document)
    node_id = data.draw(st.sampled_from(sampled))
    changed["graph"]["nodes"][node_id]["params"]["seed"] = 77

    before, after = made_by(spec, node_id), made_by(spec_of(changed, targets=[node_id]), node_id)

    assert before.isdisjoint(after)
    assert texts(spec_of(changed)) == texts(spec)


def made_by(spec, node_id):
    keys = value_keys(spec)
    return {
        keys[value]
        for stage in spec.stages
        if stage.node_id == node_id and stage.op in ("denoise", "rollout", "decode")
        for _, value in stage.writes
    }


def texts(spec):
    keys = value_keys(spec)
    return {keys[value] for stage in spec.stages if stage.op == "encode_text" for _, value in stage.writes}


@seed(24)
@SETTINGS
@given(workflows(), st.data())
def test_a_changed_param_that_reaches_an_output_changes_its_key(document, data):
    spec = spec_of(document)
    changed = copy.deepcopy(document)
    nodes = changed["graph"]["nodes"]
    node_id = data.draw(st.sampled_from(sorted(nodes)))
    choices = PARAMS.get(nodes[node_id]["type"], {})
    assume(choices)
    name = data.draw(st.sampled_from(sorted(choices)))
    value = data.draw(st.sampled_from(choices[name]))
    nodes[node_id]["params"][name] = value
    again = compiling(changed).spec
    assume(again is not None)

    is_equal_program = spec_to_json(again)["stages"] == spec_to_json(spec)["stages"]

    assert (results(again) == results(spec)) == is_equal_program


@seed(25)
@SETTINGS
@given(workflows())
def test_compiling_again_gives_the_same_bytes(document):
    spec = spec_of(document)

    assert json.dumps(spec_to_json(spec_of(json.loads(json.dumps(document))))) == json.dumps(
        spec_to_json(spec)
    )


def test_a_replaced_file_changes_the_key():
    asset = TARGET.assets["photo.png"]
    other = replace(TARGET, assets={**TARGET.assets, "photo.png": replace(asset, content_id="0" * 64)})
    document = generating()
    document["graph"]["nodes"]["photo"] = {"type": "load_image", "params": {"file": "photo.png"}}
    document["graph"]["edges"]["k"] = {"from": ["photo", "image"], "to": ["generate", "keyframes"]}

    assert contents(spec_of(document, target=other)) != contents(spec_of(document))
