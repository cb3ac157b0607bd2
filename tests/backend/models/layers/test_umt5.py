"""Our UMT5 encoder against transformers' on the same random weights."""

import pytest
import torch
import transformers

from rushes.backend.models.layers.umt5 import UMT5Config, UMT5Encoder

CONFIG = {"vocab_size": 60, "d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4}


@pytest.fixture(scope="module")
def pair():
    torch.manual_seed(0)
    config = transformers.UMT5Config(
        **CONFIG, relative_attention_max_distance=20, feed_forward_proj="gated-gelu"
    )
    theirs = transformers.UMT5EncoderModel(config).eval().requires_grad_(False)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    ours = UMT5Encoder(UMT5Config.from_json(config.to_dict())).eval().requires_grad_(False)
    state = {name: value for name, value in theirs.state_dict().items() if "embed_tokens" not in name}
    ours.load_state_dict(state, strict=True)
    return ours, theirs


def test_it_equals_transformers_on_texts_of_several_lengths(pair):
    ours, theirs = pair
    ids = torch.randint(0, 60, (3, 50))
    mask = torch.arange(50) < torch.tensor([50, 7, 1])[:, None]

    got, want = ours(ids, mask), theirs(ids, mask.long()).last_hidden_state

    torch.testing.assert_close(got[mask], want[mask], atol=1e-5, rtol=0)


def test_what_lies_behind_the_mask_does_not_matter(pair):
    ids = torch.randint(0, 60, (1, 12))
    mask = torch.ones(1, 12)

    torch.testing.assert_close(
        pair[0](torch.cat((ids, ids), dim=1), torch.cat((mask, 0 * mask), dim=1))[:, :12],
        pair[0](ids, mask),
        atol=1e-5,
        rtol=0,
    )


def test_another_encoder_is_refused():
    with pytest.raises(ValueError, match="got t5 with relu"):
        UMT5Config.from_json({**CONFIG, "model_type": "t5", "feed_forward_proj": "relu"})
