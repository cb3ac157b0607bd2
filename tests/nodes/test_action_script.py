import pytest

from tests.compiler.target import codes_of, only_error, rolling, spec_of, stage_of


def frames(script):
    return stage_of(spec_of(rolling(("action_script", {"script": script}))), "action_script").attr("script")


@pytest.mark.parametrize(
    ("script", "held"),
    [
        ("w*2, w+d, idle*2", (("w",), ("w",), ("d", "w"), (), ())),
        ("w + d * 2", (("d", "w"), ("d", "w"))),
        ("\n a \n\n s*1,", (("a",), ("s",))),
    ],
)
def test_a_script_is_a_set_of_keys_per_latent_frame(script, held):
    assert frames(script) == held


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("", "at least one entry"),
        ("w*6, *3", "entry 2 of the script"),
        ("w*, d", "entry 1 of the script"),
        ("w*0", "1 to 20000 latent frames"),
        ("w*20000, d", "entry 2 of the script: expected 1 to 20000"),
        ("w+w", "each key once"),
        ("w+idle", "idle alone"),
        ("w d", "got 'w d'"),
    ],
)
def test_an_entry_that_cannot_be_read_is_named_by_its_number(script, said):
    error = only_error(rolling(("action_script", {"script": script})))

    assert (error.code, error.node_id, error.param) == ("E_PARAM_VALUE", "actions", "script")
    assert said in error.message


def test_what_lies_past_the_rollout_is_noted():
    assert codes_of(rolling(("action_script", {"script": "w*7"}), chunk_count=2), "note") == ["N_NO_EFFECT"]
    assert codes_of(rolling(("action_script", {"script": "w*6"}), chunk_count=2), "note") == []
    assert codes_of(rolling(("action_script", {"script": "w*99"}), chunk_count=0), "note") == []
