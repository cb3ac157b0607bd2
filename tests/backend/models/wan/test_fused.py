"""The blocks through our kernels against the blocks in plain PyTorch; interpreted without a GPU."""

import pytest
import torch

from rushes.backend.models.adapters.adapter import Adapter, LowRank
from rushes.backend.models.adapters.lanes import stack_lanes
from rushes.backend.models.layers.ring_kv import KVShape, RingKVCache
from rushes.backend.models.wan.transformer import WanTransformer, WanTransformerConfig

pytest.importorskip("triton")

CONFIG = WanTransformerConfig(
    num_attention_heads=2, attention_head_dim=12, text_dim=32, freq_dim=64, ffn_dim=40, num_layers=2
)
FRAMES, TOKENS = 3, 2 * 2
TIMESTEPS = {
    "per sample": torch.tensor([700.0, 300.0]),
    "per latent frame": torch.rand(2, FRAMES, generator=torch.Generator().manual_seed(3)) * 1000,
    "per token": torch.rand(2, FRAMES * TOKENS, generator=torch.Generator().manual_seed(4)) * 1000,
}


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request, monkeypatch) -> str:
    if (request.param == "cuda") != torch.cuda.is_available():
        pytest.skip("kernels are interpreted where there is no GPU, and compiled where there is one")
    # The plain patch embedding is a convolution, which cuDNN rounds to tf32 unless told not to.
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    return request.param


def transformer(device: str) -> WanTransformer:
    torch.manual_seed(0)
    made = WanTransformer(CONFIG).eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return made.to(device).requires_grad_(False)


@pytest.fixture
def plain(device):
    return transformer(device)


@pytest.fixture
def fused(device):
    made = transformer(device)
    made.use_kernels(True)
    return made


def drawn(device: str, *shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(device)


def latent(device: str, frames: int = FRAMES, seed: int = 1) -> torch.Tensor:
    return drawn(device, 2, 16, frames, 4, 4, seed=seed)


def assert_near(got: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(got, wanted, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("per", TIMESTEPS)
@torch.no_grad()
def test_a_forward_is_the_plain_one(plain, fused, device, per):
    given = latent(device), TIMESTEPS[per].to(device), drawn(device, 2, 20, 32, seed=2)

    assert_near(fused(*given), plain(*given))


@torch.no_grad()
def test_lane_adapters_reach_every_layer(plain, fused, device):
    names = [f"blocks.{block}.{layer}" for block in range(2) for layer in ADAPTED]
    deltas = {name: low_rank(plain.get_submodule(name), device, seed) for seed, name in enumerate(names)}
    lanes = stack_lanes([[(Adapter("a", deltas), 0.7)], []])
    given = latent(device), TIMESTEPS["per sample"].to(device), drawn(device, 2, 20, 32, seed=2)

    adapted = plain(*given, adapters=lanes)
    assert_near(fused(*given, adapters=lanes), adapted)
    assert not torch.allclose(adapted[0], plain(*given)[0], atol=1e-2)


ADAPTED = (
    "attn1.to_q",
    "attn1.to_k",
    "attn1.to_v",
    "attn1.to_out.0",
    "attn2.to_q",
    "ffn.net.0.proj",
    "ffn.net.2",
)


def low_rank(layer: torch.nn.Linear, device: str, seed: int) -> LowRank:
    down = drawn(device, 2, layer.in_features, seed=seed)
    return LowRank(down, drawn(device, layer.out_features, 2, seed=seed + 100), 0.1)


@torch.no_grad()
def test_a_rollout_is_the_plain_one(plain, fused, device):
    text = drawn(device, 2, 20, 32, seed=2)
    shape = KVShape(layers=2, lanes=2, tokens_per_frame=TOKENS, heads=2, head_dim=12)
    caches = [RingKVCache(shape, sink_frames=1, window_frames=2, device=device) for _ in range(2)]
    for seed in range(3):
        pairs = list(zip((plain, fused), caches, strict=True))
        for timestep, commit in ((600.0, False), (0.0, True)):
            given = latent(device, 2, seed), torch.full((2, 2), timestep, device=device), text
            wanted, got = (model(*given, cache=cache, commit=commit) for model, cache in pairs)
            assert_near(got, wanted)


@torch.no_grad()
def test_the_error_of_bf16_is_that_of_plain_bf16(plain, fused, device):
    if device == "cpu":
        pytest.skip("Triton's interpreter cuts bf16 off where a GPU rounds it")
    given = latent(device), TIMESTEPS["per sample"].to(device), drawn(device, 2, 20, 32, seed=2)
    exact = plain(*given)
    errors = []
    for model in (plain, fused):
        model.bfloat16()
        model.use_kernels(model is fused)  # `bfloat16` gave the layers other memory
        errors.append(float((model(*given).float() - exact).square().mean().sqrt()))

    assert errors[1] <= 1.5 * errors[0]  # so few numbers leave some room to chance


def test_with_gradients_the_blocks_stay_plain(fused, device):
    given = latent(device).requires_grad_(), TIMESTEPS["per sample"].to(device), drawn(device, 2, 20, 32)
    fused(*given).square().mean().backward()

    assert given[0].grad is not None
    assert bool(given[0].grad.abs().sum() > 0)


@torch.no_grad()
def test_joined_weights_are_the_layers_own(fused):
    attention = fused.blocks[0].attn1
    wanted = transformer("cpu").blocks[0].attn1

    assert (
        attention.to_q.weight.untyped_storage().data_ptr()
        == attention.to_v.weight.untyped_storage().data_ptr()
    )
    assert torch.equal(attention.to_k.weight.cpu(), wanted.to_k.weight)


def test_a_config_without_the_second_norm_is_refused():
    config = WanTransformerConfig(
        num_attention_heads=2,
        attention_head_dim=12,
        text_dim=32,
        ffn_dim=40,
        num_layers=1,
        cross_attn_norm=False,
    )
    with pytest.raises(ValueError, match="norm before cross-attention"):
        WanTransformer(config).use_kernels(True)
