"""LoRA files of three dialects, all of one delta, and files that must be refused."""

import json

import pytest
import torch
from safetensors.torch import save_file

from rushes.backend.models.adapters.adapter import AdapterError
from rushes.backend.models.adapters.dialect import Targets
from rushes.backend.models.adapters.read import read_adapter

TARGETS = Targets(
    shapes={"blocks.0.attn1.to_q": (6, 4), "blocks.0.attn1.to_out.0": (6, 4), "blocks.1.ffn.net.2": (6, 4)},
    originals={
        "blocks.0.self_attn.q": "blocks.0.attn1.to_q",
        "blocks.0.self_attn.o": "blocks.0.attn1.to_out.0",
        "blocks.1.ffn.2": "blocks.1.ffn.net.2",
    },
)
DOWN, UP = torch.randn(2, 4), torch.randn(6, 2)


def header(**config):
    return {
        "lora_adapter_metadata": json.dumps({f"transformer.{key}": value for key, value in config.items()})
    }


def read(tmp_path, tensors, metadata=None):
    path = tmp_path / "glow.safetensors"
    save_file({key: value.clone() for key, value in tensors.items()}, path, metadata)
    return read_adapter(path, TARGETS, device="cpu", dtype=torch.float32)


def pairs(stem, down="lora_A", up="lora_B"):
    return {f"{stem}.{down}.weight": DOWN, f"{stem}.{up}.weight": UP}


ALPHA = {"alpha": torch.tensor(1.0)}


@pytest.mark.parametrize(
    ("tensors", "metadata", "scale"),
    [
        (pairs("transformer.blocks.0.attn1.to_q"), header(r=2, lora_alpha=1), 0.5),
        (pairs("transformer.blocks.0.attn1.to_q"), None, 1.0),
        (pairs("blocks.0.attn1.to_q"), header(r=2, lora_alpha=4, use_rslora=True), 4 / 2**0.5),
        (
            pairs("transformer.blocks.0.attn1.to_q"),
            header(r=2, lora_alpha=1, alpha_pattern={"to_q": 8, "to_out.0": 2}),
            4.0,
        ),
        (pairs("base_model.model.blocks.0.attn1.to_q", "lora_A.default", "lora_B.default"), None, 1.0),
        (pairs("diffusion_model.blocks.0.self_attn.q"), None, 1.0),
        (
            pairs("diffusion_model.blocks.0.self_attn.q", "lora_down", "lora_up")
            | {"diffusion_model.blocks.0.self_attn.q.alpha": ALPHA["alpha"]},
            None,
            0.5,
        ),
        (pairs("diffusion_model.blocks.0.attn1.to_q"), None, 1.0),
        (
            pairs("lora_unet_blocks_0_self_attn_q", "lora_down", "lora_up")
            | {"lora_unet_blocks_0_self_attn_q.alpha": ALPHA["alpha"]},
            None,
            0.5,
        ),
        (pairs("lora_unet_blocks_0_attn1_to_q", "lora_down", "lora_up"), None, 1.0),
    ],
    ids=[
        "peft",
        "bare-peft",
        "rslora",
        "alpha-pattern",
        "base-model",
        "comfy",
        "comfy-alpha",
        "comfy-own",
        "kohya",
        "kohya-own",
    ],
)
def test_each_dialect_gives_the_same_delta(tmp_path, tensors, metadata, scale):
    adapter = read(tmp_path, tensors, metadata)

    assert adapter.adapter_id == "glow"
    assert list(adapter.deltas) == ["blocks.0.attn1.to_q"]
    delta = adapter.deltas["blocks.0.attn1.to_q"]
    assert torch.equal(delta.down, DOWN)
    assert torch.equal(delta.up, UP)
    assert delta.scale == pytest.approx(scale)


def test_original_names_with_digits_and_swapped_norms_find_their_layers(tmp_path):
    adapter = read(tmp_path, pairs("lora_unet_blocks_1_ffn_2", "lora_down", "lora_up"))

    assert list(adapter.deltas) == ["blocks.1.ffn.net.2"]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (pairs("transformer.blocks.9.attn1.to_q"), r"blocks\.9\.attn1\.to_q\.lora_A\.weight, .*lora_B"),
        ({"transformer.blocks.0.attn1.to_q.lora_magnitude_vector": UP}, "lora_magnitude_vector"),
        (pairs("text_encoder.layers.0.q"), r"text encoder parts text_encoder\.layers\.0\.q\.lora_A"),
        ({"transformer.blocks.0.attn1.to_out.0.lora_A.weight": DOWN}, r"down and an up.*to_out\.0"),
        (
            {
                "transformer.blocks.0.attn1.to_out.0.lora_A.weight": UP,
                "transformer.blocks.0.attn1.to_out.0.lora_B.weight": UP,
            },
            r"\[R, 4\] and \[6, R\], got \[6, 2\]",
        ),
        (
            {
                "transformer.blocks.0.attn1.to_out.0.lora_A.weight": DOWN.to(torch.float8_e4m3fn),
                "transformer.blocks.0.attn1.to_out.0.lora_B.weight": UP,
            },
            "F32, F16, BF16, others are",
        ),
    ],
    ids=["unmatched", "dora", "text", "half", "shape", "fp8"],
)
def test_a_file_with_more_than_we_understand_is_refused_with_its_keys(tmp_path, extra, message):
    with pytest.raises(AdapterError, match=message):
        read(tmp_path, pairs("transformer.blocks.0.attn1.to_q") | extra)


def test_full_deltas_of_a_comfyui_file_are_refused_by_name(tmp_path):
    tensors = pairs("diffusion_model.blocks.0.self_attn.q")
    tensors["diffusion_model.blocks.0.self_attn.q.diff_b"] = torch.zeros(6)

    with pytest.raises(AdapterError, match=r"self_attn\.q\.diff_b"):
        read(tmp_path, tensors)


def test_a_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(AdapterError, match="must be a LoRA file"):
        read(tmp_path, {"blocks.0.attn1.to_q.hada_w1_a": DOWN})
    path = tmp_path / "pickle.safetensors"
    path.write_bytes(b"PK\x03\x04 not tensors at all")
    with pytest.raises(AdapterError, match="must be a safetensors file"):
        read_adapter(path, TARGETS, device="cpu", dtype=torch.float32)
