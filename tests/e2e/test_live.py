"""A rollout without an end, steered from the page."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

from tests.e2e.editor import Editor, Picture


def ground(picture: Picture) -> NDArray[np.float32]:
    """The ground alone: where the orange cross is, its mean."""
    green = picture[..., 1].copy()
    is_cross = picture[..., 0] > 0.45
    green[is_cross] = green[~is_cross].mean()
    return green - green.mean()


def shift_px(left: Picture, right: Picture) -> int:
    """By how many columns the green ground moved from one picture to the next, by correlating them."""
    here, there = (np.fft.rfft2(ground(picture)) for picture in (left, right))
    match = np.fft.irfft2(np.conj(here) * there, s=left.shape[:2])
    column = int(np.unravel_index(int(match.argmax()), match.shape)[1])
    return column if column < left.shape[1] // 2 else column - left.shape[1]


def moved_columns(editor: Editor, canvas: Locator, pairs: int) -> int:
    """How far the ground went sideways over some seconds, either way."""
    total = 0
    before = editor.picture(canvas)
    for _ in range(pairs):
        time.sleep(0.25)
        after = editor.picture(canvas)
        total += abs(shift_px(before, after))
        before = after
    return total


@pytest.fixture
def live(editor: Editor) -> Editor:
    editor.open_template("rollout-live")
    editor.run()
    expect(editor.page.get_by_test_id("live-hud")).to_be_visible(timeout=30_000)
    return editor


def stop(editor: Editor) -> None:
    editor.page.get_by_test_id("live-stop").click()
    editor.expect_run("completed", timeout_s=30)


def test_a_held_key_moves_the_world_and_its_latency_is_shown(live: Editor, page: Page) -> None:
    stage = page.get_by_test_id("viewer-stage")
    canvas = stage.locator("canvas")
    chunk = page.get_by_test_id("live-chunk")
    expect(chunk).to_have_attribute("data-frame", re.compile(r"^([2-9]\d|\d{3,})$"))
    resting = moved_columns(live, canvas, 6)
    stage.click()
    expect(stage).to_have_attribute("data-armed", "true")
    page.keyboard.down("d")
    expect(page.get_by_test_id("live-hud").get_by_role("button", name="Hold d: right")).to_have_attribute(
        "aria-pressed", "true"
    )
    latency = page.get_by_test_id("latency")
    expect(latency).to_have_attribute("data-count", "1")
    expect(chunk).to_have_attribute("data-keys", "d")
    held = moved_columns(live, canvas, 6)
    page.keyboard.up("d")
    assert held > resting + 6
    expect(latency).to_have_attribute("data-count", "2")
    assert 0 < float(latency.get_attribute("data-p50") or 0) <= float(latency.get_attribute("data-p95") or 0)
    expect(latency).to_contain_text("ms")
    live.press("Escape")
    expect(stage).not_to_have_attribute("data-armed", "true")
    stop(live)
    expect(live.node_of_type("save_video").get_by_test_id("clip")).to_be_visible()


def test_the_pad_on_the_node_steers_and_a_new_prompt_takes_hold(live: Editor, page: Page) -> None:
    key = live.node_of_type("live_actions").get_by_role("button", name="Hold a: left")
    box = key.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    expect(key).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_test_id("live-chunk")).to_have_attribute("data-keys", "a")
    page.mouse.up()
    expect(key).to_have_attribute("aria-pressed", "false")
    hud = page.get_by_test_id("live-hud")
    hud.get_by_role("textbox").fill("a large blue star moves left over sand")
    live.press("Control+Enter")
    expect(hud.get_by_text("Applied", exact=True)).to_be_visible()
    stop(live)


def test_a_reload_in_the_middle_finds_the_rollout_again(live: Editor, page: Page) -> None:
    page.reload()
    hud = page.get_by_test_id("live-hud")
    expect(hud).to_be_visible(timeout=30_000)
    expect(page.get_by_test_id("live-chunk")).to_have_attribute("data-frame", re.compile(r"^\d+$"))
    page.get_by_test_id("drive").click()
    page.keyboard.down("s")
    expect(page.get_by_test_id("latency")).to_have_attribute("data-count", "1")
    page.keyboard.up("s")
    stop(live)
