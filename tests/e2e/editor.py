"""The editor as a person uses it: what they click, drag and read."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Locator, Page, expect

Picture = NDArray[np.float32]
"""[H, W, 3], 0 to 1."""

# Notes each step's picture on a node as it is drawn, and when the run began and ended, by the page's clock.
_WATCH = """
([nodeId]) => {
  const notes = { previews: [], ended: null, began: performance.now() };
  const seen = new Set();
  const grab = (canvas) => {
    const copy = document.createElement("canvas");
    copy.width = canvas.width;
    copy.height = canvas.height;
    copy.getContext("2d").drawImage(canvas, 0, 0);
    return copy.toDataURL("image/png");
  };
  const look = () => {
    const state = document.querySelector("[data-testid=run-state]")?.dataset.runState;
    if (["completed", "failed", "cancelled"].includes(state)) { notes.ended = performance.now(); return; }
    const canvas = document.querySelector(`[data-node-id="${nodeId}"] canvas[data-step]`);
    const step = canvas?.dataset.step;
    if (step && !seen.has(step)) {
      seen.add(step);
      notes.previews.push({ step: Number(step), at: performance.now(), picture: grab(canvas) });
    }
    requestAnimationFrame(look);
  };
  window.rushesNotes = notes;
  look();
}
"""

_GRAB = """
(media) => {
  const copy = document.createElement("canvas");
  copy.width = media.videoWidth || media.width;
  copy.height = media.videoHeight || media.height;
  copy.getContext("2d").drawImage(media, 0, 0);
  return copy.toDataURL("image/png");
}
"""

_SEEK = """
(video, seconds) => new Promise((done) => {
  video.pause();
  video.requestVideoFrameCallback(() => done());
  video.currentTime = seconds;
})
"""


_TRANSFER = """
([name, text]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name, { type: "application/json" }));
  return transfer;
}
"""


@dataclass(frozen=True)
class Preview:
    step: int
    share: float
    """When it was drawn, as a share of the run's time."""
    picture: Picture


def picture_of(data_url: str) -> Picture:
    image = Image.open(io.BytesIO(base64.b64decode(data_url.partition(",")[2]))).convert("RGB")
    return np.asarray(image, dtype=np.float32) / np.float32(255)


class Editor:
    def __init__(self, page: Page, server: str, folder: Path) -> None:
        self.page = page
        self.server = server
        self.folder = folder

    def open(self) -> None:
        """A first visit: the page comes with a workflow that runs as it is."""
        self.page.goto(self.server)
        expect(self.nodes.first).to_be_visible()

    def open_template(self, name: str) -> None:
        self.open()
        self.page.get_by_role("navigation", name="Panels").get_by_role("button", name="Templates").click()
        self.page.locator(f"[data-template={name}]").click()
        expect(self.page.locator(f"[data-template={name}]")).to_have_count(0)

    @property
    def nodes(self) -> Locator:
        return self.page.locator("[data-node-id]")

    def node(self, node_id: str) -> Locator:
        return self.page.locator(f"[data-node-id='{node_id}']")

    def node_of_type(self, type_id: str) -> Locator:
        return self.page.locator(f"[data-node-type='{type_id}']")

    @property
    def edges(self) -> Locator:
        return self.page.locator("[data-edge-id]")

    @property
    def palette(self) -> Locator:
        return self.page.get_by_test_id("palette")

    @property
    def canvas(self) -> Locator:
        return self.page.get_by_test_id("canvas")

    def add_node(self, query: str, at: tuple[int, int]) -> None:
        """Double-click on the empty canvas, type, Enter."""
        self.page.mouse.dblclick(*at)
        self.palette.get_by_role("combobox").fill(query)
        self.page.keyboard.press("Enter")
        expect(self.palette).to_have_count(0)

    def socket(self, node: Locator, side: str, name: str) -> Locator:
        return node.locator(f"[data-side={side}][data-socket={name}]")

    def drag_socket(self, start: Locator, to: tuple[float, float], *, drops: bool = True) -> None:
        """From the shape of a socket to a point of the screen."""
        self.page.mouse.move(*_centre(start.locator("svg")))
        self.page.mouse.down()
        self.page.mouse.move(*to, steps=6)
        if drops:
            self.page.mouse.up()

    def connect(self, start: Locator, stop: Locator) -> None:
        self.drag_socket(start, _centre(stop.locator("svg")))

    def drop_file(self, name: str, text: str) -> None:
        """A file dragged from elsewhere onto the canvas."""
        transfer = self.page.evaluate_handle(_TRANSFER, [name, text])
        self.canvas.dispatch_event("drop", {"dataTransfer": transfer, "clientX": 600, "clientY": 300})

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def run(self) -> None:
        self.page.get_by_test_id("run").click()

    def expect_run(self, state: str, timeout_s: float = 90) -> None:
        run_state = self.page.get_by_test_id("run-state")
        expect(run_state).to_have_attribute("data-run-state", state, timeout=timeout_s * 1000)

    def run_and_watch(self, node_id: str, timeout_s: float = 120) -> list[Preview]:
        """Runs to the end and gives the previews drawn on a node meanwhile."""
        self.run()
        expect(self.page.get_by_test_id("run-state")).to_have_attribute("data-run-state", "running")
        self.page.evaluate(_WATCH, [node_id])
        self.expect_run("completed", timeout_s)
        notes: Any = self.page.evaluate("window.rushesNotes")
        whole = notes["ended"] - notes["began"]
        return [
            Preview(note["step"], (note["at"] - notes["began"]) / whole, picture_of(note["picture"]))
            for note in notes["previews"]
        ]

    def picture(self, media: Locator) -> Picture:
        """What a canvas or a clip shows now."""
        return picture_of(media.evaluate(_GRAB))

    def expect_playing(self, clip: Locator) -> None:
        """The clip runs by itself: its time goes on."""
        expect(clip).to_have_js_property("paused", False)
        before = clip.evaluate("video => video.currentTime")
        for _ in range(50):
            if clip.evaluate("video => video.currentTime") != before:
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"the clip stands still at {before} s")

    def frame(self, clip: Locator, seconds: float) -> Picture:
        """The frame of a clip at a time."""
        expect(clip).to_have_js_property("readyState", 4)
        clip.evaluate(_SEEK, seconds)
        return self.picture(clip)


def _centre(locator: Locator) -> tuple[float, float]:
    box = locator.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
