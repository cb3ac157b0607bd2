"""The ops a spec may name: what each reads, writes and is told. The engine has one stage per op.

Kinds of values: model, adapters, conditioning, image, video, mask, latent, mask_latent, actions, session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

AttrKind = type[bool] | type[int] | type[float] | type[str] | type[tuple]  # type: ignore[type-arg]


@dataclass(frozen=True, slots=True)
class Port:
    name: str
    kinds: tuple[str, ...]
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Op:
    op: str
    reads: tuple[Port, ...]
    writes: tuple[Port, ...]
    attrs: Mapping[str, AttrKind]
    is_loop: bool = False


def _op(
    op: str, reads: str, writes: str, attrs: Mapping[str, AttrKind], *, is_loop: bool = False
) -> tuple[str, Op]:
    return op, Op(op, _ports(reads), _ports(writes), attrs, is_loop)


def _ports(text: str) -> tuple[Port, ...]:
    """`start?:video|image` is an optional port named start; a bare name is its own kind."""
    ports = []
    for word in text.split():
        name, _, kinds = word.partition(":")
        bare = name.removesuffix("?")
        ports.append(Port(bare, tuple((kinds or bare).split("|")), name.endswith("?")))
    return tuple(ports)


_SIZE: Mapping[str, AttrKind] = {"width_px": int, "height_px": int}
_SAMPLING: Mapping[str, AttrKind] = {
    "seed": int,
    "sigmas": tuple,  # decreasing, one more than the steps that run; shifted and cut already
    "sampler": str,
    "guidance_scale": float,
    "fps": float,
}

OPS: Mapping[str, Op] = dict(
    [
        # content_id (here and below): which bytes were meant, so that a replaced file is another program
        _op("load_model", "", "model", {"checkpoint": str, "precision": str, "content_id": str}),
        # entries: ((adapter, strength, text_strength), ...) in chain order; content_ids: one per entry
        _op("stack_adapters", "", "adapters", {"entries": tuple, "content_ids": tuple}),
        _op("encode_text", "model adapters?", "conditioning", {"text": str}),
        _op("load_image", "", "image", {"asset": str, "content_id": str}),
        _op("load_video", "", "video", {"asset": str, "content_id": str}),
        # Coverage is 1 inside the shape, falls to 0 over `feather_px` pixels outside its edge; `invert`
        # takes 1 - coverage; the mask is coverage * value. x, y, width, height: box in fractions of the
        # frame, from the top left; points: ((x, y), ...) of a polygon, same units, even-odd rule.
        _op(
            "latent_mask",
            "",
            "mask",
            {
                "shape": str,  # full, rectangle, ellipse, polygon
                "x": float,
                "y": float,
                "width": float,
                "height": float,
                "points": tuple,
                "feather_px": float,
                "value": float,
                "invert": bool,
            },
        ),
        # ranges: ((first_frame, last_frame_exclusive, value), ...) in pixel frames, disjoint, sorted
        _op("temporal_mask", "", "mask", {"ranges": tuple, "other_value": float, "frame_count": int}),
        _op("combine_masks", "a:mask b:mask", "mask", {"mode": str}),  # union intersect subtract multiply
        _op("encode_video", "model video:video|image", "latent", {**_SIZE, "frame_count": int}),
        _op(
            "mask_to_latent",
            "mask",
            "mask_latent",
            {**_SIZE, "frame_count": int, "fps": float, "spatial": int, "temporal": int},
        ),
        _op(
            "denoise",
            "model conditioning negative?:conditioning adapters?"
            " source?:latent mask?:mask_latent start?:latent",
            "latent",
            {**_SAMPLING, **_SIZE, "frame_count": int, "denoise_strength": float},
            is_loop=True,
        ),
        _op("decode", "model latent", "video", {"fps": float}),
        _op(
            "rollout",
            "model conditioning negative?:conditioning adapters? start?:video|image actions?",
            "video session",
            {
                **_SAMPLING,
                **_SIZE,
                "mode": str,
                "chunk_latent_frames": int,
                "sink_frames": int,  # latent frames
                "window_frames": int,  # latent frames
                "temporal": int,
                "paced": bool,
                "session": str,
            },
            is_loop=True,
        ),
        # keymap: ((keyboard key, control key), ...); controls arrive as control keys
        _op("live_actions", "", "actions", {"keymap": tuple}),
        # script: a tuple of control keys per latent frame; repeat: hold or loop
        _op("action_script", "", "actions", {"script": tuple, "repeat": str}),
        _op("mask_overlay", "video:video|image mask", "video", {"colour": str, "opacity": float}),
        _op("save_video", "video", "", {"name": str, "format": str, "quality": int, "embed": bool}),
        _op("save_image", "image:image|video", "", {"name": str, "format": str, "frame_index": int}),
        _op("preview", "video:video|image", "", {}),
    ]
)
