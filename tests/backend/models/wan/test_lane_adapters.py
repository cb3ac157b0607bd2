"""Adapters as an operand: per lane, at any strength, without touching a weight."""

import pytest
import torch

from rushes.backend.models.adapters.adapter import Adapter, LowRank
from rushes.backend.models.adapters.lanes import stack_lanes
from rushes.backend.models.layers.adapted_linear import AdaptedLinear
from rushes.backend.models.wan.transformer import WanTransformer, WanTransformerConfig

CONFIG = WanTransformerConfig(
    num_attention_heads=2, attention_head_dim=12, text_dim=32, freq_dim=64, ffn_dim=32, num_layers=2
)


@pytest.fixture
def model():
    torch.manual_seed(0)
    transformer = WanTransformer(CONFIG).eval()
    for parameter in transformer.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return transformer.requires_grad_(False)


def adapter(model, name, rank, only=""):
    generator = torch.Generator().manual_seed(len(name) + rank)
    return Adapter(
        name,
        {
            layer: LowRank(
                torch.randn(rank, module.in_features, generator=generator) * 0.2,
                torch.randn(module.out_features, rank, generator=generator) * 0.2,
                0.7,
            )
            for layer, module in model.named_modules()
            if isinstance(module, AdaptedLinear) and only in layer
        },
    )


def run(model, lanes, stacks):
    """The velocity of the first `lanes` of four lanes, under their stacks."""
    latent = torch.randn(4, 16, 2, 8, 6, generator=torch.Generator().manual_seed(1))[lanes]
    text = torch.randn(4, 20, 32, generator=torch.Generator().manual_seed(2))[lanes]
    timestep = torch.tensor([900.0, 700.0, 500.0, 100.0])[lanes]
    adapters = stack_lanes(stacks)
    return model(latent, timestep, model.text_kv(text, adapters), adapters=adapters)


ALL = [0, 1, 2, 3]


def merged(model, stack):
    """A copy of the model with the stack added to its weights."""
    twin = WanTransformer(CONFIG).eval().requires_grad_(False)
    twin.load_state_dict(model.state_dict())
    for item, strength in stack:
        for layer, delta in item.deltas.items():
            twin.get_submodule(layer).weight += strength * delta.scale * delta.up @ delta.down
    return twin


def test_a_stack_equals_the_same_stack_merged_into_the_weights(model):
    stack = [(adapter(model, "glow", 3), 0.5), (adapter(model, "film", 5, only="attn"), -1.25)]

    got = run(model, ALL, [stack] * 4)

    torch.testing.assert_close(got, run(merged(model, stack), ALL, [[]] * 4), atol=2e-5, rtol=0)
    assert (got - run(model, ALL, [[]] * 4)).abs().max() > 0.1


def test_lanes_with_stacks_of_their_own_equal_solo_runs(model):
    glow, film = adapter(model, "glow", 3), adapter(model, "film", 5, only="attn")
    stacks = [[(glow, 1.0)], [(film, 0.5), (glow, 0.25)], [], [(film, -1.0)]]

    batched = run(model, ALL, stacks)

    for lane in ALL:
        solo = run(model, [lane], [stacks[lane]])
        torch.testing.assert_close(batched[lane : lane + 1], solo, atol=1e-5, rtol=0)


def test_a_lane_without_adapters_is_bit_equal_to_the_base_beside_lanes_that_have_some(model):
    glow = adapter(model, "glow", 3)

    mixed = run(model, ALL, [[(glow, 1.0)], [], [(glow, 0.5)], [(glow, 0.0)]])

    base = run(model, ALL, [[]] * 4)
    assert torch.equal(mixed[[1, 3]], base[[1, 3]])
    assert not torch.equal(mixed[[0, 2]], base[[0, 2]])


def test_strength_zero_is_no_adapter_at_all(model):
    assert stack_lanes([[(adapter(model, "glow", 3), 0.0)], []]) is None


def test_the_order_of_a_chain_does_not_matter_to_the_sum(model):
    glow, film = (adapter(model, "glow", 3), 0.5), (adapter(model, "film", 5), 0.5)

    torch.testing.assert_close(
        run(model, ALL, [[glow, film]] * 4), run(model, ALL, [[film, glow]] * 4), atol=1e-5, rtol=0
    )


def test_no_weight_is_touched(model):
    before = {name: value.clone() for name, value in model.state_dict().items()}

    run(model, ALL, [[(adapter(model, "glow", 3), 1.0)]] * 4)

    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_adapters_for_another_number_of_lanes_are_refused(model):
    adapters = stack_lanes([[(adapter(model, "glow", 3), 1.0)], []])
    latent = torch.zeros(4, 16, 2, 8, 6)

    with pytest.raises(ValueError, match="for 4 lanes, got 2"):
        model(latent, torch.zeros(4), torch.zeros(4, 20, 32), adapters=adapters)
