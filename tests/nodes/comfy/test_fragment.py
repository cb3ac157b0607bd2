"""Wires carry pieces of a workflow that merge without doubles."""

from typing import Any

import pytest

from rushes.compiler.compile import compile_workflow
from rushes.nodes.catalog import load_catalog
from rushes.nodes.comfy.fragment import Fragment, Wire
from tests.compiler.target import TARGET
from tests.nodes.comfy.standin import ComfyUI


def made(comfyui: ComfyUI, class_name: str, **given: Any) -> tuple[Any, ...]:
    node = comfyui.classes[class_name]()
    outputs: tuple[Any, ...] = node.build(**given)
    return outputs


def video(comfyui: ComfyUI, **given: Any) -> Wire:
    (model,) = made(comfyui, "RushesLoadModel")
    (prompt,) = made(comfyui, "RushesPrompt", text="a small green star")
    wire: Wire = made(comfyui, "RushesGenerateVideo", model=model, prompt=prompt, **given)[0]
    return wire


def test_equal_pieces_have_equal_ids_and_merge_into_one(comfyui: ComfyUI):
    first, second = video(comfyui, seed=3), video(comfyui, seed=3)
    assert first == second
    assert hash(first) == hash(second)
    both = comfyui.part("fragment").merge([first.fragment, second.fragment])
    assert both == first.fragment
    assert len(both.nodes) == 3


def test_what_two_branches_share_is_there_once(comfyui: ComfyUI):
    first, second = video(comfyui, seed=1), video(comfyui, seed=2)
    both: Fragment = comfyui.part("fragment").merge([first.fragment, second.fragment])
    assert sorted(node.type_id for _, node in both.nodes) == [
        "generate_video",
        "generate_video",
        "load_model",
        "prompt",
    ]


def test_an_id_follows_from_content_alone(comfyui: ComfyUI):
    (prompt,) = made(comfyui, "RushesPrompt", text="a small green star", negative="")
    assert prompt.source.node_id == "prompt-543e20bae407"
    (other,) = made(comfyui, "RushesPrompt", text="a small green ring", negative="")
    assert other.source.node_id != prompt.source.node_id


def test_a_default_left_out_and_a_default_given_are_the_same(comfyui: ComfyUI):
    assert video(comfyui) == video(comfyui, seed=0, fps=16.0, frame_count=45)


def test_a_fragment_is_a_workflow_that_compiles(comfyui: ComfyUI):
    (lora,) = made(comfyui, "RushesLora", file="neon", strength=0.5)
    (sampler,) = made(comfyui, "RushesSamplerSettings", step_count=4)
    wire = video(comfyui, adapters=lora, sampler=sampler)
    document = wire.fragment.to_document("t")
    compiled = compile_workflow(document, load_catalog(), TARGET, targets=[wire.source.node_id])
    assert [found.code for found in compiled.diagnostics if found.severity == "error"] == []
    assert compiled.spec is not None


def test_a_wire_is_short_in_an_error_report(comfyui: ComfyUI):
    assert str(video(comfyui)).startswith("<Rushes VIDEO of generate_video-")


def test_a_wire_of_another_kind_is_refused_by_name(comfyui: ComfyUI):
    (prompt,) = made(comfyui, "RushesPrompt")
    with pytest.raises(comfyui.part("failure").RushesError, match="model: MODEL was expected, got PROMPT"):
        made(comfyui, "RushesGenerateVideo", model=prompt, prompt=prompt)


def test_a_socket_left_open_is_named(comfyui: ComfyUI):
    with pytest.raises(comfyui.part("failure").RushesError, match="model must be connected"):
        made(comfyui, "RushesGenerateVideo")
