"""ComfyUI's API: the only place that touches it, and only while a node runs.

It is imported by name when first needed: the pack loads in a few milliseconds, and in a Python that has
neither ComfyUI nor torch. `torch` here is ComfyUI's own.
"""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import Coroutine, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from .job import Made

Result = TypeVar("Result")

TICK_S = 0.05
PREVIEW_S = 1 / 8
PREVIEW_SIDE_PX = 512
BAR_LENGTH = 1000
END_S = 5.0


class NodeDisplay:
    """Progress bar and moving preview of the running node; a `Watcher`.

    ComfyUI shows one picture at a time, so the pictures of a preview are shown in turn, which makes it move.
    """

    def __init__(self) -> None:
        self._bar = import_module("comfy.utils").ProgressBar(BAR_LENGTH)
        self._throw_if_interrupted = import_module(
            "comfy.model_management"
        ).throw_exception_if_processing_interrupted
        self._share = 0.0
        self._shown_share = -1.0
        self._pictures: tuple[bytes, ...] = ()
        self._next_picture = 0
        self._next_at = 0.0

    def progressed(self, share: float) -> None:
        self._share = share

    def previewed(self, pictures: tuple[bytes, ...]) -> None:
        if pictures:
            self._pictures, self._next_picture, self._next_at = pictures, 0, 0.0

    def tick(self) -> None:
        """Show what is new. Errors: ComfyUI's own exception when it was interrupted."""
        self._throw_if_interrupted()
        now = time.monotonic()
        if self._pictures and now >= self._next_at:
            picture = self._pictures[self._next_picture % len(self._pictures)]
            self._next_picture, self._next_at = self._next_picture + 1, now + PREVIEW_S
            self._show(_preview(picture))
        elif self._share != self._shown_share:
            self._show(None)

    def _show(self, preview: tuple[str, Any, int] | None) -> None:
        self._shown_share = self._share
        self._bar.update_absolute(round(self._share * BAR_LENGTH), BAR_LENGTH, preview)


def _preview(picture: bytes) -> tuple[str, Any, int]:
    image = import_module("PIL.Image").open(io.BytesIO(picture))
    return ("JPEG", image, PREVIEW_SIDE_PX)


async def attend(work: Coroutine[Any, Any, Result], display: NodeDisplay) -> Result:
    """The result of `work`, while the node shows how far it is. An interrupt cancels it and is passed on."""
    task = asyncio.create_task(work)
    try:
        while not (await asyncio.wait({task}, timeout=TICK_S))[0]:
            display.tick()
        display.tick()
        return task.result()
    finally:
        if not task.done():
            if not task.cancelling():  # else ComfyUI is ending every task, and this one is cancelling its job
                task.cancel()
            await asyncio.wait({task}, timeout=END_S)


# ---- files ----


def temp_folder() -> Path:
    """Ours within ComfyUI's, which is emptied when ComfyUI starts."""
    folder = Path(import_module("folder_paths").get_temp_directory()) / "rushes"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def shown_file(path: Path, kind: str) -> dict[str, str]:
    """How ComfyUI names a file in one of its folders. `kind`: output or temp."""
    root = Path(import_module("folder_paths").get_directory_by_type(kind))
    relative = path.relative_to(root)
    subfolder = relative.parent.as_posix().removeprefix(".")
    return {"filename": relative.name, "subfolder": subfolder, "type": kind}


def output_path(prefix: str, made: Made) -> Path:
    """The next free numbered name in ComfyUI's output folder."""
    folder_paths = import_module("folder_paths")
    folder, name, counter, _, _ = folder_paths.get_save_image_path(
        prefix, folder_paths.get_output_directory(), made.width_px, made.height_px
    )
    return Path(folder) / f"{name}_{counter:05}_{made.path.suffix}"


def metadata(prompt: Any, extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """What ComfyUI writes into files, by its own choice nothing."""
    if import_module("comfy.cli_args").args.disable_metadata:
        return {}
    return {**(extra or {}), **({} if prompt is None else {"prompt": prompt})}


# ---- pictures and clips ----


def video_from_file(path: Path) -> Any:
    """ComfyUI's VIDEO, decoded when somebody asks for frames."""
    return import_module("comfy_api.latest").InputImpl.VideoFromFile(str(path))


def is_video(value: Any) -> bool:
    return isinstance(value, import_module("comfy_api.latest").Input.Video)


def is_tensor(value: Any) -> bool:
    return isinstance(value, import_module("torch").Tensor)


def frames_of(made: Made) -> Any:
    """IMAGE: float [frames, height, width, 3], 0 to 1."""
    if made.fps:
        return video_from_file(made.path).get_components().images
    torch, image_module = import_module("torch"), import_module("PIL.Image")
    with image_module.open(made.path) as opened:
        image = opened.convert("RGB")
    pixels = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    return pixels.reshape(1, image.height, image.width, 3).float() / 255.0


def write_png(picture: Any, path: Path) -> None:
    """`picture`: float [height, width, channels]; a fourth channel is left out."""
    pixels = (picture[..., :3].clamp(0.0, 1.0) * 255.0).round().byte().cpu().contiguous()
    height, width = pixels.shape[:2]
    image = import_module("PIL.Image").frombytes("RGB", (width, height), pixels.numpy().tobytes())
    image.save(path, "PNG")


def write_video(video: Any, path: Path) -> None:
    """As MP4; ComfyUI copies a stream that fits and encodes any other."""
    types = import_module("comfy_api.latest").Types
    video.save_to(str(path), format=types.VideoContainer.MP4, codec=types.VideoCodec.H264)


def keep_video(made: Made, path: Path, tags: Mapping[str, Any]) -> None:
    """The clip under another name, with ComfyUI's workflow beside ours; nothing is encoded again."""
    video_from_file(made.path).save_to(str(path), metadata=dict(tags))


def keep_picture(made: Made, path: Path, tags: Mapping[str, Any]) -> None:
    """The picture under another name; a PNG with ComfyUI's workflow beside ours."""
    if made.path.suffix != ".png":
        path.write_bytes(made.path.read_bytes())
        return
    png = import_module("PIL.PngImagePlugin")
    with import_module("PIL.Image").open(made.path) as image:
        chunks = png.PngInfo()
        for name, text in image.text.items():
            chunks.add_itxt(name, text)
        for name, value in tags.items():
            chunks.add_text(name, json.dumps(value))
        image.save(path, "PNG", pnginfo=chunks)
