"""Chunk after chunk with a ring of keys and values, against one pass under a block-causal mask."""

import pytest
import torch

from rushes.backend.models.layers.ring_kv import KVShape, RingKVCache
from rushes.backend.models.wan.controls import KeyEmbedding
from rushes.backend.models.wan.transformer import WanTransformer, WanTransformerConfig

CONFIG = WanTransformerConfig(
    num_attention_heads=2, attention_head_dim=12, text_dim=32, freq_dim=64, ffn_dim=32, num_layers=3
)
TOKENS = 4 * 3  # of one latent frame
CHUNK = 2


@pytest.fixture
def model():
    torch.manual_seed(0)
    transformer = WanTransformer(CONFIG).eval()
    for parameter in transformer.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return transformer.requires_grad_(False)


@pytest.fixture
def text():
    return torch.randn(2, 20, 32, generator=torch.Generator().manual_seed(2))


def latent_of(frames, seed=1):
    return torch.randn(2, 16, frames, 8, 6, generator=torch.Generator().manual_seed(seed))


def new_cache(sink, window):
    shape = KVShape(layers=3, lanes=2, tokens_per_frame=TOKENS, heads=2, head_dim=12)
    return RingKVCache(shape, sink_frames=sink, window_frames=window)


def block_causal(frames):
    block = torch.arange(frames * TOKENS) // (CHUNK * TOKENS)
    return block[:, None] >= block[None]


def chunks(latent):
    return latent.split(CHUNK, dim=2)


def test_chunks_equal_one_masked_pass_while_nothing_was_forgotten(model, text):
    latent, timestep = latent_of(8), torch.full((2,), 400.0)
    keys = KeyEmbedding(4, 24).requires_grad_(False)(torch.eye(8)[None, :, :4].expand(2, 8, 4))
    cache, got = new_cache(sink=2, window=6), []

    for chunk, chunk_keys in zip(chunks(latent), keys.split(CHUNK, dim=1), strict=True):
        got.append(model(chunk, timestep, text, keys=chunk_keys, cache=cache))
        model(chunk, timestep, text, keys=chunk_keys, cache=cache, commit=True)

    whole = model(latent, timestep, text, keys=keys, attention_mask=block_causal(8))
    torch.testing.assert_close(torch.cat(got, dim=2), whole, atol=1e-5, rtol=0)


def test_a_commit_pass_predicts_what_a_denoise_pass_predicts_also_while_the_ring_evicts(model, text):
    cache, timestep = new_cache(sink=1, window=3), torch.zeros(2)

    for chunk in chunks(latent_of(12)):
        plain = model(chunk, timestep, text, cache=cache)
        assert torch.equal(model(chunk, timestep, text, cache=cache, commit=True), plain)


def test_after_an_eviction_the_past_is_sink_and_window_at_the_positions_they_are_kept_at(model, text):
    """Each layer's keys see what was kept when they were made, so one layer can be compared to one pass."""
    torch.manual_seed(0)
    one_layer = WanTransformer(
        WanTransformerConfig(
            num_attention_heads=2, attention_head_dim=12, text_dim=32, freq_dim=64, ffn_dim=32, num_layers=1
        )
    ).requires_grad_(False)
    shape = KVShape(layers=1, lanes=2, tokens_per_frame=TOKENS, heads=2, head_dim=12)
    cache = RingKVCache(shape, sink_frames=1, window_frames=3)
    latent, timestep = latent_of(10), torch.zeros(2)
    for chunk in chunks(latent)[:4]:
        one_layer(chunk, timestep, text, cache=cache, commit=True)

    got = one_layer(latent[:, :, 8:], timestep, text, cache=cache)

    remembered = latent[:, :, [0, 5, 6, 7, 8, 9]]
    torch.testing.assert_close(got, one_layer(remembered, timestep, text)[:, :, 4:], atol=1e-5, rtol=0)


def test_denoising_leaves_the_store_as_it_was(model, text):
    cache = new_cache(sink=1, window=3)
    for index, chunk in enumerate(chunks(latent_of(10))):
        before = cache.state_dict()
        model(chunk + index, torch.full((2,), 800.0), text, cache=cache)
        after = cache.state_dict()
        assert all(torch.equal(before[name], after[name]) for name in ("keys", "values"))
        model(chunk, torch.zeros(2), text, cache=cache, commit=True)


def test_a_rollout_resumed_from_its_state_is_bit_equal(model, text):
    cache, timestep = new_cache(sink=1, window=3), torch.zeros(2)
    for chunk in chunks(latent_of(8)):
        model(chunk, timestep, text, cache=cache, commit=True)
    resumed = new_cache(sink=1, window=3)
    resumed.load_state(cache.state_dict())

    following = latent_of(2, seed=9)

    assert torch.equal(
        model(following, timestep, text, cache=resumed), model(following, timestep, text, cache=cache)
    )


def test_each_lane_has_a_history_of_its_own(model, text):
    latent, timestep = latent_of(8), torch.zeros(2)
    both = new_cache(sink=1, window=3)
    alone_shape = KVShape(layers=3, lanes=1, tokens_per_frame=TOKENS, heads=2, head_dim=12)
    alone = RingKVCache(alone_shape, sink_frames=1, window_frames=3)
    for chunk in chunks(latent)[:3]:
        model(chunk, timestep, text, cache=both, commit=True)
        model(chunk[1:], timestep[1:], text[1:], cache=alone, commit=True)

    last = latent[:, :, 6:]
    torch.testing.assert_close(
        model(last, timestep, text, cache=both)[1:],
        model(last[1:], timestep[1:], text[1:], cache=alone),
        atol=1e-5,
        rtol=0,
    )
