"""Pictures, clips and masks of other packs, as fragments of ours.

Pixels become a file in ComfyUI's temp folder named by its content; the file goes to the server when the
fragment runs. A mask becomes outlines: the catalog has no painted mask yet.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import contour, host, labels
from .declarations import Declaration, ParamValue, Socket
from .failure import RushesError
from .fragment import Fragment, MediaFile, Node, Source, Wire, make_node

PIECES_MAX = 24
EDGE_SHARE = 0.5
"""Of the mask's largest value: where its soft edge is cut."""

Catalog = Mapping[str, Declaration]


def as_wire(value: Any, socket: Socket, catalog: Catalog) -> Wire:
    """What is connected to one of our sockets, as a wire. Errors: RushesError."""
    if isinstance(value, Wire):
        if value.type not in socket.types:
            raise RushesError(labels.wrong_wire(socket.name, " or ".join(socket.types), value.type))
        return value
    if "VIDEO" in socket.types and host.is_video(value):
        return _video(value, catalog)
    if host.is_tensor(value):
        if "MASK" in socket.types and value.ndim in (2, 3):
            return _mask(value, socket, catalog)
        if "IMAGE" in socket.types and value.ndim == 4:
            return _picture(value, socket, catalog)
    raise RushesError(labels.wrong_wire(socket.name, " or ".join(socket.types), type(value).__name__))


def _video(value: Any, catalog: Catalog) -> Wire:
    return _load("load_video", "video", _written(lambda path: host.write_video(value, path), ".mp4"), catalog)


def _picture(value: Any, socket: Socket, catalog: Catalog) -> Wire:
    if value.shape[0] != 1:
        raise RushesError(labels.one_picture(socket.name, value.shape[0]))
    file = _written(lambda path: host.write_png(value[0], path), ".png")
    return _load("load_image", "image", file, catalog)


def _written(write: Callable[[Path], None], suffix: str) -> MediaFile:
    """A file with a name made from its content."""
    folder = host.temp_folder()
    draft = folder / f"{uuid.uuid4().hex}{suffix}"
    try:
        write(draft)
        with draft.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        name = f"comfyui-{sha256[:24]}{suffix}"
        draft.replace(folder / name)
    finally:
        draft.unlink(missing_ok=True)
    return MediaFile(name, sha256, folder / name)


def _load(type_id: str, socket: str, file: MediaFile, catalog: Catalog) -> Wire:
    node = Node(type_id, catalog[type_id].version, (("file", file.name),), ())
    fragment = Fragment().with_node(node, (file,))
    return Wire(fragment, Source(node.node_id, socket), catalog[type_id].outputs[0].type)


# ---- masks ----


def _mask(value: Any, socket: Socket, catalog: Catalog) -> Wire:
    """float [height, width] or [frames, height, width], 1 is what is made anew."""
    planes = value if value.ndim == 3 else value[None]
    if not bool((planes == planes[:1]).all()):
        raise RushesError(labels.mask_moves(socket.name))
    plane = planes[0]
    level = float(plane.max())
    if level <= 0.0:
        raise RushesError(labels.mask_empty(socket.name))
    region = plane >= level * EDGE_SHARE
    if bool(region.all()):
        return _latent_mask({"shape": "full", "value": min(level, 1.0)}, catalog)
    found = contour.pieces(_edges(region))
    count = len(found) + sum(len(piece.holes) for piece in found)
    if count > PIECES_MAX:
        raise RushesError(labels.mask_in_pieces(socket.name, count, PIECES_MAX))
    height, width = plane.shape

    def draw(loop: contour.Loop, loop_value: float) -> Wire:
        corners = " ".join(f"{x / width:.4f},{y / height:.4f}" for x, y in contour.simplified(loop))
        return _latent_mask({"shape": "polygon", "points": corners, "value": loop_value}, catalog)

    drawn = [_piece(piece, min(level, 1.0), draw, catalog) for piece in found]
    whole = drawn[0]
    for one in drawn[1:]:
        whole = _combined(whole, one, "union", catalog)
    return whole


def _piece(
    piece: contour.Piece, level: float, draw: Callable[[contour.Loop, float], Wire], catalog: Catalog
) -> Wire:
    wire = draw(piece.outer, level)
    for hole in piece.holes:
        wire = _combined(wire, draw(hole, 1.0), "subtract", catalog)
    return wire


def _edges(region: Any) -> contour.Edges:
    """`region`: bool [height, width]."""
    height, width = region.shape
    padded = region.new_zeros((height + 2, width + 2))
    padded[1:-1, 1:-1] = region
    horizontal = (padded[1:] != padded[:-1]).nonzero().tolist()
    vertical = (padded[:, 1:] != padded[:, :-1]).nonzero().tolist()
    rows = padded.tolist()
    return contour.Edges(
        [(row, column, rows[row][column]) for row, column in horizontal],
        [(row, column, rows[row][column]) for row, column in vertical],
    )


def _latent_mask(params: Mapping[str, ParamValue], catalog: Catalog) -> Wire:
    declared = catalog["latent_mask"]
    values = {param.name: param.default for param in declared.params} | dict(params)
    node, fragment = make_node("latent_mask", declared.version, values, {})
    return Wire(fragment, Source(node.node_id, "mask"), "MASK")


def _combined(a: Wire, b: Wire, mode: str, catalog: Catalog) -> Wire:
    node, fragment = make_node(
        "combine_masks", catalog["combine_masks"].version, {"mode": mode}, {"a": a, "b": b}
    )
    return Wire(fragment, Source(node.node_id, "mask"), "MASK")
