"""Subgraphs: instances become the nodes they stand for; what is wrong is told at the way to the node."""

import copy
import json

import pytest

from tests.compiler.target import (
    compiling,
    definition,
    errors_of,
    generating,
    instances,
    only_error,
    spec_of,
    stage_of,
    with_subgraphs,
    workflow,
)

LOOK = definition(
    {"prompt": ("prompt", {"text": "a ring"}), "generate": ("generate_video", {"frame_count": 9})},
    ["prompt.prompt > generate.prompt"],
    inputs={"model": ["generate.model"], "adapters": ["generate.adapters"]},
    outputs={"video": "generate.video"},
    params={"text": ["prompt.text"], "seed": ["generate.seed"]},
)


def looking(nodes=None, edges=(), subgraphs=None, **params):
    """model -> look -> save, and what else is given."""
    document = workflow(
        {
            "model": ("load_model", {}),
            "look": ("subgraph:look", params),
            "save": ("save_video", {}),
            **(nodes or {}),
        },
        ["model.model > look.model", "look.video > save.video", *edges],
    )
    instances(document["graph"]["nodes"])
    return with_subgraphs(document, copy.deepcopy({"look": LOOK, **(subgraphs or {})}))


def shape(spec):
    """A spec without the names of nodes."""
    return [(stage.op, stage.attrs, len(stage.reads)) for stage in spec.stages]


def test_an_instance_is_the_program_of_the_nodes_it_stands_for():
    spec = spec_of(looking(text="a star", seed=7))

    assert shape(spec) == shape(spec_of(generating(frame_count=9, seed=7)))
    assert [stage.node_id for stage in spec.stages] == [
        "model",
        "look/prompt",
        "look/generate",
        "look/generate",
        "save",
    ]


def test_what_is_not_overridden_is_as_defined():
    assert stage_of(spec_of(looking(seed=7)), "encode_text").attr("text") == "a ring"


def test_two_instances_of_one_definition_differ_by_their_params():
    document = looking(
        {"other": ("subgraph:look", {"seed": 2}), "save_other": ("save_video", {"name": "other"})},
        ["model.model > other.model", "other.video > save_other.video"],
        seed=1,
    )
    instances(document["graph"]["nodes"])

    loops = [stage for stage in spec_of(document).stages if stage.op == "denoise"]

    assert [(loop.node_id, loop.attr("seed")) for loop in loops] == [
        ("look/generate", 1),
        ("other/generate", 2),
    ]


PAIR = definition(
    {"look": ("subgraph:look", {"text": "a cross"}), "lora": ("lora", {})},
    ["lora.adapters > look.adapters"],
    inputs={"model": ["look.model"]},
    outputs={"video": "look.video"},
    params={"words": ["look.text"], "strength": ["lora.strength"]},
)


def nested(mode="active", **params):
    document = looking(subgraphs={"pair": PAIR})
    document["graph"]["nodes"]["look"] = {
        "type": "subgraph",
        "subgraph": "pair",
        "params": params,
        "mode": mode,
    }
    return document


def test_an_override_reaches_through_nested_instances():
    spec = spec_of(nested(words="a square", strength=0.25))

    assert stage_of(spec, "encode_text").attr("text") == "a square"
    assert stage_of(spec, "encode_text").node_id == "look/look/prompt"
    assert stage_of(spec, "stack_adapters").attr("entries") == (("neon", 0.25, 1.0),)


def test_an_override_inside_a_definition_holds_where_nobody_overrides_it():
    assert stage_of(spec_of(nested()), "encode_text").attr("text") == "a cross"


def test_one_exposed_input_may_reach_several_sockets():
    both = definition(
        {"a": ("generate_video", {}), "b": ("generate_video", {"seed": 1}), "prompt": ("prompt", {})},
        ["prompt.prompt > a.prompt", "prompt.prompt > b.prompt"],
        inputs={"model": ["a.model", "b.model"]},
        outputs={"video": "a.video", "second": "b.video"},
        params={"frame_count": ["a.frame_count", "b.frame_count"]},
    )
    document = looking(
        {"save_second": ("save_video", {"name": "second"})},
        ["look.second > save_second.video"],
        subgraphs={"look": both},
        frame_count=13,
    )

    loops = [stage for stage in spec_of(document).stages if stage.op == "denoise"]

    assert [(loop.attr("seed"), loop.attr("frame_count")) for loop in loops] == [(0, 13), (1, 13)]


def test_outputs_inside_a_subgraph_run():
    document = looking(subgraphs={"look": definition({**saving()}, ["load.video > save.video"])})
    document["graph"]["edges"] = {}
    del document["graph"]["nodes"]["save"]

    assert [output.node_id for output in spec_of(document).outputs] == ["look/save"]


def saving():
    return {"load": ("load_video", {}), "save": ("save_video", {})}


def test_a_target_may_be_an_instance_or_a_node_inside():
    for target in ("look", "look/generate"):
        spec = spec_of(looking(), targets=[target])
        assert [(output.node_id, output.kind) for output in spec.outputs] == [("look/generate", "preview")]


def test_a_muted_instance_silences_what_needs_it():
    document = looking(
        {"photo": ("load_image", {"file": "photo.png"}), "see": ("preview", {})}, ["photo.image > see.video"]
    )
    document["graph"]["nodes"]["look"]["mode"] = "muted"

    compiled = compiling(document)

    assert compiled.spec is not None
    assert [output.node_id for output in compiled.spec.outputs] == ["see"]
    assert [(found.code, found.node_id) for found in compiled.diagnostics] == [("N_MUTED", "save")]


def test_a_node_muted_inside_is_muted_in_every_instance():
    document = looking()
    document["graph"]["subgraphs"]["look"]["nodes"]["prompt"]["mode"] = "muted"

    assert {(found.code, found.node_id) for found in compiling(document).diagnostics} == {
        ("N_MUTED", "look/generate"),
        ("N_MUTED", "save"),
        ("E_NO_OUTPUT", None),
    }


def test_a_node_bypassed_inside_passes_on_what_came_from_outside():
    chain = definition(
        {"lora": ("lora", {})},
        [],
        inputs={"before": ["lora.adapters"]},
        outputs={"adapters": "lora.adapters"},
    )
    chain["nodes"]["lora"]["mode"] = "bypassed"

    spec = spec_of(chained(chain))

    assert stage_of(spec, "stack_adapters").attr("entries") == (("ink", 1.0, 1.0),)


def chained(chain, mode="active"):
    document = looking(
        {"ink": ("lora", {"file": "ink"}), "chain": ("subgraph:chain", {})},
        ["ink.adapters > chain.before", "chain.adapters > look.adapters"],
        subgraphs={"chain": chain},
    )
    document["graph"]["nodes"]["chain"]["mode"] = mode
    return document


def test_a_bypassed_instance_passes_on_its_first_input_of_the_type():
    chain = definition(
        {"lora": ("lora", {})},
        [],
        inputs={"before": ["lora.adapters"]},
        outputs={"adapters": "lora.adapters"},
    )

    assert [
        stage.attr("entries") for stage in spec_of(chained(chain)).stages if stage.op == "stack_adapters"
    ] == [(("ink", 1.0, 1.0), ("neon", 1.0, 1.0))]
    assert stage_of(spec_of(chained(chain, "bypassed")), "stack_adapters").attr("entries") == (
        ("ink", 1.0, 1.0),
    )


def test_a_bypassed_instance_inside_another_passes_on_what_came_from_outside():
    inner = definition(
        {"lora": ("lora", {})},
        [],
        inputs={"before": ["lora.adapters"]},
        outputs={"adapters": "lora.adapters"},
    )
    outer = definition(
        {"inner": ("subgraph:inner", {})},
        [],
        inputs={"before": ["inner.before"]},
        outputs={"adapters": "inner.adapters"},
    )
    outer["nodes"]["inner"]["mode"] = "bypassed"
    document = chained(outer)
    document["graph"]["subgraphs"]["inner"] = inner

    assert stage_of(spec_of(document), "stack_adapters").attr("entries") == (("ink", 1.0, 1.0),)


def test_a_bypassed_instance_with_nothing_to_pass_leaves_its_reader_without_an_edge():
    document = looking()
    document["graph"]["nodes"]["look"]["mode"] = "bypassed"

    assert (only_error(document).code, only_error(document).node_id) == ("E_MISSING_INPUT", "save")


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (("nodes", "look", "subgraph"), "lok", ("E_SUBGRAPH", "look", "subgraph", "look")),
        (("nodes", "look", "subgraph"), 3, ("E_MALFORMED", "look", "subgraph", None)),
        (("nodes", "look", "params"), {"txt": "a"}, ("E_UNKNOWN_PARAM", "look", "txt", "text")),
        (("nodes", "look", "params"), {"seed": -1}, ("E_PARAM_RANGE", "look/generate", "seed", 0)),
        (
            ("edges", "e2"),
            {"from": ["model", "model"], "to": ["look", "modl"]},
            ("E_UNKNOWN_SOCKET", "look", "modl", "model"),
        ),
        (("edges", "e1", "from"), ["look", "vido"], ("E_UNKNOWN_SOCKET", "look", "vido", "video")),
        (("edges", "e1", "from"), ["model", "model"], ("E_SOCKET_TYPE", "save", "video", None)),
        (
            ("subgraphs", "look", "nodes", "prompt", "type"),
            "promt",
            ("E_UNKNOWN_NODE_TYPE", "look/prompt", "type", "prompt"),
        ),
        (
            ("subgraphs", "look", "nodes", "generate", "params"),
            {"frame_count": 10},
            ("E_OFF_LATTICE", "look/generate", "frame_count", 9),
        ),
        (
            ("subgraphs", "look", "inputs", "model", "to"),
            [["generat", "model"], ["generate", "model"]],
            ("E_UNKNOWN_NODE", "model", "model", "look/generate"),
        ),
        (
            ("subgraphs", "look", "nodes", "prompt"),
            [],
            ("E_MALFORMED", None, "graph.subgraphs.look.nodes.prompt.node", None),
        ),
        (("subgraphs", "look", "outputs"), [], ("E_MALFORMED", None, "graph.subgraphs.look.outputs", None)),
    ],
)
def test_a_fault_is_told_once_at_the_way_to_its_node(place, value, expected):
    document = looking()
    *folders, last = place
    at = document["graph"]
    for folder in folders:
        at = at[folder]
    at[last] = value

    errors = [
        found for found in errors_of(document) if found.code != "E_SUBGRAPH" or expected[0] == "E_SUBGRAPH"
    ]

    assert [(one.code, one.node_id, one.param, one.suggestion) for one in errors] == [expected]


def test_an_exposed_param_of_a_node_that_is_not_there_is_told_at_the_instance():
    document = looking(text="a star")
    document["graph"]["subgraphs"]["look"]["params"]["text"]["to"] = [["promt", "text"]]

    assert (only_error(document).code, only_error(document).node_id) == ("E_SUBGRAPH", "look")


def test_a_definition_that_holds_itself_is_told_once_per_instance_at_the_root():
    document = looking(
        subgraphs={
            "look": definition({"a": ("subgraph:b", {})}, []),
            "b": definition({"c": ("subgraph:look", {})}, []),
        }
    )

    error = only_error(document)

    assert (error.code, error.node_id) == ("E_SUBGRAPH", "look")
    assert "holds itself" in error.message


@pytest.mark.parametrize(("depth", "is_sound"), [(8, True), (9, False), (900, False)])
def test_definitions_nest_so_deep_and_no_deeper(depth, is_sound):
    subgraphs = {
        f"s{level}": definition(
            {"in": (f"subgraph:s{level + 1}", {})},
            [],
            inputs={"model": ["in.model"]},
            outputs={"video": "in.video"},
        )
        for level in range(1, depth)
    }
    document = looking(subgraphs={**subgraphs, f"s{depth}": LOOK})
    document["graph"]["nodes"]["look"]["subgraph"] = "s1"

    assert [error.code for error in errors_of(document)] == ([] if is_sound else ["E_SUBGRAPH"])


def test_a_small_document_that_expands_to_millions_of_nodes_is_refused_at_once():
    subgraphs = {
        f"s{level}": definition({f"n{n}": (f"subgraph:s{level + 1}", {}) for n in range(30)}, [])
        for level in range(7)
    }
    document = looking(subgraphs={**subgraphs, "s7": definition({}, [])})
    document["graph"]["nodes"]["look"]["subgraph"] = "s0"

    error = only_error(document)

    assert (error.code, error.param) == ("E_TOO_LARGE", "graph.nodes")


def test_a_small_document_whose_inputs_fan_out_to_millions_of_ends_is_refused():
    ends = ["n.x"] * 900
    subgraphs = {
        f"s{level}": definition({"n": (f"subgraph:s{level + 1}", {})}, [], inputs={"x": ends})
        for level in range(6)
    }
    last = definition({"n": ("preview", {})}, [], inputs={"x": ["n.video"]})
    document = looking(subgraphs={**subgraphs, "s6": last})
    document["graph"]["nodes"]["look"]["subgraph"] = "s0"
    document["graph"]["edges"] = {"e": {"from": ["model", "model"], "to": ["look", "x"]}}

    assert (only_error(document).code, only_error(document).param) == ("E_TOO_LARGE", "graph.edges")


def test_an_id_that_is_taken_by_a_way_is_refused():
    document = looking({"look/prompt": ("prompt", {})})

    assert [error.code for error in errors_of(document)] == ["E_MALFORMED"]


def test_frames_notes_and_unused_definitions_change_nothing():
    document = looking()
    before = spec_of(document).spec_hash
    document["graph"] |= {"frames": {"f": {"title": "group"}}, "notes": {"n": {"text": "hello"}}}
    document["graph"]["subgraphs"]["spare"] = {"nodes": {"odd": {"type": "no_such_type"}}}
    text = json.dumps(document)

    assert spec_of(document).spec_hash == before
    assert json.dumps(document) == text
