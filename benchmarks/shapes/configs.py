"""The sizes of the shipped model, as the JSON that diffusers and transformers read."""

from __future__ import annotations

from typing import Any

LATENT_CHANNELS = 16
LATENT_SIDE = 12
TEXT_DIM = 96
MODEL_DIM = 256
KEY_COUNT = 4

TRANSFORMER: dict[str, Any] = {
    "_class_name": "WanTransformer3DModel",
    "_diffusers_version": "0.42.1",
    "patch_size": [1, 2, 2],
    "num_attention_heads": 4,
    "attention_head_dim": 64,
    "in_channels": LATENT_CHANNELS,
    "out_channels": LATENT_CHANNELS,
    "text_dim": TEXT_DIM,
    "freq_dim": 256,
    "ffn_dim": 896,
    "num_layers": 8,
    "cross_attn_norm": True,
    "qk_norm": "rms_norm_across_heads",
    "eps": 1e-06,
    "image_dim": None,
    "added_kv_proj_dim": None,
    "rope_max_seq_len": 1024,
    "pos_embed_seq_len": None,
}

VAE: dict[str, Any] = {
    "_class_name": "AutoencoderKLWan",
    "_diffusers_version": "0.42.1",
    "base_dim": 24,
    "decoder_base_dim": 32,
    "z_dim": LATENT_CHANNELS,
    "dim_mult": [1, 2, 2],
    "num_res_blocks": 1,
    "attn_scales": [],
    "temperal_downsample": [True, True],
    "dropout": 0.0,
    "latents_mean": [0.0] * LATENT_CHANNELS,
    "latents_std": [1.0] * LATENT_CHANNELS,
    "is_residual": False,
    "in_channels": 12,
    "out_channels": 12,
    "patch_size": 2,
    "scale_factor_temporal": 4,
    "scale_factor_spatial": 8,
}

SCHEDULER: dict[str, Any] = {
    "_class_name": "UniPCMultistepScheduler",
    "_diffusers_version": "0.42.1",
    "num_train_timesteps": 1000,
    "prediction_type": "flow_prediction",
    "use_flow_sigmas": True,
    "flow_shift": 3.0,
    "solver_order": 1,
    "solver_type": "bh2",
    "predict_x0": True,
    "lower_order_final": True,
    "disable_corrector": list(range(64)),
    "final_sigmas_type": "zero",
}


def text_config(vocabulary_size: int) -> dict[str, Any]:
    """Arguments of transformers' UMT5Config."""
    return {
        "vocab_size": vocabulary_size,
        "d_model": TEXT_DIM,
        "d_kv": 24,
        "d_ff": 256,
        "num_layers": 2,
        "num_heads": 4,
        "relative_attention_num_buckets": 32,
        "relative_attention_max_distance": 64,
        "dropout_rate": 0.0,
        "feed_forward_proj": "gated-gelu",
        "is_encoder_decoder": False,
        "use_cache": False,
        "tie_word_embeddings": False,
        "pad_token_id": 0,
        "eos_token_id": 1,
    }


RUSHES: dict[str, Any] = {
    "title": "Shapes",
    "sizes_fixed": True,
    "width_px": 96,
    "height_px": 96,
    "fps": 16,
    "frame_count_default": 45,
    "frame_count_max": 93,
    "chunk_latent_frames": 3,
    "step_count": 4,
    "flow_shift": 3.0,
    "guidance_scale": 1.0,
    "control_keys": ["w", "a", "s", "d"],
    "capabilities": ["per_token_timesteps", "rollout", "edit", "adapters", "start_image"],
}

MODEL_INDEX: dict[str, Any] = {
    "_class_name": "WanPipeline",
    "_diffusers_version": "0.42.1",
    "boundary_ratio": None,
    "expand_timesteps": False,
    "scheduler": ["diffusers", "UniPCMultistepScheduler"],
    "text_encoder": ["transformers", "UMT5EncoderModel"],
    "tokenizer": ["transformers", "T5TokenizerFast"],
    "transformer": ["diffusers", "WanTransformer3DModel"],
    "transformer_2": [None, None],
    "vae": ["diffusers", "AutoencoderKLWan"],
}
