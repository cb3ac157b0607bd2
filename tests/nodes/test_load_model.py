from dataclasses import replace

import pytest

from tests.compiler.target import TARGET, generating, only_error, spec_of, stage_of


def loading(**params):
    document = generating()
    document["graph"]["nodes"]["model"]["params"] = params
    return document


@pytest.mark.parametrize(("device", "precision"), [("cpu", "fp32"), ("cuda", "bf16")])
def test_auto_precision_follows_the_device(device, precision):
    spec = spec_of(loading(), target=replace(TARGET, device_kind=device))

    assert stage_of(spec, "load_model").attr("precision") == precision


def test_auto_takes_what_the_checkpoint_has():
    document = loading(checkpoint="wide")
    document["graph"]["nodes"]["generate"]["params"] = {"width_px": 832, "height_px": 480}

    assert stage_of(spec_of(document), "load_model").attr("precision") == "bf16"


def test_a_precision_the_checkpoint_lacks_is_refused():
    error = only_error(loading(checkpoint="wide", precision="fp32"))

    assert (error.code, error.node_id, error.param, error.suggestion) == (
        "E_CAPABILITY",
        "model",
        "precision",
        "bf16",
    )


def test_the_bytes_of_the_checkpoint_are_part_of_the_program():
    changed = replace(TARGET.checkpoints["shapes"], content_id="0" * 64)
    other = replace(TARGET, checkpoints={"shapes": changed})

    assert spec_of(loading()).spec_hash != spec_of(loading(), target=other).spec_hash
