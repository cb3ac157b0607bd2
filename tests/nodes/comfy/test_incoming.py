"""Pictures, clips and masks of other packs become fragments; a mask keeps its pixels."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from rushes.backend.engine.masks import CombinedMask, ShapeMask
from rushes.backend.engine.values import Canvas, Mask
from rushes.nodes.comfy.fragment import Fragment, Wire
from tests.nodes.comfy.standin import ComfyUI, VideoFromFile

OUTSIDE, INSIDE = 0.0, 1.0


def wire(comfyui: ComfyUI, value: Any, class_name: str, socket: str) -> Wire:
    """What a node makes of something connected to its socket."""
    declaration = comfyui.classes[class_name].declaration
    catalog = comfyui.part("declarations").read_declarations()
    found: Wire = comfyui.part("incoming").as_wire(value, declaration.socket(socket), catalog)
    return found


def mask_wire(comfyui: ComfyUI, plane: np.ndarray) -> Wire:
    return wire(comfyui, torch.from_numpy(plane.astype(np.float32))[None], "RushesEditVideo", "mask")


def drawn(fragment: Fragment, node_id: str, width: int, height: int) -> np.ndarray:
    """The mask as the engine draws it, one frame."""
    plane: np.ndarray = _mask(fragment, node_id).draw(Canvas(width, height, 1))[0]
    return plane


def _mask(fragment: Fragment, node_id: str) -> Mask:
    node = fragment.node(node_id)
    params: dict[str, Any] = dict(node.params)
    if node.type_id == "combine_masks":
        a, b = (_mask(fragment, source.node_id) for _, source in node.links)
        return CombinedMask(a, b, params["mode"])
    corners = [tuple(float(part) for part in word.split(",")) for word in params["points"].split()]
    box = (params["x"], params["y"], params["width"], params["height"])
    return ShapeMask(
        params["shape"], box, tuple(corners), params["feather_px"], params["value"], params["invert"]
    )


def ring(side: int = 48) -> np.ndarray:
    """A region with a hole, and an island in the hole."""
    plane = np.zeros((side, side))
    plane[8:40, 8:40] = INSIDE
    plane[14:34, 14:34] = OUTSIDE
    plane[20:28, 20:28] = INSIDE
    return plane


def touching_at_corners() -> np.ndarray:
    plane = np.zeros((16, 24))
    plane[2:6, 2:6] = plane[6:10, 6:10] = plane[2:6, 10:14] = INSIDE
    return plane


def to_the_rim() -> np.ndarray:
    plane = np.zeros((12, 20))
    plane[:5, 7:] = plane[9:, :4] = INSIDE
    return plane


@pytest.mark.parametrize(
    "plane", [ring(), touching_at_corners(), to_the_rim()], ids=["ring", "corners", "rim"]
)
def test_a_mask_is_drawn_as_it_was_to_the_pixel(comfyui: ComfyUI, plane: np.ndarray):
    found = mask_wire(comfyui, plane)
    height, width = plane.shape
    assert found.type == "MASK"
    assert np.array_equal(drawn(found.fragment, found.source.node_id, width, height), plane)


@pytest.mark.parametrize("seed", range(8))
def test_random_blobs_are_drawn_as_they_were(comfyui: ComfyUI, seed: int):
    random = np.random.default_rng(seed)
    plane = np.zeros((20, 28))
    for _ in range(6):
        top, left = random.integers(0, 16), random.integers(0, 24)
        plane[top : top + random.integers(2, 8), left : left + random.integers(2, 8)] = random.integers(0, 2)
    plane[0, 0] = INSIDE
    found = mask_wire(comfyui, plane)
    assert np.array_equal(drawn(found.fragment, found.source.node_id, 28, 20), plane)


def test_a_round_mask_of_a_large_picture_keeps_its_outline_within_two_pixels(comfyui: ComfyUI):
    y, x = np.mgrid[:1024, :1024]
    plane = ((x - 500) ** 2 + (y - 540) ** 2 < 380**2).astype(float)
    found = mask_wire(comfyui, plane)
    node = found.fragment.node(found.source.node_id)
    assert len(str(dict(node.params)["points"]).split()) <= 250
    differs = drawn(found.fragment, found.source.node_id, 1024, 1024) != plane
    assert np.abs(np.hypot(x - 500, y - 540)[differs] - 380).max() < 2.0


def test_a_mask_of_one_value_is_the_whole_frame_at_that_value(comfyui: ComfyUI):
    found = mask_wire(comfyui, np.full((8, 8), 0.5))
    params = dict(found.fragment.node(found.source.node_id).params)
    assert (params["shape"], params["value"]) == ("full", 0.5)


def test_a_soft_edge_is_cut_half_way(comfyui: ComfyUI):
    plane = np.zeros((8, 16))
    plane[2:6, 4:12], plane[2:6, 3], plane[2:6, 12] = 0.8, 0.5, 0.3
    found = mask_wire(comfyui, plane)
    assert drawn(found.fragment, found.source.node_id, 16, 8)[3].tolist() == pytest.approx(
        [0.0] * 3 + [0.8] * 9 + [0.0] * 4
    )


def test_masks_that_cannot_come_in_say_why(comfyui: ComfyUI):
    error = comfyui.part("failure").RushesError
    moving = torch.zeros(3, 8, 8)
    moving[1] = 1.0
    with pytest.raises(error, match="differs from frame to frame"):
        wire(comfyui, moving, "RushesEditVideo", "mask")
    with pytest.raises(error, match="0 everywhere"):
        mask_wire(comfyui, np.zeros((8, 8)))
    specks = np.zeros((40, 40))
    specks[::4, ::4] = INSIDE
    with pytest.raises(error, match="100 pieces"):
        mask_wire(comfyui, specks)


def test_a_picture_becomes_a_png_named_by_its_content(comfyui: ComfyUI):
    image = torch.rand(1, 5, 7, 3)
    first = wire(comfyui, image, "RushesStreamingRollout", "start")
    assert first == wire(comfyui, image.clone(), "RushesStreamingRollout", "start")
    (file,) = first.fragment.files
    assert first.type == "IMAGE"
    assert dict(first.fragment.node(first.source.node_id).params) == {"file": file.name}
    with Image.open(file.path) as written:
        pixels = np.asarray(written)
    assert np.array_equal(pixels, np.round(image[0].numpy() * 255).astype(np.uint8))


def test_a_batch_is_no_picture(comfyui: ComfyUI):
    with pytest.raises(comfyui.part("failure").RushesError, match=r"a batch of 9\. Make it a clip with"):
        wire(comfyui, torch.zeros(9, 8, 8, 3), "RushesStreamingRollout", "start")


def test_a_clip_becomes_a_file_named_by_its_content(comfyui: ComfyUI, root: Path):
    clip = VideoFromFile(str(root / "workflows" / "assets" / "shapes-source.mp4"))
    found = wire(comfyui, clip, "RushesEditVideo", "source")
    (file,) = found.fragment.files
    assert (found.type, file.path.suffix) == ("VIDEO", ".mp4")
    assert found == wire(comfyui, clip, "RushesEditVideo", "source")


def test_anything_else_is_refused_by_name(comfyui: ComfyUI):
    with pytest.raises(comfyui.part("failure").RushesError, match="source: VIDEO was expected, got str"):
        wire(comfyui, "a file name", "RushesEditVideo", "source")
