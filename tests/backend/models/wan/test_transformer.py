"""Our transformer against diffusers' on the same random weights."""

import pytest
import torch
from diffusers import WanTransformer3DModel

from rushes.backend.models.wan.controls import KeyEmbedding
from rushes.backend.models.wan.transformer import TextRows, WanTransformer, WanTransformerConfig

CONFIG = {
    "num_attention_heads": 2,
    "attention_head_dim": 12,
    "in_channels": 16,
    "out_channels": 16,
    "text_dim": 32,
    "freq_dim": 256,
    "ffn_dim": 32,
    "num_layers": 2,
    "rope_max_seq_len": 32,
}
TOLERANCE = 1e-5


@pytest.fixture
def theirs():
    torch.manual_seed(0)
    model = WanTransformer3DModel(**CONFIG).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return model


@pytest.fixture
def ours(theirs):
    model = WanTransformer(WanTransformerConfig.from_json(theirs.config)).eval()
    model.load_state_dict(theirs.state_dict(), strict=True)
    return model


@pytest.fixture
def latent():
    return torch.randn(2, 16, 5, 8, 6, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def text():
    return torch.randn(2, 20, 32, generator=torch.Generator().manual_seed(2))


def per_token(values):
    """[B, T] -> [B, T * 4 * 3], the tokens of each latent frame."""
    return values.repeat_interleave(12, dim=1)


@torch.no_grad()
def test_it_equals_diffusers_with_a_timestep_per_sample(ours, theirs, latent, text):
    timestep = torch.tensor([1000.0, 300.0])

    torch.testing.assert_close(
        ours(latent, timestep, text), theirs(latent, timestep, text).sample, atol=TOLERANCE, rtol=0
    )


@torch.no_grad()
def test_it_equals_diffusers_with_a_timestep_per_token(ours, theirs, latent, text):
    timestep = torch.rand(2, 5 * 12, generator=torch.Generator().manual_seed(3)) * 1000

    torch.testing.assert_close(
        ours(latent, timestep, text), theirs(latent, timestep, text).sample, atol=TOLERANCE, rtol=0
    )


@torch.no_grad()
def test_a_timestep_per_latent_frame_means_the_same_for_each_of_its_tokens(ours, theirs, latent, text):
    timestep = torch.rand(2, 5, generator=torch.Generator().manual_seed(3)) * 1000

    torch.testing.assert_close(
        ours(latent, timestep, text), theirs(latent, per_token(timestep), text).sample, atol=TOLERANCE, rtol=0
    )


def taps(model, *inputs):
    """Output of every linear and convolution layer in the order they ran, by the name of the layer."""
    found, hooks = {}, []
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear | torch.nn.Conv3d):
            hooks.append(
                module.register_forward_hook(lambda _, __, out, name=name: found.update({name: out}))
            )
    model(*inputs)
    for hook in hooks:
        hook.remove()
    return found


@torch.no_grad()
def test_no_layer_on_the_way_diverges_from_diffusers(ours, theirs, latent, text):
    inputs = (latent, torch.rand(2, 60, generator=torch.Generator().manual_seed(3)) * 1000, text)

    got, want = taps(ours, *inputs), taps(theirs, *inputs)

    assert got.keys() == want.keys()
    diverging = [
        name for name, out in want.items() if (got[name] - out.view_as(got[name])).abs().max() > TOLERANCE
    ]
    assert diverging == [], f"first diverging layer: {diverging[0]}"


@torch.no_grad()
def test_equal_text_rows_may_be_given_once_with_their_count(ours, latent, text):
    timestep = torch.tensor([900.0, 300.0])
    text[:, 7:] = 0
    count = torch.tensor([1.0] * 7 + [13.0]).expand(2, 8)

    short = ours(latent, timestep, TextRows(text[:, :8], count.log()))

    torch.testing.assert_close(short, ours(latent, timestep, text), atol=TOLERANCE, rtol=0)


@torch.no_grad()
def test_text_keys_and_values_computed_once_give_the_same(ours, latent, text):
    timestep = torch.tensor([900.0, 300.0])

    assert torch.equal(ours(latent, timestep, ours.text_kv(text)), ours(latent, timestep, text))


@torch.no_grad()
def test_a_block_causal_mask_hides_the_later_latent_frames(ours, latent, text):
    timestep = torch.rand(2, 5) * 1000
    block = torch.arange(60) // 12
    mask = block[:, None] >= block[None]

    masked = ours(latent, timestep, text, attention_mask=mask)

    torch.testing.assert_close(
        masked[:, :, :1], ours(latent[:, :, :1], timestep[:, :1], text), atol=1e-5, rtol=0
    )
    torch.testing.assert_close(
        masked, ours(latent, timestep, text, attention_mask=mask.expand(2, 1, 60, 60)), atol=1e-6, rtol=0
    )


@torch.no_grad()
def test_keys_act_on_their_latent_frame_and_no_keys_change_nothing(ours, latent, text):
    embed = KeyEmbedding(4, 24)
    timestep = torch.full((2, 5), 700.0)
    plain = ours(latent, timestep, text)
    keys = torch.zeros(2, 5, 4)

    assert torch.equal(ours(latent, timestep, text, keys=embed(keys)), plain)
    keys[:, 3, 0] = 1
    block = torch.arange(60) // 12
    mask = block[:, None] >= block[None]
    masked = ours(latent, timestep, text, attention_mask=mask)
    steered = ours(latent, timestep, text, attention_mask=mask, keys=embed(keys))
    changed = (steered - masked).abs().amax(dim=(0, 1, 3, 4)) > 1e-4
    assert changed.tolist() == [False, False, False, True, True]


@torch.no_grad()
def test_keys_give_the_same_with_timesteps_per_sample_frame_and_token(ours, latent, text):
    keys = KeyEmbedding(4, 24)(torch.eye(5)[None, :, :4].expand(2, 5, 4))
    timestep = torch.tensor([700.0, 200.0])
    by_sample = ours(latent, timestep, text, keys=keys)
    by_frame = timestep[:, None].expand(2, 5)

    torch.testing.assert_close(ours(latent, by_frame, text, keys=keys), by_sample, atol=1e-5, rtol=0)
    torch.testing.assert_close(
        ours(latent, per_token(by_frame), text, keys=keys), by_sample, atol=1e-5, rtol=0
    )


def test_a_timestep_of_another_length_is_refused(ours, latent, text):
    with pytest.raises(ValueError, match="1, 5 or 60 values a sample, got 7"):
        ours(latent, torch.zeros(2, 7), text)


def test_a_latent_that_leaves_half_a_patch_is_refused(ours, text):
    with pytest.raises(ValueError, match="multiples of"):
        ours(torch.zeros(2, 16, 1, 7, 6), torch.zeros(2), text)


def test_a_config_with_a_field_of_another_model_is_refused():
    with pytest.raises(ValueError, match="vace_layers"):
        WanTransformerConfig.from_json({**CONFIG, "vace_layers": [0, 2]})


def test_every_parameter_gets_a_gradient(ours, latent, text):
    ours(latent, torch.rand(2, 60) * 1000, text).square().mean().backward()

    assert [name for name, p in ours.named_parameters() if p.grad is None] == []


def test_training_compiles_to_one_graph(ours, latent, text):
    embed = KeyEmbedding(4, 24)
    mask = torch.ones(60, 60, dtype=torch.bool).tril()

    def loss(timestep):
        keys = embed(torch.ones(2, 5, 4))
        return ours(latent, timestep, text, keys=keys, attention_mask=mask).square().mean()

    compiled = torch.compile(loss, fullgraph=True, backend="eager")
    for timestep in (torch.rand(2, 60), torch.rand(2, 5), torch.rand(2)):
        compiled(timestep).backward()
