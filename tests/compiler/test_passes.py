"""Passes: what each makes of a graph or spec."""

import pytest

from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.verify import verify
from rushes.compiler.passes.order import PASSES
from rushes.compiler.read.workflow import read_workflow
from tests.compiler.target import (
    CATALOG,
    TARGET,
    codes_of,
    compiling,
    editing,
    generating,
    only_error,
    rolling,
    spec_of,
    workflow,
)


def ops(spec):
    return [stage.op for stage in spec.stages]


def twice(**differences):
    """Two generates side by side, the second with other params; each with its own loads."""
    nodes, edges = {}, []
    for twin, params in (("a", {}), ("b", differences)):
        nodes |= {
            f"model_{twin}": ("load_model", {}),
            f"prompt_{twin}": ("prompt", {"text": "a star"}),
            f"generate_{twin}": ("generate_video", params),
            f"save_{twin}": ("save_video", {"name": twin}),
        }
        edges += [
            f"model_{twin}.model > generate_{twin}.model",
            f"prompt_{twin}.prompt > generate_{twin}.prompt",
            f"generate_{twin}.video > save_{twin}.video",
        ]
    return workflow(nodes, edges)


def test_equal_generates_are_made_once_and_saved_twice():
    spec = spec_of(twice())

    assert ops(spec) == ["load_model", "encode_text", "denoise", "decode", "save_video", "save_video"]
    assert {output.value for output in spec.outputs} == {"generate_a.video"}


def test_generates_of_two_seeds_share_load_and_text_only():
    spec = spec_of(twice(seed=1))

    assert ops(spec).count("load_model") == ops(spec).count("encode_text") == 1
    assert ops(spec).count("denoise") == ops(spec).count("decode") == 2


def test_whole_numbers_and_fractions_that_are_equal_do_not_merge_by_accident():
    spec = spec_of(
        workflow(
            {
                "photo": ("load_image", {"file": "photo.png"}),
                "first": ("save_image", {"frame_index": 0}),
                "second": ("save_image", {"frame_index": 0}),
            },
            ["photo.image > first.image", "photo.image > second.image"],
        )
    )

    assert ops(spec) == ["load_image", "save_image", "save_image"]


def test_rollouts_that_two_people_steer_stay_apart():
    nodes = {"model": ("load_model", {}), "prompt": ("prompt", {})}
    edges = []
    for twin in "ab":
        nodes |= {
            f"keys_{twin}": ("live_actions", {}),
            f"rollout_{twin}": ("streaming_rollout", {"chunk_count": 0}),
            f"save_{twin}": ("save_video", {}),
        }
        edges += [
            f"model.model > rollout_{twin}.model",
            f"prompt.prompt > rollout_{twin}.prompt",
            f"keys_{twin}.actions > rollout_{twin}.actions",
            f"rollout_{twin}.video > save_{twin}.video",
        ]

    spec = spec_of(workflow(nodes, edges))

    assert ops(spec).count("live_actions") == ops(spec).count("rollout") == 2
    assert ops(spec).count("encode_text") == 1


def test_a_value_nobody_reads_is_dropped():
    document = editing(("latent_mask", {}))
    document["graph"]["edges"]["extra"] = {"from": ["clip", "video"], "to": ["mask", "source"]}
    document["graph"]["nodes"]["clip"] = {"type": "load_video", "params": {"file": "long.mp4"}}

    loads = [stage.attr("asset") for stage in spec_of(document).stages if stage.op == "load_video"]

    assert loads == ["shapes-source.mp4"]


def test_a_mask_as_target_loads_no_model():
    document = editing()
    document["graph"]["edges"]["on"] = {"from": ["source", "video"], "to": ["mask", "source"]}

    spec = spec_of(document, targets=["mask"])

    assert ops(spec) == ["load_video", "latent_mask", "mask_overlay", "preview"]
    assert [(output.node_id, output.kind) for output in spec.outputs] == [("mask", "preview")]


def test_an_overlay_as_target_loads_no_model_and_sees_no_fault_elsewhere():
    document = editing(frame_count=44)
    document["graph"]["nodes"] |= {
        "overlay": {"type": "mask_overlay"},
        "look": {"type": "preview"},
        "odd": {"type": "no_such_type"},
    }
    document["graph"]["edges"] |= {
        "a": {"from": ["source", "video"], "to": ["overlay", "video"]},
        "b": {"from": ["mask", "mask"], "to": ["overlay", "mask"]},
        "c": {"from": ["overlay", "video"], "to": ["look", "video"]},
    }

    spec = spec_of(document, targets=["look"])

    assert ops(spec) == ["load_video", "latent_mask", "mask_overlay", "preview"]


def test_a_video_node_as_target_is_previewed_at_that_node():
    spec = spec_of(generating(), targets=["generate"])

    assert ops(spec) == ["load_model", "encode_text", "denoise", "decode", "preview"]
    assert [(output.node_id, output.kind) for output in spec.outputs] == [("generate", "preview")]


@pytest.mark.parametrize(
    ("targets", "code", "suggestion"),
    [
        (["generat"], "E_UNKNOWN_NODE", "generate"),
        (["prompt"], "E_NO_OUTPUT", None),
        (["model", "prompt"], "E_NO_OUTPUT", None),
        ([], "E_NO_OUTPUT", None),
    ],
)
def test_a_target_that_cannot_be_shown_is_refused(targets, code, suggestion):
    found = compiling(generating(), targets=targets)

    assert found.spec is None
    assert {(one.code, one.suggestion) for one in found.diagnostics} == {(code, suggestion)}


def with_mode(document, node_id, mode):
    document["graph"]["nodes"][node_id]["mode"] = mode
    return document


def test_a_bypassed_edit_passes_its_source_on():
    spec = spec_of(with_mode(editing(), "edit", "bypassed"))

    assert ops(spec) == ["load_video", "save_video"]


def test_a_chain_of_bypassed_loras_passes_the_first_on():
    nodes = {f"lora_{index}": ("lora", {"file": "ink"}) for index in range(3)}
    document = generating()
    document["graph"]["nodes"] |= workflow(nodes, [])["graph"]["nodes"]
    document["graph"]["edges"] |= {
        "x": {"from": ["lora_0", "adapters"], "to": ["lora_1", "adapters"]},
        "y": {"from": ["lora_1", "adapters"], "to": ["lora_2", "adapters"]},
        "z": {"from": ["lora_2", "adapters"], "to": ["generate", "adapters"]},
    }
    with_mode(with_mode(document, "lora_1", "bypassed"), "lora_2", "bypassed")

    (stack,) = [stage for stage in spec_of(document).stages if stage.op == "stack_adapters"]

    assert (stack.node_id, stack.attr("entries")) == ("lora_0", (("ink", 1.0, 1.0),))


def test_a_bypassed_node_with_nothing_to_pass_is_told_at_the_node_that_misses_it():
    error = only_error(with_mode(generating(), "generate", "bypassed"))

    assert (error.code, error.node_id, error.param) == ("E_MISSING_INPUT", "save", "video")
    assert "bypassed" in error.message


def test_a_muted_node_silences_what_needs_it_and_leaves_the_rest():
    document = with_mode(twice(seed=1), "prompt_b", "muted")

    compiled = compiling(document)

    assert compiled.spec is not None
    assert [output.node_id for output in compiled.spec.outputs] == ["save_a"]
    assert [(found.code, found.node_id) for found in compiled.diagnostics] == [
        ("N_MUTED", "generate_b"),
        ("N_MUTED", "save_b"),
    ]


def test_a_muted_optional_input_is_left_out():
    document = generating()
    document["graph"]["nodes"]["lora"] = {"type": "lora"}
    document["graph"]["edges"]["l"] = {"from": ["lora", "adapters"], "to": ["generate", "adapters"]}

    assert "stack_adapters" in ops(spec_of(document))
    assert "stack_adapters" not in ops(spec_of(with_mode(document, "lora", "muted")))


def test_muting_every_output_leaves_nothing_to_run():
    assert only_error(with_mode(generating(), "save", "muted")).code == "E_NO_OUTPUT"


def test_an_older_node_is_noted():
    document = generating()
    document["graph"]["nodes"]["save"]["version"] = 0

    assert codes_of(document, "note") == ["N_OLDER_VERSION"]


def test_the_estimate_grows_with_the_work_and_is_unknown_where_nothing_was_measured():
    short, long = spec_of(generating(frame_count=5)), spec_of(generating(frame_count=45))
    wide = generating(width_px=832, height_px=480)
    wide["graph"]["nodes"]["model"]["params"] = {"checkpoint": "wide"}

    assert short.estimate is not None
    assert long.estimate is not None
    assert 0 < short.estimate.seconds < long.estimate.seconds
    assert 0 < short.estimate.bytes < long.estimate.bytes
    assert spec_of(wide).estimate.seconds is None


def test_the_estimate_is_the_sum_of_its_nodes_and_names_only_those_that_cost():
    estimate = spec_of(editing()).estimate

    assert estimate is not None
    assert [node.node_id for node in estimate.nodes] == ["prompt", "edit"]
    assert estimate.seconds == pytest.approx(sum(node.seconds or 0 for node in estimate.nodes), abs=1e-3)
    assert estimate.bytes == sum(node.bytes for node in estimate.nodes)


def test_a_rollout_costs_a_commit_more_per_chunk_than_its_steps():
    def seconds(**params):
        return spec_of(rolling(**params)).estimate.seconds

    assert seconds(chunk_count=8) == pytest.approx(2 * seconds(chunk_count=4), rel=0.05)


def test_two_models_of_one_graph_cost_each_its_own():
    document = twice(width_px=832, height_px=480)
    document["graph"]["nodes"]["model_b"]["params"] = {"checkpoint": "wide"}

    nodes = {node.node_id: node.seconds for node in spec_of(document).estimate.nodes}

    assert nodes["generate_a"] > 0
    assert nodes["generate_b"] is None


def test_every_pass_leaves_a_spec_that_keeps_the_grammar():
    for document in (generating(), editing(), rolling(), twice(seed=1)):
        read = read_workflow(document)
        draft = Draft(read.graph)
        for run in PASSES:
            draft = run(draft, Request(CATALOG, TARGET))
            if draft.spec is not None:
                verify(draft.spec)
        assert draft.spec is not None
