"""The whole of a loaded checkpoint, on a tiny one written by diffusers."""

import pytest
import torch
from safetensors.torch import save_file

from rushes.backend.models.adapters.adapter import AdapterError
from rushes.backend.models.family import FamilyError
from rushes.backend.models.layers.adapted_linear import AdaptedLinear
from rushes.backend.models.wan.family import FAMILY
from rushes.backend.models.wan.text import clean_prompt
from rushes.backend.models.wan.text_kv import compact_rows

PROMPTS = ["a red circle moves left", "blue"]


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def text(components):
    return components.text_kv(components.encode_text(PROMPTS))


@torch.no_grad()
def test_text_is_what_diffusers_makes_of_it(components, pipeline):
    prompts = ["a  red &amp; blue\ncircle ", "", "x" * 600]

    ours = components.encode_text(prompts)

    theirs, _ = pipeline.encode_prompt(prompts, do_classifier_free_guidance=False, max_sequence_length=512)
    assert ours.shape == (3, 512, 32)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)
    assert not ours[0, 40:].any()


def test_a_prompt_is_cleaned_as_wan_cleans_it():
    assert clean_prompt(" a  &amp;amp; b\n\tc ") == "a & b c"


@torch.no_grad()
def test_four_steps_give_the_latent_of_diffusers_own_pipeline(components, pipeline, text):
    start = noise(1, 16, 3, 4, 6)
    theirs = pipeline(
        PROMPTS[0],
        height=32,
        width=48,
        num_frames=9,
        num_inference_steps=4,
        guidance_scale=1.0,
        latents=start,
        output_type="latent",
    ).frames
    text = components.text_kv(components.encode_text(PROMPTS[:1]))
    sigmas, timesteps = pipeline.scheduler.sigmas.double(), pipeline.scheduler.timesteps

    latent = start
    for index, timestep in enumerate(timesteps):
        # diffusers rounds the timestep to a whole number; sigma here is the one that gives it.
        velocity = components.predict(latent, timestep[None] / 1000.0, text)
        latent = latent + float(sigmas[index + 1] - sigmas[index]) * velocity

    torch.testing.assert_close(latent, theirs, atol=1e-4, rtol=0)


@torch.no_grad()
def test_frames_are_those_of_diffusers(components, pipeline):
    latent = noise(1, 16, 3, 4, 6)
    mean = torch.tensor(pipeline.vae.config.latents_mean).view(1, -1, 1, 1, 1)
    std = torch.tensor(pipeline.vae.config.latents_std).view(1, -1, 1, 1, 1)

    ours = components.decoder().push(latent)

    theirs = pipeline.vae.decode(latent * std + mean).sample[0].permute(1, 2, 3, 0)
    assert ours.dtype == torch.uint8
    assert ours.shape == (9, 32, 48, 3)
    assert (ours.float() - (theirs * 127.5 + 127.5)).abs().max() < 0.51


def test_pushes_of_any_length_concatenate_to_one_push_bit_for_bit(components):
    latent = noise(1, 16, 7, 4, 6)
    whole = components.decoder().push(latent)

    for sizes in ((1,) * 7, (1, 3, 3), (3, 3, 1), (2, 5)):
        decoder = components.decoder()
        pieces = [decoder.push(part) for part in latent.split(sizes, dim=2)]
        assert torch.equal(torch.cat(pieces), whole)


def test_a_decoder_resumed_from_its_state_goes_on_bit_for_bit(components):
    latent = noise(1, 16, 5, 4, 6)
    first, second = components.decoder(), components.decoder()
    first.push(latent[:, :, :2])

    second.load_state(first.state_dict())

    assert torch.equal(second.push(latent[:, :, 2:]), first.push(latent[:, :, 2:]))
    with pytest.raises(ValueError, match="tails"):
        second.load_state({"frames": 1, "tails": []})


def test_a_state_taken_is_not_changed_by_later_frames(components):
    decoder = components.decoder()
    decoder.push(noise(1, 16, 2, 4, 6))
    state = decoder.state_dict()
    before = [tail.clone() for tail in state["tails"]]

    decoder.push(noise(1, 16, 2, 4, 6, seed=1))

    assert all(torch.equal(a, b) for a, b in zip(before, state["tails"], strict=True))


@torch.no_grad()
def test_a_clip_is_encoded_as_diffusers_encodes_it_and_normalised(components, pipeline):
    frames = torch.randint(0, 256, (5, 32, 48, 3), dtype=torch.uint8)

    latent = components.encode_video(frames)

    mean = torch.tensor(pipeline.vae.config.latents_mean).view(1, -1, 1, 1, 1)
    std = torch.tensor(pipeline.vae.config.latents_std).view(1, -1, 1, 1, 1)
    video = frames.permute(3, 0, 1, 2)[None] / 127.5 - 1
    theirs = (pipeline.vae.encode(video).latent_dist.mode() - mean) / std
    torch.testing.assert_close(latent, theirs, atol=1e-5, rtol=0)


def test_a_prompts_rows_are_compacted_to_its_tokens_and_one_zero_row(components):
    rows = compact_rows(components.encode_text(PROMPTS))

    tokens = int((rows.log_count[0] == 0).sum())
    assert rows.rows.shape[1] == tokens + 1
    torch.testing.assert_close(rows.log_count.exp().sum(dim=1), torch.full((2,), 512.0))


def test_a_text_of_all_rows_is_left_whole():
    text = noise(2, 8, 4)

    rows = compact_rows(text)

    assert torch.equal(rows.rows, text)
    assert not rows.log_count.any()


def test_joined_prompts_are_the_lanes_of_one_batch(components, text):
    parts = [components.text_kv(components.encode_text([prompt])) for prompt in PROMPTS]
    latent, sigma = noise(2, 16, 3, 4, 6), torch.tensor([0.9, 0.3])

    joined = components.predict(latent, sigma, components.join_text(parts))

    torch.testing.assert_close(joined, components.predict(latent, sigma, text), atol=1e-6, rtol=0)
    for lane, part in enumerate(parts):
        solo = components.predict(latent[lane : lane + 1], sigma[lane : lane + 1], part)
        torch.testing.assert_close(joined[lane : lane + 1], solo, atol=1e-5, rtol=0)


def test_a_sigma_per_cell_is_its_tokens_largest(components, text):
    latent = noise(2, 16, 3, 4, 6)
    sigma = torch.rand(2, 3, 4, 6)
    largest = sigma.unflatten(3, (3, 2)).unflatten(2, (2, 2)).amax(dim=(3, 5))
    spread = largest.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)

    got = components.predict(latent, sigma, text)

    assert torch.equal(got, components.predict(latent, spread, text))
    per_frame = torch.rand(2, 3)
    torch.testing.assert_close(
        components.predict(latent, per_frame, text),
        components.predict(latent, per_frame[:, :, None, None].expand(2, 3, 4, 6), text),
        atol=1e-5,
        rtol=0,
    )


def test_keys_steer_and_no_keys_do_not(components, text):
    latent, sigma = noise(2, 16, 3, 4, 6), torch.rand(2, 3)
    plain = components.predict(latent, sigma, text)
    keys = torch.zeros(2, 3, 4)

    assert torch.equal(components.predict(latent, sigma, text, keys=keys), plain)
    keys[1, 2, 0] = 1
    steered = components.predict(latent, sigma, text, keys=keys)
    assert torch.equal(steered[0], plain[0])
    assert not torch.equal(steered[1], plain[1])


def rollout(components, cache, latent, text):
    for chunk in latent.split(2, dim=2):
        components.predict(chunk, torch.zeros(latent.shape[0]), text, cache=cache, commit=True)


def test_caches_of_two_jobs_join_as_lanes_and_stay_their_own(components, text):
    parts = [components.text_kv(components.encode_text([prompt])) for prompt in PROMPTS]
    latent = noise(2, 16, 8, 4, 6)
    sizes = {"sink_frames": 1, "window_frames": 3, "height": 4, "width": 6}
    solo = [components.new_cache(1, **sizes) for _ in PROMPTS]
    rings = [components.new_cache(1, **sizes) for _ in PROMPTS]
    for lane in range(2):
        rollout(components, solo[lane], latent[lane : lane + 1], parts[lane])

    rollout(components, components.join_caches(rings), latent, components.join_text(parts))

    for lane in range(2):
        assert rings[lane].frames == 8
        torch.testing.assert_close(
            rings[lane].state_dict()["keys"], solo[lane].state_dict()["keys"], atol=1e-5, rtol=0
        )
    assert components.join_caches(rings[:1]) is rings[0]
    rings[1].load_state(components.new_cache(1, **sizes).state_dict())
    with pytest.raises(ValueError, match="must be alike"):
        components.join_caches(rings)


def test_a_preview_is_a_small_picture_of_each_latent_frame(components):
    latent = noise(1, 16, 3, 4, 6)

    picture = components.preview(latent)

    assert picture.dtype == torch.uint8
    assert picture.shape == (3, 4, 6, 3)
    assert torch.equal(components.preview(latent[:, :, 1:2])[0], picture[1])


def test_a_checkpoint_without_our_files_works_and_fits_its_own_preview(plain_folder):
    plain = FAMILY.build(plain_folder, device="cpu", precision="bf16")
    text = plain.text_kv(plain.encode_text(PROMPTS))
    latent = noise(2, 16, 3, 4, 6)

    velocity = plain.predict(latent, torch.tensor([0.9, 0.3]), text)

    assert plain.dtype == torch.bfloat16
    assert velocity.dtype == torch.float32
    assert velocity.isfinite().all()
    grey = plain.encode_video(torch.full((1, 64, 64, 3), 128, dtype=torch.uint8))
    assert plain.preview(grey).shape == (1, 8, 8, 3)
    with pytest.raises(ValueError, match="without keys"):
        plain.predict(latent, torch.tensor([0.9, 0.3]), text, keys=torch.zeros(2, 3, 4))


def test_an_adapter_file_changes_the_picture_and_its_text_parts_are_refused(
    components, text, folder, tmp_path
):
    layer = "blocks.0.attn1.to_q"
    tensors = {
        f"transformer.{layer}.lora_A.weight": noise(2, 24),
        f"transformer.{layer}.lora_B.weight": noise(24, 2),
    }
    save_file(tensors, tmp_path / "glow.safetensors")
    glow = components.load_adapter(tmp_path / "glow.safetensors")
    latent, sigma = noise(2, 16, 3, 4, 6), torch.tensor([0.9, 0.3])
    plain = components.predict(latent, sigma, text)

    mixed = components.predict(latent, sigma, text, adapters=components.lanes([[(glow, 1.0)], [(glow, 0.0)]]))

    assert not torch.equal(mixed[0], plain[0])
    assert torch.equal(mixed[1], plain[1])
    assert components.lanes([[(glow, 0.0)], []]) is None
    save_file(tensors | {"text_encoder.q.lora_A.weight": noise(2, 24)}, tmp_path / "text.safetensors")
    with pytest.raises(AdapterError, match=r"text_encoder\.q\.lora_A\.weight"):
        components.load_adapter(tmp_path / "text.safetensors")


def test_every_linear_layer_of_wans_original_names_can_be_adapted(components):
    layers = {name for name, m in components._transformer.named_modules() if isinstance(m, AdaptedLinear)}

    assert layers == set(components._targets.originals.values())


def test_a_precision_nobody_knows_is_refused(folder):
    with pytest.raises(FamilyError, match="fp32, bf16, got fp8"):
        FAMILY.build(folder, device="cpu", precision="fp8")
