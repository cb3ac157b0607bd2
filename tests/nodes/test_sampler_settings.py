import pytest

from rushes.compiler.ir.schedule import flow_sigmas
from tests.compiler.target import generating, only_error, spec_of, stage_of


def sampling(**params):
    document = generating()
    document["graph"]["nodes"]["settings"] = {"type": "sampler_settings", "params": params}
    document["graph"]["edges"]["s"] = {"from": ["settings", "sampler"], "to": ["generate", "sampler"]}
    return document


def test_without_settings_the_checkpoints_own_are_used():
    denoise = stage_of(spec_of(generating()), "denoise")

    assert denoise.attr("sigmas") == flow_sigmas(4, 3.0)
    assert (denoise.attr("sampler"), denoise.attr("guidance_scale")) == ("euler", 1.0)


def test_connected_settings_take_their_place():
    denoise = stage_of(spec_of(sampling(step_count=7, shift=5.0, sampler="unipc")), "denoise")

    assert denoise.attr("sigmas") == flow_sigmas(7, 5.0)
    assert denoise.attr("sampler") == "unipc"
    assert denoise.trip_count == 7


@pytest.mark.parametrize(("scale", "has_negative"), [(1.0, False), (1.1, True), (7.5, True)])
def test_guidance_above_one_adds_the_negative_branch(scale, has_negative):
    document = sampling(guidance_scale=scale)
    document["graph"]["nodes"]["prompt"]["params"]["negative"] = "a ring"
    spec = spec_of(document)
    texts = [stage.attr("text") for stage in spec.stages if stage.op == "encode_text"]

    assert texts == (["a star", "a ring"] if has_negative else ["a star"])
    assert (stage_of(spec, "denoise").read("negative") is not None) == has_negative
    assert ("guide" in stage_of(spec, "denoise").body) == has_negative


def test_a_sampler_the_checkpoint_does_not_know_is_refused_at_the_settings():
    document = sampling(sampler="euler")
    document["graph"]["nodes"]["model"]["params"] = {"checkpoint": "wide"}
    document["graph"]["nodes"]["generate"]["params"] = {"width_px": 832, "height_px": 480}

    error = only_error(document)

    assert (error.code, error.node_id, error.param, error.suggestion) == (
        "E_CAPABILITY",
        "settings",
        "sampler",
        "unipc",
    )
