"""Which attention backend is taken when, and that it computes attention."""

import pytest
import torch

from rushes.backend.models.layers.attention import PLAIN, AttentionCase, case_of, choose_attention
from rushes.backend.models.layers.attention.choice import TABLE

HOPPER = AttentionCase("cuda", (9, 0), torch.bfloat16, 128)
IS_CUDA = torch.cuda.is_available()


def installed(monkeypatch, *packages):
    for module in ("fa3", "flash_attn"):
        monkeypatch.setattr(
            f"rushes.backend.models.layers.attention.{module}.find_spec",
            lambda name: object() if name in packages else None,
        )
    monkeypatch.setattr(torch.backends.cudnn, "is_available", lambda: True)


def names(case):
    return [row.backend.name for row in choose_attention(case).rows]


def test_a_cpu_layer_uses_plain_sdpa():
    assert names(case_of(torch.zeros(1), 64)) == ["sdpa"]


def test_hopper_prefers_fa3_where_installed(monkeypatch):
    installed(monkeypatch, "fa3_fwd_interface", "flash_attn")
    assert names(HOPPER) == ["fa3", "cudnn", "flash_attn", "flash_sdpa", "sdpa"]

    installed(monkeypatch)
    assert names(HOPPER) == ["cudnn", "flash_sdpa", "sdpa"]


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (AttentionCase("cuda", (8, 6), torch.bfloat16, 128), ["cudnn", "flash_attn", "flash_sdpa", "sdpa"]),
        (AttentionCase("cuda", (9, 0), torch.float16, 128), ["cudnn", "flash_attn", "flash_sdpa", "sdpa"]),
        (AttentionCase("cuda", (9, 0), torch.float32, 128), ["sdpa"]),
        (AttentionCase("cuda", (9, 0), torch.bfloat16, 12), ["sdpa"]),
        (AttentionCase("cuda", (7, 5), torch.float16, 64), ["sdpa"]),
        (AttentionCase("mps", (0, 0), torch.float16, 64), ["sdpa"]),
    ],
    ids=str,
)
def test_a_backend_is_left_out_where_it_cannot_run(monkeypatch, case, expected):
    installed(monkeypatch, "fa3_fwd_interface", "flash_attn")

    assert names(case) == expected


def test_few_keys_a_mask_or_a_gradient_lead_to_another_backend(monkeypatch):
    installed(monkeypatch, "fa3_fwd_interface")
    choice = choose_attention(HOPPER)

    assert choice.backend(4680).name == "fa3"
    assert choice.backend(77).name == "flash_sdpa"
    assert choice.backend(4680, is_masked=True).name == "sdpa"
    assert choice.backend(4680, needs_gradient=True).name == "sdpa"


def test_every_device_ends_with_a_backend_that_takes_everything():
    for rows in TABLE.values():
        assert rows[-1].backend.name == "sdpa"
        assert rows[-1].least_keys == 0


def reference(query, keys, values, mask=None):
    scores = torch.einsum("bnhd,bmhd->bhnm", query.double(), keys.double()) / query.shape[-1] ** 0.5
    scores = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
    return torch.einsum("bhnm,bmhd->bnhd", scores.softmax(-1), values.double())


def test_attention_is_attention_with_and_without_a_mask():
    query, keys, values = (torch.randn(2, n, 3, 8) for n in (5, 7, 7))
    mask = torch.rand(5, 7) > 0.3
    mask[:, 0] = True

    for given in (None, mask):
        got = PLAIN.attend(query, keys, values, given)
        torch.testing.assert_close(got.double(), reference(query, keys, values, given), atol=1e-5, rtol=0)


@pytest.mark.gpu
@pytest.mark.skipif(not IS_CUDA, reason="needs a CUDA device")
@pytest.mark.parametrize("row", TABLE["cuda"], ids=lambda row: row.backend.name)
def test_each_backend_agrees_with_the_reference(row):
    query, keys, values = (
        torch.randn(2, n, 4, 128, device="cuda", dtype=torch.bfloat16) for n in (600, 1000, 1000)
    )
    if not row.backend.can_run(case_of(query, 128)):
        pytest.skip(f"{row.backend.name} is not installed or not made for this device")

    got = row.backend.attend(query, keys, values, None)

    torch.testing.assert_close(got.double(), reference(query, keys, values), atol=1e-2, rtol=0)
