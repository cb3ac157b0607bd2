"""The first hour with the editor, on the shipped model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from tests.e2e.editor import Editor, Picture


def distance(left: Picture, right: Picture) -> float:
    return float(np.abs(left - right).mean())


def test_first_visit_runs_at_once_and_the_clip_plays_on_the_node(editor: Editor, page: Page) -> None:
    editor.open()
    expect(page.get_by_test_id("validity")).to_contain_text("valid")
    editor.press("Control+Enter")
    clip = editor.node_of_type("save_video").get_by_test_id("clip")
    expect(clip).to_be_visible(timeout=60_000)
    editor.expect_run("completed")
    editor.expect_playing(clip)
    expect(page.get_by_test_id("viewer").locator("video")).to_be_visible()
    expect(page.get_by_test_id("live-region")).to_have_text("Run finished")


def test_all_five_shows_the_picture_while_it_is_made(still_editor: Editor) -> None:
    editor = still_editor
    editor.open_template("all-five")
    expect(editor.nodes).to_have_count(15)
    previews = editor.run_and_watch("edit")
    assert len(previews) >= 2
    first, last = previews[0], previews[-1]
    assert first.step < last.step
    assert distance(first.picture, last.picture) > 0.004
    assert first.share < 0.8
    clip = editor.node("edited").get_by_test_id("clip")
    result = editor.frame(clip, clip.evaluate("video => video.duration") - 0.03)
    assert distance(last.picture, result) < distance(first.picture, result)
    for output in ("look", "save"):
        expect(editor.node(output).get_by_test_id("clip")).to_be_visible()


def test_a_node_from_the_palette_is_connected_by_dragging(editor: Editor, page: Page) -> None:
    editor.open()
    edge_count = editor.edges.count()
    editor.add_node("preview", (620, 720))
    preview = editor.node_of_type("preview")
    expect(preview).to_be_visible()
    expect(preview.get_by_test_id("node-message")).to_contain_text("video")
    editor.connect(
        editor.socket(editor.node("generate"), "output", "video"), editor.socket(preview, "input", "video")
    )
    expect(editor.edges).to_have_count(edge_count + 1)
    expect(preview.get_by_test_id("node-message")).to_have_count(0)
    expect(page.get_by_test_id("validity")).to_contain_text("valid")


def test_a_wire_dropped_on_nothing_offers_only_what_fits(editor: Editor, page: Page) -> None:
    editor.open()
    video = editor.socket(editor.node("generate"), "output", "video")
    editor.drag_socket(video, (900, 740), drops=False)
    model = editor.socket(editor.node("generate"), "input", "model")
    expect(model).to_have_attribute("data-look", "dim")
    taken = editor.socket(editor.node("save"), "input", "video")
    expect(taken).to_have_attribute("data-look", "fits")
    page.mouse.up()
    offered = editor.palette.get_by_role("option")
    types = {option.get_attribute("data-type-id") for option in offered.all()}
    assert {"preview", "mask_overlay", "edit_video"} <= types
    assert not types & {"prompt", "load_model", "lora"}
    editor.palette.get_by_role("combobox").fill("preview")
    edge_count = editor.edges.count()
    editor.press("Enter")
    expect(editor.edges).to_have_count(edge_count + 1)


def test_without_its_model_the_node_says_so_until_undo(editor: Editor, page: Page) -> None:
    editor.open()
    generate = editor.node("generate")
    editor.drag_socket(editor.socket(generate, "input", "model"), (300, 720))
    message = generate.get_by_test_id("node-message")
    expect(message).to_contain_text("model")
    expect(generate).to_have_attribute("data-state", "error")
    page.get_by_test_id("validity").click()
    problems = page.get_by_test_id("problems")
    problems.get_by_role("button", name=re.compile("Generate video")).click()
    expect(generate).to_have_attribute("data-selected", "true")
    editor.run()
    expect(page.get_by_test_id("notice")).to_contain_text("model")
    editor.press("Control+z")
    expect(message).to_have_count(0)
    expect(page.get_by_test_id("validity")).to_contain_text("valid")
    editor.press("Control+Shift+Z")
    expect(generate.get_by_test_id("node-message")).to_be_visible()


def test_a_value_out_of_range_is_marked_on_its_param_and_fixed_by_one_click(editor: Editor) -> None:
    editor.open()
    generate = editor.node("generate")
    frames = generate.get_by_label("frame_count", exact=True)
    frames.click()
    frames.fill("16*3")
    editor.press("Enter")
    expect(frames).to_have_value("48")
    expect(generate.locator(".param[data-error]")).to_have_count(1)
    generate.get_by_role("button", name=re.compile("Use ")).click()
    expect(generate.get_by_test_id("node-message")).to_have_count(0)


def test_a_strength_is_dragged_undone_at_once_and_let_go_with_its_pointer(editor: Editor, page: Page) -> None:
    editor.open_template("lora-shapes")
    strength = editor.node_of_type("lora").get_by_label("strength", exact=True)
    before = strength.input_value()
    box = strength.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 10, y, steps=4)
    expect(strength).not_to_have_value(before)
    dragged = strength.input_value()
    strength.dispatch_event("pointercancel", {"pointerId": 1})
    page.mouse.move(x - 30, y, steps=4)
    expect(strength).to_have_value(dragged)
    page.mouse.up()
    editor.press("Control+z")
    expect(strength).to_have_value(before)


def test_keyboard_alone_adds_copies_and_deletes(editor: Editor, page: Page) -> None:
    editor.open()
    count = editor.nodes.count()
    editor.canvas.focus()
    editor.press("Tab")
    page.keyboard.type("negat")
    editor.press("Escape", "Tab")
    page.keyboard.type("lora")
    editor.press("Enter")
    expect(editor.nodes).to_have_count(count + 1)
    editor.press("Control+d")
    expect(editor.nodes).to_have_count(count + 2)
    editor.press("Control+c", "Control+v")
    expect(editor.nodes).to_have_count(count + 3)
    editor.press("Delete")
    expect(editor.nodes).to_have_count(count + 2)
    for _ in range(3):
        editor.press("Control+z")
    expect(editor.nodes).to_have_count(count + 1)
    editor.press("Control+z")
    expect(editor.nodes).to_have_count(count)
    expect(page.get_by_test_id("undo")).to_be_disabled()


def test_a_workflow_saved_as_a_file_opens_as_it_was(editor: Editor, page: Page) -> None:
    editor.open()
    prompt = editor.node("prompt").get_by_label("text", exact=True)
    prompt.fill("a small green star moves up over sand")
    editor.node("generate").get_by_role("heading").dblclick()
    page.get_by_label("Node title").first.fill("Hero shot")
    editor.press("Enter")
    with page.expect_download() as download:
        editor.press("Control+Shift+S")
    saved = editor.folder / "saved.json"
    download.value.save_as(saved)
    document = json.loads(saved.read_text())
    assert document["schema"] == "rushes.workflow/1"
    assert document["graph"]["nodes"]["prompt"]["params"]["text"] == "a small green star moves up over sand"

    with page.expect_file_chooser() as chooser:
        editor.press("Control+o")
    chooser.value.set_files(saved)
    expect(page.get_by_test_id("tab")).to_have_count(2)
    expect(editor.node("generate").get_by_role("heading")).to_have_text("Hero shot")
    expect(prompt).to_have_value("a small green star moves up over sand")
    assert _graph_on_export(editor, page) == document["graph"]


def _graph_on_export(editor: Editor, page: Page) -> object:
    with page.expect_download() as download:
        editor.press("Control+Shift+S")
    path = Path(download.value.path())
    return json.loads(path.read_text())["graph"]


def test_a_broken_file_is_refused_with_its_reason_and_harms_nothing(editor: Editor, page: Page) -> None:
    editor.open()
    count = editor.nodes.count()
    editor.drop_file("broken.json", '{"schema": "rushes.workflow/9", "graph": {"nodes": {}}}')
    expect(page.get_by_test_id("notice")).to_contain_text("newer Rushes")
    expect(editor.nodes).to_have_count(count)


def test_a_workflow_of_unknown_nodes_opens_in_its_own_tab_and_is_kept(editor: Editor, page: Page) -> None:
    editor.open()
    nodes = {
        "a": {"type": "prompt", "params": {"text": "hello"}},
        "b": {"type": "from.the.future", "params": {"depth": 3}, "mood": "teal"},
    }
    document = {"schema": "rushes.workflow/1", "title": "Later", "graph": {"nodes": nodes, "edges": {}}}
    editor.drop_file("later.json", json.dumps(document))
    expect(page.get_by_test_id("tab")).to_have_count(2)
    expect(editor.node("b")).to_have_attribute("data-missing", "true")
    expect(editor.node("b")).to_contain_text("depth")
    assert _graph_on_export(editor, page) == document["graph"]


def test_a_workflow_saved_on_the_server_comes_back_with_its_version(editor: Editor, page: Page) -> None:
    editor.open()
    editor.node("prompt").get_by_label("text", exact=True).fill("a large blue ring stays still over sand")
    editor.canvas.focus()
    editor.press("Control+s")
    expect(page.get_by_test_id("notice")).to_contain_text("version 1")
    editor.press("Control+s")
    expect(page.get_by_test_id("notice")).to_contain_text("version 2")
    editor.press("w")
    page.get_by_test_id("panel-workflows").locator("[data-workflow]").first.click()
    expect(page.get_by_test_id("tab")).to_have_count(2)
    expect(editor.node("prompt").get_by_label("text", exact=True)).to_have_value(
        "a large blue ring stays still over sand"
    )


def test_edits_and_their_history_survive_a_reload(editor: Editor, page: Page) -> None:
    editor.open()
    prompt = editor.node("prompt").get_by_label("text", exact=True)
    before = prompt.input_value()
    prompt.fill("a medium pink cross moves down over a brick ground")
    page.reload()
    expect(prompt).to_have_value("a medium pink cross moves down over a brick ground")
    editor.press("Control+z")
    expect(prompt).to_have_value(before)


def test_run_to_here_makes_only_what_the_node_needs(editor: Editor, page: Page) -> None:
    editor.open_template("mask-edit-shapes")
    overlay = editor.node_of_type("mask_overlay")
    overlay.hover()
    overlay.get_by_role("button", name="Run to here").click()
    expect(overlay.get_by_test_id("clip")).to_be_visible(timeout=60_000)
    editor.expect_run("completed")
    expect(editor.node_of_type("edit_video")).to_have_attribute("data-state", "idle")


def test_stop_ends_a_run_within_a_step_and_the_next_one_is_whole(editor: Editor, page: Page) -> None:
    editor.open_template("all-five")
    editor.node("generate").get_by_role("button", name="New seed", exact=True).click()
    editor.run()
    expect(editor.node("generate")).to_have_attribute("data-state", "running", timeout=60_000)
    page.get_by_test_id("stop").click()
    editor.expect_run("cancelled", timeout_s=15)
    expect(editor.node("save").get_by_test_id("clip")).to_have_count(0)
    editor.node("look").hover()
    editor.node("look").get_by_role("button", name="Run to here").click()
    expect(editor.node("look").get_by_test_id("clip")).to_be_visible(timeout=60_000)


def test_an_uploaded_picture_is_chosen_and_shown(editor: Editor, root: Path) -> None:
    editor.open()
    editor.add_node("load image", (620, 720))
    load = editor.node_of_type("load_image")
    load.get_by_test_id("upload").set_input_files(root / "workflows" / "assets" / "shapes-start.png")
    expect(load.get_by_role("img", name=re.compile("shapes-start"))).to_be_visible()
    expect(load.get_by_label("file", exact=True)).to_have_value(re.compile("shapes-start"))


def test_a_narrow_window_hides_nothing_past_its_edge(editor: Editor, page: Page) -> None:
    editor.open()
    editor.run()
    editor.expect_run("completed")
    download = page.get_by_test_id("viewer").get_by_role("link", name=re.compile("Download"))
    for width_px in (1000, 700, 420):
        page.set_viewport_size({"width": width_px, "height": 800})
        page.wait_for_function("innerWidth >= document.documentElement.scrollWidth")
        expect(download).to_be_in_viewport(ratio=1)


def test_both_themes_and_every_panel_are_there(editor: Editor, page: Page) -> None:
    editor.open()
    room = "getComputedStyle(document.body).backgroundColor"
    seen = set()
    for _ in range(3):
        seen.add(page.evaluate(room))
        page.get_by_test_id("theme").click()
    assert len(seen) == 2
    for key, panel in (("n", "nodes"), ("t", "templates"), ("q", "queue")):
        editor.canvas.focus()
        editor.press(key)
        expect(page.get_by_test_id(f"panel-{panel}")).to_be_visible()
    editor.canvas.focus()
    editor.press("?")
    expect(page.get_by_role("dialog", name="Keyboard and mouse")).to_be_visible()
    editor.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
