import pytest

from tests.compiler.target import only_error, rolling, spec_of, stage_of


def test_keys_press_controls_and_the_rollout_keeps_pace():
    spec = spec_of(rolling(("live_actions", {"keymap": "w, ArrowUp=w  d"}), chunk_count=0))

    assert stage_of(spec, "live_actions").attr("keymap") == (("w", "w"), ("ArrowUp", "w"), ("d", "d"))
    assert stage_of(spec, "rollout").attr("paced") is True


@pytest.mark.parametrize("keymap", ["", "  ", "w w", "w=", "=w", "a w a=d"])
def test_a_keymap_that_cannot_be_read_is_refused(keymap):
    error = only_error(rolling(("live_actions", {"keymap": keymap})))

    assert (error.code, error.node_id, error.param) == ("E_PARAM_VALUE", "actions", "keymap")
