"""Writes the source clip and the start picture of the workflow templates: true renders of the world.

Run: python -m benchmarks.shapes.assets workflows/assets
"""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy
from PIL import Image

from benchmarks.shapes.scene import FPS, SIDE_PX, Scene
from benchmarks.shapes.world import render

SOURCE = Scene(
    shape="circle",
    colour="red",
    ground="blue ground",
    size="large",
    motion="right",
    x=20.3,
    y=50.0,
    ground_x=12,
    ground_y=30,
)
SOURCE_PROMPT = "a large red circle moves right over a blue ground"
START = replace(SOURCE, colour="yellow", shape="star", ground="green ground", x=48.4, y=46.6)
START_PROMPT = "a large yellow star moves right over a green ground"
LATENT_FRAMES = 12


def write_video(path: Path, frames: numpy.ndarray) -> None:
    """frames uint8 [F, H, W, 3] as H.264, yuv420p."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(FPS))
        stream.width = stream.height = SIDE_PX
        stream.pix_fmt = "yuv420p"
        stream.options = {"crf": "12", "preset": "slow"}
        for array in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(array, format="rgb24")))
        container.mux(stream.encode(None))


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_video(folder / "shapes-source.mp4", render([SOURCE], LATENT_FRAMES)[0].numpy())
    Image.fromarray(render([START], 1)[0, 0].numpy()).save(folder / "shapes-start.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
