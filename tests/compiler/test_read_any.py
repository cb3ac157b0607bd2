"""One door for every format: what has an equal is mapped, all else is reported, nothing is lost silently."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from rushes.compiler.ir.diagnostics import CODES
from rushes.compiler.ir.spec import OutputSpec
from rushes.compiler.prompt import write_prompt
from rushes.compiler.read import read_any
from rushes.compiler.read.comfyui_classes import known_classes
from rushes.compiler.read.comfyui_handlers import CORE
from rushes.compiler.read.comfyui_mapping import nearest_type
from rushes.compiler.read.comfyui_omni import OMNI
from tests.compiler.comfyui import node, saved, text_to_video
from tests.compiler.target import CATALOG, compiling, editing, generating, rolling, spec_of, stage_of
from tests.compiler.test_fuzz import JSON, SETTINGS
from tests.compiler.test_subgraphs import looking


def entries(document) -> dict[str, Any]:
    return {entry.node_id: entry for entry in read_any(document).coverage.entries}


def mapped(document) -> dict[str, Any]:
    workflow = read_any(document).workflow
    assert workflow is not None
    return workflow


def without(prompt, *node_ids):
    return {node_id: one for node_id, one in prompt.items() if node_id not in node_ids}


def test_a_workflow_of_ours_is_handed_on_as_it_is():
    document = {**generating(), "mine": {"kept": 1}}

    read = read_any(document)

    assert read.workflow == document
    assert (read.diagnostics, read.coverage.source) == ((), "rushes")


@pytest.mark.parametrize("document", [None, [], "text", {}, {"a": 1}, {"1": {"inputs": {}}}, {"schema": "x"}])
def test_what_is_none_of_the_formats_is_refused(document):
    read = read_any(document)

    assert read.workflow is None
    assert [found.code for found in read.diagnostics] == ["E_SCHEMA"]


def test_a_newer_workflow_of_ours_is_refused_as_newer():
    (found,) = read_any({"schema": "rushes.workflow/9", "graph": {}}).diagnostics

    assert "newer" in found.message


def test_a_text_to_video_prompt_becomes_our_generate_and_compiles():
    read = read_any(text_to_video())

    assert read.diagnostics == ()
    assert read.coverage.is_complete
    spec = spec_of(read.workflow)
    loop = stage_of(spec, "denoise")
    assert stage_of(spec, "load_model").attr("checkpoint") == "shapes"
    assert [stage.attr("text") for stage in spec.stages if stage.op == "encode_text"] == [
        "a red star",
        "blurry",
    ]
    assert (loop.trip_count, loop.attr("seed"), loop.attr("sampler")) == (8, 7, "unipc")
    assert (loop.attr("guidance_scale"), loop.attr("frame_count"), loop.attr("fps")) == (2.5, 45, 24.0)
    assert stage_of(spec, "save_video").attr("name") == "star"


def test_the_body_of_a_prompt_request_is_read_as_its_prompt():
    body = {"client_id": "c", "prompt": text_to_video(), "extra_data": {"extra_pnginfo": {}}}

    assert mapped(body) == mapped(text_to_video())


def test_a_chain_of_loras_keeps_its_order_and_strengths():
    prompt = text_to_video(n4={"model": ["21", 0]})
    prompt["20"] = {
        "class_type": "LoraLoader",
        "inputs": {
            "model": ["1", 0],
            "clip": ["2", 0],
            "lora_name": "neon.safetensors",
            "strength_model": 0.5,
            "strength_clip": 0.5,
        },
    }
    prompt["21"] = {
        "class_type": "LoraLoaderModelOnly",
        "inputs": {"model": ["20", 0], "lora_name": "sub/ink.safetensors", "strength_model": -1.0},
    }
    prompt["5"]["inputs"]["clip"] = ["20", 1]

    stack = stage_of(spec_of(mapped(prompt)), "stack_adapters")

    assert stack.attr("entries") == (("neon", 0.5, 1.0), ("ink", -1.0, 1.0))


def test_custom_sampling_is_the_same_as_one_sampler():
    prompt = without(text_to_video(), "8")
    prompt |= {
        "30": {"class_type": "RandomNoise", "inputs": {"noise_seed": 7}},
        "31": {"class_type": "KSamplerSelect", "inputs": {"sampler_name": "uni_pc"}},
        "32": {
            "class_type": "BasicScheduler",
            "inputs": {"model": ["4", 0], "scheduler": "simple", "steps": 8, "denoise": 1.0},
        },
        "33": {
            "class_type": "CFGGuider",
            "inputs": {"model": ["4", 0], "positive": ["5", 0], "negative": ["6", 0], "cfg": 2.5},
        },
        "8": {
            "class_type": "SamplerCustomAdvanced",
            "inputs": {
                "noise": ["30", 0],
                "guider": ["33", 0],
                "sampler": ["31", 0],
                "sigmas": ["32", 0],
                "latent_image": ["7", 0],
            },
        },
    }

    assert spec_of(mapped(prompt)).spec_hash == spec_of(mapped(text_to_video())).spec_hash


def test_values_from_primitive_nodes_are_folded_in():
    prompt = text_to_video(n7={"length": ["40", 0]}, n5={"text": ["41", 0]})
    prompt["40"] = {"class_type": "PrimitiveInt", "inputs": {"value": 9}}
    prompt["41"] = {"class_type": "PrimitiveStringMultiline", "inputs": {"value": "a ring"}}

    spec = spec_of(mapped(prompt))

    assert stage_of(spec, "denoise").attr("frame_count") == 9
    assert "a ring" in {stage.attr("text") for stage in spec.stages if stage.op == "encode_text"}


def test_a_start_picture_becomes_the_keyframe():
    prompt = text_to_video(n8={"positive": ["7", 0], "negative": ["7", 1], "latent_image": ["7", 2]})
    prompt["50"] = {"class_type": "LoadImage", "inputs": {"image": "photo.png"}}
    prompt["7"] = {
        "class_type": "WanImageToVideo",
        "inputs": {
            "positive": ["5", 0],
            "negative": ["6", 0],
            "vae": ["3", 0],
            "width": 96,
            "height": 96,
            "length": 45,
            "batch_size": 1,
            "start_image": ["50", 0],
        },
    }

    assert stage_of(spec_of(mapped(prompt)), "denoise").read("start") is not None


def edited(mask: dict[str, Any] | None = None) -> dict[str, Any]:
    prompt = without(text_to_video(n8={"latent_image": ["62", 0], "denoise": 0.5}), "7")
    prompt |= {
        "60": {"class_type": "LoadVideo", "inputs": {"file": "shapes-source.mp4"}},
        "61": {"class_type": "GetVideoComponents", "inputs": {"video": ["60", 0]}},
        "62": {"class_type": "VAEEncode", "inputs": {"pixels": ["61", 0], "vae": ["3", 0]}},
        "10": {"class_type": "CreateVideo", "inputs": {"images": ["9", 0], "fps": ["61", 2]}},
    }
    if mask is not None:
        prompt |= {
            "63": {"class_type": "SetLatentNoiseMask", "inputs": {"samples": ["62", 0], "mask": ["66", 0]}},
            "64": {"class_type": "SolidMask", "inputs": {"value": 0.0, "width": 96, "height": 96}},
            "65": {"class_type": "SolidMask", "inputs": {"value": 1.0, "width": 24, "height": 48}},
            "66": {
                "class_type": "MaskComposite",
                "inputs": {
                    "destination": ["64", 0],
                    "source": ["65", 0],
                    "x": 48,
                    "y": 12,
                    "operation": "add",
                    **mask,
                },
            },
        }
        prompt["8"]["inputs"]["latent_image"] = ["63", 0]
    return prompt


def test_an_encoded_clip_is_edited_whole_without_a_mask():
    spec = spec_of(mapped(edited()))

    assert stage_of(spec, "denoise").attr("denoise_strength") == 0.5
    assert stage_of(spec, "latent_mask").attr("shape") == "full"


def test_a_rectangle_pasted_on_an_empty_mask_is_our_rectangle():
    drawn = stage_of(spec_of(mapped(edited({}))), "latent_mask")

    assert [drawn.attr(name) for name in ("shape", "x", "y", "width", "height")] == [
        "rectangle",
        0.5,
        0.125,
        0.25,
        0.5,
    ]


def test_another_way_to_paste_has_no_equal_and_names_what_fails_with_it():
    found = entries(edited({"operation": "xor"}))

    assert (found["66"].state, found["66"].nearest) == ("unmapped", "combine_masks")
    assert found["63"].reasons == ("its mask comes from 66, which has no equal here",)
    assert found["8"].state == found["9"].state == found["11"].state == "unmapped"
    assert found["60"].state == found["62"].state == "mapped"


@pytest.mark.parametrize(
    ("changes", "node_id", "said"),
    [
        ({"n8": {"sampler_name": "dpmpp_2m"}}, "8", "sampler 'dpmpp_2m' is not here; unipc is used"),
        ({"n8": {"scheduler": "karras"}}, "8", "scheduler 'karras'"),
        ({"n8": {"seed": 2**53 + 5}}, "8", "its remainder 5 is used"),
        ({"n8": {"cfg": 0.5}}, "8", "cfg 0.5 is outside 1 to 30 here; 1 is used"),
        ({"n8": {"denoise": 0.5}}, "8", "denoise 0.5 of an empty latent"),
        ({"n8": {"model": ["1", 0]}}, "8", "names no shift"),
        ({"n7": {"batch_size": 4}}, "7", "4 videos of one batch are one here"),
        ({"n10": {"fps": 23.976}}, "10", "are 24 here"),
        ({"n11": {"filename_prefix": "video/%date%/star"}}, "11", "the file is named star"),
        ({"n11": {"format": "webm"}}, "11", "MP4"),
        ({"n1": {"weight_dtype": "fp8_e4m3fn"}}, "1", "number format"),
    ],
)
def test_what_is_done_otherwise_is_said(changes, node_id, said):
    read = read_any(text_to_video(**changes))
    (changed,) = [entry for entry in read.coverage.entries if entry.state == "changed"]

    assert changed.node_id == node_id
    assert any(said in reason for reason in changed.reasons)
    assert [(found.code, found.node_id) for found in read.diagnostics] == [("W_CHANGED", node_id)]
    assert compiling(read.workflow).spec is not None


@pytest.mark.parametrize(
    ("class_type", "nearest"),
    [
        ("KSamplerAdvanced", "generate_video"),
        ("WanFirstLastFrameToVideo", "generate_video"),
        ("LoraLoaderBypass", "lora"),
        ("VHS_VideoCombine", "save_video"),
        ("VHS_LoadVideo", "load_video"),
        ("InvertMask", "latent_mask"),
        ("VLLMOmniMiniMaxH3TemporalMaskGrid", "temporal_mask"),
        ("ModelSamplingFlux", "sampler_settings"),
        ("FluxKontextProThing", None),
    ],
)
def test_a_class_without_an_equal_names_the_nearest(class_type, nearest):
    prompt = {**text_to_video(), "99": {"class_type": class_type, "inputs": {"deep": [1, {"kept": None}]}}}
    read = read_any(prompt)

    assert nearest is None or nearest in CATALOG.nodes
    assert (entries(prompt)["99"].nearest, nearest_type(class_type)) == (nearest, nearest)
    assert [(found.code, found.node_id, found.suggestion) for found in read.diagnostics] == [
        ("W_NO_EQUAL", "99", nearest)
    ]
    assert mapped(prompt)["ext"]["comfyui"]["left_out"] == {"99": prompt["99"]}


def test_nodes_in_a_circle_are_reported():
    prompt = {
        "1": {"class_type": "VAEDecode", "inputs": {"samples": ["2", 0]}},
        "2": {"class_type": "VAEEncode", "inputs": {"pixels": ["1", 0]}},
    }

    assert {entry.state for entry in entries(prompt).values()} == {"unmapped"}


def omni(**inputs: Any) -> dict[str, Any]:
    return {
        "1": {
            "class_type": "VLLMOmniGenerateVideo",
            "inputs": {
                "url": "http://localhost:8000/v1",
                "model": "org/shapes",
                "prompt": "a red star",
                "negative_prompt": "",
                "width": 96,
                "height": 96,
                "fps": 16,
                "duration": 2.8125,
                "sampling_params": ["2", 0],
                **inputs,
            },
        },
        "2": {
            "class_type": "VLLMOmniDiffusionSampling",
            "inputs": {
                "n": 1,
                "num_inference_steps": 6,
                "guidance_scale": 1.0,
                "true_cfg_scale": 1.0,
                "seed": 3,
            },
        },
        "3": {
            "class_type": "SaveVideo",
            "inputs": {"video": ["1", 0], "filename_prefix": "clip", "format": "mp4"},
        },
    }


def test_the_vllm_omni_generate_is_ours():
    prompt = omni(lora=["4", 0], model_params=["5", 0])
    prompt["4"] = {
        "class_type": "VLLMOmniRemoteLoRA",
        "inputs": {"local_path": "/x/neon.safetensors", "name": "n", "scale": 0.5},
    }
    prompt["5"] = {"class_type": "VLLMOmniWanParams", "inputs": {"flow_shift": 3.0}}

    spec = spec_of(mapped(prompt))
    loop = stage_of(spec, "denoise")

    assert (loop.trip_count, loop.attr("seed"), loop.attr("frame_count"), loop.attr("fps")) == (
        6,
        3,
        45,
        16.0,
    )
    assert loop.attr("sigmas")[1] == pytest.approx(3 * 0.8335 / (1 + 2 * 0.8335), abs=1e-3)
    assert stage_of(spec, "stack_adapters").attr("entries") == (("neon", 0.5, 1.0),)


def test_the_vllm_omni_edit_under_a_temporal_mask_is_ours():
    prompt = omni(latent_edit=["6", 0], duration=5.0)
    prompt |= {
        "6": {
            "class_type": "VLLMOmniLatentMaskEditing",
            "inputs": {"source_video": ["7", 0], "video_mask": ["8", 0], "audio_mask": -1},
        },
        "7": {"class_type": "LoadVideo", "inputs": {"file": "shapes-source.mp4"}},
        "8": {
            "class_type": "VLLMOmniMiniMaxH3TemporalMask",
            "inputs": {
                "images": ["9", 0],
                "source_fps": 16,
                "duration": 5,
                "mode": "extension",
                "preserve_fraction": 0.5,
            },
        },
        "9": {"class_type": "GetVideoComponents", "inputs": {"video": ["7", 0]}},
    }

    spec = spec_of(mapped(prompt))

    assert stage_of(spec, "denoise").attr("frame_count") == 81
    assert stage_of(spec, "temporal_mask").attr("ranges") == ((0, 45, 0.0),)
    assert entries(prompt)["1"].state == "changed"


def test_every_mapped_class_has_a_widget_layout_and_every_layout_a_reader():
    assert set(known_classes()) == set(CORE) | set(OMNI)


def test_a_saved_file_keeps_places_groups_notes_and_says_what_was_muted():
    document = saved(
        [
            node(1, "LoadVideo", ["shapes-source.mp4", "image"], outputs="VIDEO", title="My clip"),
            node(2, "SaveVideo", ["clip", "auto", "auto"], inputs=["video:VIDEO:1"]),
            node(3, "Note", ["remember this"]),
            node(4, "SaveVideo", ["muted", "auto", "auto"], inputs=["video:VIDEO:2"], mode=2),
        ],
        [[1, 1, 0, 2, 0, "VIDEO"], [2, 1, 0, 4, 0, "VIDEO"]],
        groups=[{"title": "In", "bounding": [250, -10, 300, 200]}],
    )

    workflow = mapped(document)

    assert workflow["graph"]["nodes"]["1"]["title"] == "My clip"
    assert workflow["graph"]["frames"] == {"group-1": {"title": "In", "nodes": ["1"]}}
    assert workflow["graph"]["notes"] == {"3": {"text": "remember this"}}
    assert workflow["view"]["nodes"]["2"] == {"x": 600, "y": 0, "w": 200, "h": 100}
    assert entries(document)["4"].reasons == ("muted in the file, left out",)
    assert compiling(workflow).spec is not None


def test_the_report_is_text_a_person_can_read():
    text = read_any(
        {**text_to_video(), "99": {"class_type": "KSamplerAdvanced", "inputs": {}}}
    ).coverage.to_text()

    assert text == (
        "unmapped 99 KSamplerAdvanced: no node here does the same (nearest here: generate_video)\n"
        "11 mapped, 0 changed, 1 unmapped\n"
    )


ROUND = {"generate": generating(seed=7), "edit": editing(), "rollout": rolling()}


@pytest.mark.parametrize("name", ROUND)
def test_a_workflow_written_as_a_prompt_and_read_back_is_unchanged(name):
    document = json.loads(json.dumps(ROUND[name]))
    document["graph"]["nodes"]["save"] |= {"title": "The end", "version": 1}
    del document["graph"]["nodes"]["model"]["params"]

    written = write_prompt(document, CATALOG)
    again = read_any(json.loads(json.dumps(written.prompt)))

    assert again.workflow == document
    assert again.coverage.is_complete


def test_a_written_prompt_names_the_classes_and_slots_of_our_pack():
    prompt = write_prompt(generating(), CATALOG).prompt

    assert prompt is not None
    assert prompt["generate"]["class_type"] == "RushesGenerateVideo"
    assert prompt["generate"]["inputs"]["model"] == ["model", 0]
    assert prompt["generate"]["inputs"]["frame_count"] == 45
    assert prompt["save"]["_meta"]["title"] == "Save video"


def test_a_written_prompt_expands_subgraphs_to_the_same_program():
    document = looking(text="a star", seed=3)

    prompt = write_prompt(document, CATALOG).prompt
    again = mapped(json.loads(json.dumps(prompt)))

    assert spec_of(again).spec_hash == spec_of(document).spec_hash


def test_what_a_prompt_cannot_hold_is_named():
    document = generating()
    document["graph"]["nodes"]["save"]["mode"] = "muted"
    document["graph"]["nodes"]["theirs"] = {"type": "their_node"}

    written = write_prompt(document, CATALOG)

    left_out = {
        entry.node_id: entry.reasons[0] for entry in written.coverage.entries if entry.state == "unmapped"
    }
    assert left_out == {
        "save": "it is muted, and a prompt holds only what runs",
        "theirs": "its type is not in the catalog",
    }
    assert written.prompt is not None
    assert set(written.prompt) == {"model", "prompt", "generate"}


def plain(prompt: dict[str, Any]) -> dict[str, Any]:
    """A prompt of our pack as ComfyUI's page sends it: without what `write_prompt` adds."""
    return {node_id: {**one, "_meta": {"title": one["_meta"]["title"]}} for node_id, one in prompt.items()}


def test_a_prompt_of_our_pack_from_comfyuis_page_is_read_by_the_catalog():
    document = generating(seed=7)
    prompt = write_prompt(document, CATALOG).prompt
    assert prompt is not None

    read = read_any(plain(prompt), catalog=CATALOG)

    assert read.coverage.is_complete
    assert spec_of(read.workflow).spec_hash == spec_of(document).spec_hash


def test_without_a_catalog_it_has_no_equal():
    prompt = write_prompt(generating(), CATALOG).prompt
    assert prompt is not None

    assert {entry.state for entry in read_any(plain(prompt)).coverage.entries} == {"unmapped"}


def test_our_nodes_among_comfyuis_own_meet_them():
    prompt = plain(write_prompt(generating(), CATALOG).prompt or {})
    del prompt["save"]
    prompt["r"] = {"class_type": "RushesRenderImage", "inputs": {"video": ["generate", 0]}}
    prompt["c"] = {"class_type": "CreateVideo", "inputs": {"images": ["r", 0], "fps": ["r", 1]}}
    prompt["s"] = {"class_type": "SaveVideo", "inputs": {"video": ["c", 0], "filename_prefix": "video"}}

    read = read_any(prompt, catalog=CATALOG)

    assert read.diagnostics == ()
    assert spec_of(read.workflow).outputs == (OutputSpec("s", "generate.video", "save_video"),)


def test_the_examples_of_our_pack_open_as_workflows(root: Path) -> None:
    paths = sorted((root / "nodes" / "comfy" / "example_workflows").glob("*.json"))

    assert paths
    for path in paths:
        read = read_any(json.loads(path.read_text(encoding="utf-8")), catalog=CATALOG)
        assert read.coverage.is_complete, read.coverage.to_text()
        assert compiling(read.workflow).spec is not None


CLASS_NAMES = st.sampled_from([*CORE, *OMNI, "NoSuchNode", "RushesPrompt"])
VALUES = st.one_of(JSON, st.tuples(st.sampled_from("12345"), st.integers(-1, 3)).map(list))
INPUT_NAMES = [
    "model",
    "clip",
    "positive",
    "negative",
    "latent_image",
    "samples",
    "images",
    "video",
    "seed",
    "steps",
]
PROMPTS = st.dictionaries(
    st.sampled_from("12345"),
    st.fixed_dictionaries(
        {
            "class_type": CLASS_NAMES,
            "inputs": st.dictionaries(st.sampled_from(INPUT_NAMES) | st.text(max_size=4), VALUES, max_size=6),
        }
    ),
    max_size=5,
)


def check(document):
    read = read_any(document, catalog=CATALOG)
    for found in read.diagnostics:
        assert found.code in CODES
        assert len(found.message) < 1500
        json.dumps(found.to_json(), allow_nan=False)
    if read.workflow is not None:
        compiling(read.workflow)
    return read


@seed(11)
@settings(SETTINGS, max_examples=120)
@given(PROMPTS)
def test_any_prompt_is_answered_and_every_node_of_it_covered(prompt):
    read = check(prompt)

    if read.workflow is not None:
        assert {entry.node_id for entry in read.coverage.entries} == set(prompt)


SAVED_NODES = st.fixed_dictionaries(
    {"id": st.integers(1, 5), "type": st.sampled_from([*CORE, "Reroute", "PrimitiveNode", "sub", "Note"])},
    optional={
        "mode": st.sampled_from([0, 2, 4, "x"]),
        "inputs": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(INPUT_NAMES)},
                optional={
                    "link": st.integers(0, 4) | JSON,
                    "type": st.sampled_from(["*", "MODEL", 0]),
                    "widget": st.just({}),
                },
            ),
            max_size=4,
        ),
        "widgets_values": st.lists(JSON, max_size=4) | JSON,
        "order": st.integers(-5, 5) | JSON,
        "properties": JSON,
        "pos": JSON,
    },
)
SAVED_LINKS = st.tuples(
    st.integers(0, 4),
    st.integers(-20, 5) | st.just(-10),
    st.integers(0, 2),
    st.integers(-20, 5),
    st.integers(0, 2),
    JSON,
).map(list)


@seed(12)
@settings(SETTINGS, max_examples=120, suppress_health_check=list(HealthCheck))
@given(
    st.lists(SAVED_NODES | JSON, max_size=6),
    st.lists(SAVED_LINKS | JSON, max_size=6),
    st.lists(SAVED_NODES, max_size=4),
    st.lists(SAVED_LINKS, max_size=4),
    JSON,
)
def test_any_saved_file_is_answered(nodes, links, inner, inner_links, anything):
    sub = {
        "id": "sub",
        "nodes": inner,
        "links": inner_links,
        "inputs": [{"name": "seed"}],
        "outputs": anything,
    }
    check(
        {"nodes": nodes, "links": links, "definitions": {"subgraphs": [sub, anything]}, "groups": [anything]}
    )


@seed(13)
@settings(SETTINGS, max_examples=80)
@given(JSON)
def test_anything_is_answered_at_the_door(document):
    check(document)
