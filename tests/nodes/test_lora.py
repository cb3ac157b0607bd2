import pytest

from tests.compiler.target import codes_of, generating, only_error, spec_of, stage_of


def chained(*loras):
    """A generate under a chain of LoRAs, first to last."""
    document = generating()
    for index, params in enumerate(loras):
        document["graph"]["nodes"][f"lora_{index}"] = {"type": "lora", "params": params}
        end = [f"lora_{index + 1}", "adapters"] if index + 1 < len(loras) else ["generate", "adapters"]
        document["graph"]["edges"][f"l{index}"] = {"from": [f"lora_{index}", "adapters"], "to": end}
    return document


def test_a_chain_is_one_stack_in_its_order():
    spec = spec_of(chained({"file": "neon", "strength": 0.8}, {"file": "ink", "strength": -0.5}))
    stack = stage_of(spec, "stack_adapters")

    assert stack.attr("entries") == (("neon", 0.8, 1.0), ("ink", -0.5, 1.0))
    assert stack.attr("content_ids") == ("a" * 64, "b" * 64)
    assert stack.node_id == "lora_1"
    for op in ("encode_text", "denoise"):
        assert stage_of(spec, op).read("adapters") == stack.write("adapters")


def test_order_is_kept_because_it_may_matter():
    one = spec_of(chained({"file": "neon"}, {"file": "ink"}))
    other = spec_of(chained({"file": "ink"}, {"file": "neon"}))

    assert one.spec_hash != other.spec_hash


@pytest.mark.parametrize("params", [{"strength": 0.0}, {"enabled": False}, {"strength": 0}])
def test_off_or_at_zero_it_is_the_program_without_it(params):
    assert spec_of(chained(params)) == spec_of(generating())


def test_one_that_is_off_leaves_the_others_of_the_chain():
    stack = stage_of(spec_of(chained({"file": "neon"}, {"file": "ink", "enabled": False})), "stack_adapters")

    assert stack.attr("entries") == (("neon", 1.0, 1.0),)


def test_a_text_strength_without_effect_is_noted():
    assert codes_of(chained({"text_strength": 0.5}), "note") == ["N_NO_EFFECT"]


def test_an_unknown_file_is_refused_with_the_nearest():
    error = only_error(chained({"file": "nein"}))

    assert (error.code, error.param, error.suggestion) == ("E_UNKNOWN_ADAPTER", "file", "neon")


def test_a_checkpoint_without_adapters_refuses_them():
    document = chained({})
    document["graph"]["nodes"]["model"]["params"] = {"checkpoint": "wide"}
    document["graph"]["nodes"]["generate"]["params"] = {"width_px": 832, "height_px": 480}

    error = only_error(document)

    assert (error.code, error.node_id, error.param) == ("E_CAPABILITY", "generate", "adapters")
