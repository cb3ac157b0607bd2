"""Our autoencoder against diffusers' on the same random weights."""

import pytest
import torch
from diffusers import AutoencoderKLWan

from rushes.backend.models.wan.stream import StreamDecoder
from rushes.backend.models.wan.vae import WanVae, WanVaeConfig

TOLERANCE = 1e-5
CONFIGS = {
    "wan": {"base_dim": 4, "z_dim": 16, "dim_mult": [1, 2, 2, 2], "num_res_blocks": 1},
    "patched": {
        "base_dim": 4,
        "decoder_base_dim": 6,
        "z_dim": 4,
        "dim_mult": [1, 2, 4],
        "num_res_blocks": 1,
        "temperal_downsample": [True, True],
        "patch_size": 2,
        "in_channels": 12,
        "out_channels": 12,
        "latents_mean": [0.1, 0.2, 0.3, 0.4],
        "latents_std": [1.0, 2.0, 3.0, 4.0],
    },
}


@pytest.fixture(params=CONFIGS)
def pair(request):
    torch.manual_seed(0)
    theirs = AutoencoderKLWan(**CONFIGS[request.param]).eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.15)
    ours = WanVae(WanVaeConfig.from_json(theirs.config)).eval()
    ours.load_state_dict(theirs.state_dict(), strict=True)
    return ours, theirs


def latent_for(vae, frames=4):
    return torch.randn(2, vae.config.z_dim, frames, 3, 2, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def test_a_whole_clip_is_encoded_as_diffusers_encodes_it_piece_by_piece(pair):
    ours, theirs = pair
    video = torch.rand(2, 3, 13, 16, 24, generator=torch.Generator().manual_seed(1)) * 2 - 1

    torch.testing.assert_close(
        ours.encode(video), theirs.encode(video).latent_dist.mode(), atol=TOLERANCE, rtol=0
    )


@torch.no_grad()
def test_one_frame_is_encoded_as_diffusers_encodes_it(pair):
    ours, theirs = pair
    video = torch.rand(1, 3, 1, 16, 24) * 2 - 1

    torch.testing.assert_close(
        ours.encode(video), theirs.encode(video).latent_dist.mode(), atol=TOLERANCE, rtol=0
    )


@torch.no_grad()
def test_a_whole_clip_is_decoded_as_diffusers_decodes_it_piece_by_piece(pair):
    ours, theirs = pair
    latent = latent_for(ours)

    torch.testing.assert_close(ours.decode(latent), theirs.decode(latent).sample, atol=TOLERANCE, rtol=0)


@torch.no_grad()
def test_frame_by_frame_gives_the_frames_of_the_whole_clip(pair):
    ours, _ = pair
    latent, stream = latent_for(ours)[:1], StreamDecoder(ours)
    state = stream.new_state()

    pieces = [stream.decode_next(part, state) for part in latent.split(1, dim=2)]

    assert [piece.shape[2] for piece in pieces] == [1, 4, 4, 4]
    torch.testing.assert_close(torch.cat(pieces, dim=2), ours.decode(latent), atol=TOLERANCE, rtol=0)


@torch.no_grad()
def test_two_streams_may_interleave(pair):
    stream = StreamDecoder(pair[0])
    latent = latent_for(pair[0])[:1]
    alone, first, second = (stream.new_state() for _ in range(3))
    expected = [stream.decode_next(part, alone) for part in latent.split(1, dim=2)]

    for part, frames in zip(latent.split(1, dim=2), expected, strict=True):
        stream.decode_next(-part, second)
        assert torch.equal(stream.decode_next(part, first), frames)


def test_a_stream_takes_one_latent_frame_of_one_video(pair):
    stream = StreamDecoder(pair[0])

    for shape in ((2, pair[0].config.z_dim, 1, 3, 2), (1, pair[0].config.z_dim, 2, 3, 2)):
        with pytest.raises(ValueError, match=r"\[1, C, 1, h, w\]"):
            stream.decode_next(torch.zeros(shape), stream.new_state())


def test_encode_and_decode_give_every_parameter_a_gradient(pair):
    ours, _ = pair
    video = torch.rand(1, 3, 9, 16, 16) * 2 - 1

    mean, log_variance = ours.moments(video)
    (ours.decode(mean, clamp=False).square().mean() + log_variance.square().mean()).backward()

    assert [name for name, p in ours.named_parameters() if p.grad is None] == []


def test_normalised_latents_come_back(pair):
    ours, _ = pair
    latent = latent_for(ours)

    torch.testing.assert_close(ours.denormalised(ours.normalised(latent)), latent)
    assert not torch.equal(ours.normalised(latent), latent)


def test_a_frame_count_off_the_lattice_is_refused(pair):
    with pytest.raises(ValueError, match=r"4k \+ 1, got 12"):
        pair[0].encode(torch.zeros(1, 3, 12, 16, 16))


def test_a_size_off_the_lattice_is_refused(pair):
    with pytest.raises(ValueError, match="multiples of 8, got 16 and 20"):
        pair[0].encode(torch.zeros(1, 3, 5, 16, 20))
