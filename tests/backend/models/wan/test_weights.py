"""Weights in the layouts people have, and files that must be refused before memory is taken."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from rushes.backend.models.family import FamilyError
from rushes.backend.models.tensor_file import TensorFileError, read_tensor_file
from rushes.backend.models.wan.names import original_to_ours
from rushes.backend.models.wan.transformer import WanTransformer, WanTransformerConfig
from rushes.backend.models.wan.weights import KEPT_FP32, load_module


@pytest.fixture
def build(plain_folder):
    config = WanTransformerConfig.from_json(
        json.loads((plain_folder / "transformer" / "config.json").read_text())
    )
    return lambda: WanTransformer(config)


@pytest.fixture
def state(plain_folder):
    return load_file(plain_folder / "transformer" / "diffusion_pytorch_model.safetensors")


def load(build, place, dtype=torch.float32):
    return load_module(build, place, device=torch.device("cpu"), dtype=dtype, kept_fp32=KEPT_FP32)


def test_a_folder_of_shards_equals_one_file(build, folder, state):
    assert len(list((folder / "transformer").glob("*.safetensors"))) > 1

    loaded = load(build, folder / "transformer").state_dict()

    assert loaded.keys() == state.keys()
    assert all(torch.equal(loaded[name], value) for name, value in state.items())


@pytest.mark.parametrize("prefix", ["", "model.diffusion_model."])
def test_a_single_file_with_original_names_equals_the_folder(build, state, tmp_path, prefix):
    originals = {own: original for original, own in original_to_ours(state).items()}
    assert originals["blocks.1.norm2.weight"] == "blocks.1.norm3.weight"
    assert originals["condition_embedder.time_proj.bias"] == "time_projection.1.bias"
    assert originals["scale_shift_table"] == "head.modulation"
    assert len(originals) == len(state)
    path = tmp_path / "wan.safetensors"
    save_file({prefix + originals[name]: value for name, value in state.items()}, path)

    loaded = load(build, path).state_dict()

    assert all(torch.equal(loaded[name], value) for name, value in state.items())


def test_bf16_leaves_in_fp32_what_shows(build, plain_folder):
    module = load(build, plain_folder / "transformer", torch.bfloat16)

    kept = {name for name, value in module.state_dict().items() if value.dtype == torch.float32}
    assert "scale_shift_table" in kept
    assert "blocks.0.norm2.weight" in kept
    assert "condition_embedder.time_embedder.linear_1.weight" in kept
    assert "blocks.0.attn1.to_q.weight" not in kept
    assert "blocks.0.attn1.norm_q.weight" not in kept


def refused(build, state, tmp_path, message, error=FamilyError):
    path = tmp_path / "wan.safetensors"
    save_file(state, path)
    with pytest.raises(error, match=message):
        load(build, path)


def test_unknown_and_missing_keys_are_all_listed(build, state, tmp_path):
    state["blocks.0.attn1.to_q.scale_weight"] = torch.ones(1)
    del state["proj_out.bias"]

    refused(
        build,
        state,
        tmp_path,
        r"1 unknown \(blocks\.0\.attn1\.to_q\.scale_weight\) and 1 missing \(proj_out\.bias\)",
    )


def test_a_shape_that_is_not_the_configs_is_refused(build, state, tmp_path):
    state["proj_out.bias"] = torch.zeros(7)

    refused(build, state, tmp_path, r"proj_out\.bias \[7\] for \[64\]")


def test_fp8_is_refused_by_name(build, state, tmp_path):
    state["proj_out.weight"] = state["proj_out.weight"].to(torch.float8_e4m3fn)

    refused(build, state, tmp_path, r"F32, F16, BF16, others are proj_out\.weight")


def test_a_file_cut_short_is_refused_before_it_is_read(build, plain_folder, tmp_path):
    whole = plain_folder / "transformer" / "diffusion_pytorch_model.safetensors"
    cut = tmp_path / "wan.safetensors"
    cut.write_bytes(whole.read_bytes()[:-1000])

    with pytest.raises(TensorFileError, match=r"wan\.safetensors: must hold \d+ bytes"):
        load(build, cut)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, "must take 2 x F32, got 4 bytes"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, "must start at byte 0, got 4"),
        ({"a": {"dtype": "F4", "shape": [1], "data_offsets": [0, 4]}}, "known dtype"),
        ({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, "known dtype and a shape"),
        ({"a": {"shape": [1]}}, "must have dtype"),
        (
            {"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}},
            "must hold 4398046511104 bytes",
        ),
        ([1], "must be an object, got list"),
    ],
    ids=["size", "gap", "dtype", "shape", "fields", "huge", "list"],
)
def test_a_header_that_does_not_add_up_is_refused(tmp_path, header, message):
    data = json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(data).to_bytes(8, "little") + data + bytes(8 if "gap" in message else 4))

    with pytest.raises(TensorFileError, match=message):
        read_tensor_file(path)


def test_a_folder_without_one_clear_weights_file_is_refused(build, plain_folder, tmp_path):
    for name in ("a.safetensors", "b.safetensors"):
        shutil.copy(plain_folder / "transformer" / "diffusion_pytorch_model.safetensors", tmp_path / name)

    with pytest.raises(FamilyError, match="one safetensors file or an index, got 2 files"):
        load(build, tmp_path)


def test_an_index_that_points_elsewhere_is_refused(build, tmp_path):
    index = {"weight_map": {"proj_out.bias": "../secret.safetensors"}}
    (tmp_path / "diffusion_pytorch_model.safetensors.index.json").write_text(json.dumps(index))

    with pytest.raises(FamilyError, match=r"beside it, got \.\./secret"):
        load(build, tmp_path)


@pytest.mark.parametrize("is_twice", [True, False])
def test_a_parameter_that_files_hold_under_another_name_is_found(build, state, tmp_path, is_twice):
    state["head.copy"] = state["proj_out.bias"].clone()
    if not is_twice:
        del state["proj_out.bias"]
    save_file(state, tmp_path / "wan.safetensors")

    module = load_module(
        build,
        tmp_path,
        device=torch.device("cpu"),
        dtype=torch.float32,
        copies={"head.copy": "proj_out.bias"},
    )

    assert torch.equal(module.proj_out.bias, state["head.copy"])
