"""Facts of a checkpoint from JSON alone, and finding checkpoints by listing folders."""

import json
import shutil
import subprocess
import sys

import pytest

from rushes.backend.models.family import FamilyError
from rushes.backend.models.registry import families, find_adapters, find_checkpoints
from rushes.backend.models.wan.family import FAMILY


def test_facts_are_told_by_the_configs_and_our_own_file(folder):
    facts = FAMILY.facts(folder)

    assert (facts.checkpoint, facts.family, facts.title) == ("tiny", "wan", "Tiny")
    assert (facts.latent_channels, facts.spatial, facts.temporal, facts.patch) == (16, 8, 4, 2)
    assert (facts.width_px, facts.height_px, facts.sizes_fixed) == (48, 32, False)
    assert facts.control_keys == ("w", "a", "s", "d")
    assert facts.capabilities == frozenset({"rollout"})


def test_a_plain_checkpoint_gets_what_wan_was_published_with(plain_folder):
    facts = FAMILY.facts(plain_folder)

    assert (facts.title, facts.width_px, facts.height_px, facts.fps) == ("tiny-plain", 832, 480, 16)
    assert (facts.frame_count_max, facts.step_count, facts.guidance_scale, facts.flow_shift) == (
        81,
        50,
        5.0,
        3.0,
    )
    assert facts.control_keys == ()


def test_the_content_id_changes_with_a_weight_and_not_with_the_place(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "tiny")
    assert FAMILY.facts(copy).content_id == FAMILY.facts(folder).content_id

    weights = copy / "vae" / "diffusion_pytorch_model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert FAMILY.facts(copy).content_id != FAMILY.facts(folder).content_id


def test_an_adapter_beside_it_does_not_make_another_checkpoint(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "tiny")
    (copy / "adapters").mkdir()
    shutil.copy(folder / "controls" / "model.safetensors", copy / "adapters" / "glow.safetensors")

    assert FAMILY.facts(copy).content_id == FAMILY.facts(folder).content_id


def test_a_field_that_rushes_json_does_not_have_is_refused(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "tiny")
    (copy / "rushes.json").write_text(json.dumps({"frames": 45}))

    with pytest.raises(FamilyError, match=r"rushes\.json .* got frames"):
        FAMILY.facts(copy)


def test_checkpoints_and_their_adapters_are_found_by_listing(folder, plain_folder, tmp_path):
    root = tmp_path / "root"
    for source in (folder, plain_folder):
        shutil.copytree(source, root / source.name)
    (root / "not-a-model").mkdir()
    weights = folder / "controls" / "model.safetensors"
    for place in (root / "adapters", root / "tiny" / "adapters"):
        place.mkdir()
        shutil.copy(weights, place / f"of-{place.parent.name}.safetensors")

    found = find_checkpoints([root, tmp_path / "missing"])

    assert {name: (family.family_id, path.name) for name, (family, path, _) in found.items()} == {
        "tiny": ("wan", "tiny"),
        "tiny-plain": ("wan", "tiny-plain"),
    }
    assert sorted(find_adapters([root])) == ["of-root", "of-tiny"]


def test_two_checkpoints_of_one_name_are_refused(folder, tmp_path):
    for name in ("a", "b"):
        shutil.copytree(folder, tmp_path / name / "tiny")

    with pytest.raises(FamilyError, match="must differ"):
        find_checkpoints([tmp_path / "a", tmp_path / "b"])


def test_every_family_has_an_id_of_its_own():
    assert [family.family_id for family in families()] == ["wan"]


def test_facts_are_told_without_torch(folder):
    code = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from rushes.backend.models.registry import find_checkpoints\n"
        "assert list(find_checkpoints([Path(sys.argv[1])])) == ['tiny']\n"
    )

    result = subprocess.run(
        [sys.executable, "-c", code, folder.parent], capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, result.stderr
