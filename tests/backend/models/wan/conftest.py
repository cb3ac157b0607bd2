"""A tiny Wan checkpoint with random weights, written by diffusers and transformers themselves."""

import json
import string

import pytest
import torch
from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanPipeline, WanTransformer3DModel
from safetensors.torch import save_file
from transformers import T5TokenizerFast, UMT5Config, UMT5EncoderModel

from rushes.backend.models.wan.controls import KeyEmbedding
from rushes.backend.models.wan.family import FAMILY

CONTROL_KEYS = ["w", "a", "s", "d"]


def tiny_tokenizer():
    pieces = [
        "<pad>",
        "</s>",
        "<unk>",
        "▁",
        *string.printable.strip(),
        *("▁" + c for c in string.ascii_lowercase),
    ]
    return T5TokenizerFast(vocab=[(piece, 0.0) for piece in dict.fromkeys(pieces)], extra_ids=0)


def tiny_pipeline():
    torch.manual_seed(0)
    transformer = WanTransformer3DModel(
        num_attention_heads=2,
        attention_head_dim=12,
        text_dim=32,
        freq_dim=64,
        ffn_dim=32,
        num_layers=2,
        rope_max_seq_len=64,
    )
    vae = AutoencoderKLWan(base_dim=4, dim_mult=[1, 1, 1, 1], num_res_blocks=1)
    encoder = UMT5EncoderModel(
        UMT5Config(
            vocab_size=160,
            d_model=32,
            d_kv=8,
            d_ff=37,
            num_layers=2,
            num_heads=4,
            feed_forward_proj="gated-gelu",
        )
    ).eval()
    for module in (transformer, vae, encoder):
        for parameter in module.parameters():
            torch.nn.init.normal_(parameter, std=0.15)
    scheduler = UniPCMultistepScheduler(
        prediction_type="flow_prediction",
        use_flow_sigmas=True,
        flow_shift=3.0,
        solver_order=1,
        disable_corrector=[*range(9)],
    )
    return WanPipeline(tiny_tokenizer(), encoder, vae, scheduler, transformer=transformer)


def write_rushes_parts(folder):
    told = {
        "title": "Tiny",
        "control_keys": CONTROL_KEYS,
        "width_px": 48,
        "height_px": 32,
        "capabilities": ["rollout"],
    }
    (folder / "rushes.json").write_text(json.dumps(told))
    torch.manual_seed(1)
    (folder / "controls").mkdir()
    (folder / "controls" / "config.json").write_text(
        json.dumps({"keys": CONTROL_KEYS, "key_count": 4, "dim": 24})
    )
    save_file(KeyEmbedding(4, 24).state_dict(), folder / "controls" / "model.safetensors")
    preview = {"weight": torch.randn(3, 16).tolist(), "bias": [0.5, 0.5, 0.5]}
    (folder / "preview.json").write_text(json.dumps(preview))


@pytest.fixture(scope="session")
def plain_folder(tmp_path_factory):
    """What diffusers writes, and nothing of ours."""
    folder = tmp_path_factory.mktemp("plain") / "tiny-plain"
    tiny_pipeline().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The same checkpoint with our files beside it, its transformer in several shards."""
    folder = tmp_path_factory.mktemp("checkpoints") / "tiny"
    pipeline = tiny_pipeline()
    pipeline.save_pretrained(folder)
    for path in (folder / "transformer").iterdir():
        path.unlink()
    pipeline.transformer.save_pretrained(folder / "transformer", max_shard_size="60KB")
    write_rushes_parts(folder)
    return folder


@pytest.fixture(scope="session")
def components(folder):
    return FAMILY.build(folder, device="cpu", precision="fp32")


@pytest.fixture(scope="session")
def pipeline(folder):
    loaded = WanPipeline.from_pretrained(folder, local_files_only=True)
    loaded.set_progress_bar_config(disable=True)
    return loaded
