"""A small ComfyUI: the modules of its API that the pack uses, its executor, and four of its own nodes.

The pack is loaded as ComfyUI loads it, from a copied folder under a name that is a path.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest
import torch

PACK = Path(__file__).resolve().parents[3] / "nodes" / "comfy"
PACK_NAME = "/somewhere/custom_nodes/rushes"

Prompt = Mapping[str, Mapping[str, Any]]


class InterruptProcessingException(BaseException):
    """As in ComfyUI, no Exception."""


class VideoContainer(StrEnum):
    AUTO = "auto"
    MP4 = "mp4"


class VideoCodec(StrEnum):
    AUTO = "auto"
    H264 = "h264"


class VideoInput:
    """Base of VIDEO."""


class VideoFromFile(VideoInput):
    def __init__(self, file: str) -> None:
        self.file = file

    def get_components(self) -> SimpleNamespace:
        with av.open(self.file) as container:
            stream = container.streams.video[0]
            frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
            rate = Fraction(stream.average_rate or 1)
        return SimpleNamespace(images=torch.from_numpy(np.stack(frames)).float() / 255.0, frame_rate=rate)

    def save_to(
        self, path: str, format: str = "auto", codec: str = "auto", metadata: dict[str, Any] | None = None
    ) -> None:
        """Copies the stream and the tags it has, and adds the new ones."""
        options = {"movflags": "use_metadata_tags"}
        with av.open(self.file) as source, av.open(path, "w", options=options) as target:
            stream = source.streams.video[0]
            copy = target.add_stream_from_template(stream)
            target.metadata.update(source.metadata)
            target.metadata.update({name: json.dumps(value) for name, value in (metadata or {}).items()})
            for packet in source.demux(stream):
                if packet.dts is not None:
                    packet.stream = copy
                    target.mux(packet)


@dataclass
class Shown:
    """What a page would have been told while nodes ran."""

    progress: list[tuple[int, int]] = field(default_factory=list)
    previews: list[tuple[int, int]] = field(default_factory=list)
    """Sizes of preview pictures, width and height in pixels."""
    ui: dict[str, Any] = field(default_factory=dict)


class ComfyUI:
    """One running ComfyUI with its folders, the pack loaded."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.shown = Shown()
        self.is_interrupted = False
        self.after_preview: Callable[[], None] = lambda: None
        self._cache: dict[str, Any] = {}
        for name in ("output", "temp", "input"):
            (folder / name).mkdir(parents=True)
        self._install(monkeypatch)
        self.pack_folder = folder / "custom_nodes" / "rushes"
        shutil.copytree(PACK, self.pack_folder, ignore=shutil.ignore_patterns("settings.json", "__pycache__"))
        self.pack = load_pack(self.pack_folder, monkeypatch)
        self.classes: dict[str, Any] = {**self.pack.NODE_CLASS_MAPPINGS, **OWN_NODES}

    def settings(self, **values: str) -> None:
        (self.pack_folder / "settings.json").write_text(json.dumps(values))

    def interrupt(self) -> None:
        """What the page's button does."""
        self.is_interrupted = True

    def part(self, name: str) -> Any:
        """A module of the pack."""
        return sys.modules[f"{PACK_NAME}.{name}"]

    async def run(self, prompt: Prompt) -> dict[str, tuple[Any, ...]]:
        """Every output node and what it needs; results by node id. Ready async nodes run side by side."""
        self.shown = Shown()
        wanted = [node_id for node_id in prompt if self._is_root(prompt[node_id])]
        running: dict[str, asyncio.Task[tuple[Any, ...]]] = {}

        async def result(node_id: str) -> tuple[Any, ...]:
            if node_id not in running:
                running[node_id] = asyncio.create_task(self._execute(prompt, node_id, result))
            return await running[node_id]

        try:
            await asyncio.gather(*(result(node_id) for node_id in wanted))
        finally:  # ComfyUI runs a prompt in its own loop: whatever is left is cancelled with it
            for task in running.values():
                task.cancel()
            await asyncio.gather(*running.values(), return_exceptions=True)
        return {node_id: task.result() for node_id, task in running.items()}

    def _is_root(self, node: Mapping[str, Any]) -> bool:
        return bool(vars_of(self.classes[node["class_type"]]).get("OUTPUT_NODE", False))

    async def _execute(self, prompt: Prompt, node_id: str, result: Callable[[str], Any]) -> tuple[Any, ...]:
        signature = json.dumps(_ancestry(prompt, node_id), sort_keys=True)
        if signature in self._cache:
            answer = self._cache[signature]
        else:
            answer = await self._call(prompt, node_id, result)
            self._cache[signature] = answer
        if isinstance(answer, dict):
            self.shown.ui[node_id] = answer.get("ui")
            return tuple(answer.get("result", ()))
        return tuple(answer)

    async def _call(self, prompt: Prompt, node_id: str, result: Callable[[str], Any]) -> Any:
        node_class = self.classes[prompt[node_id]["class_type"]]
        form = node_class.INPUT_TYPES()
        known = {**form.get("required", {}), **form.get("optional", {})}
        values = {}
        for name, value in prompt[node_id]["inputs"].items():
            assert name in known, f"{node_class.__name__} has no input {name}"
            linked = isinstance(value, list)
            values[name] = (await result(value[0]))[value[1]] if linked else value
        for name, kind in form.get("hidden", {}).items():
            values[name] = dict(prompt) if kind == "PROMPT" else {"workflow": {"nodes": []}}
        assert not set(form.get("required", {})) - set(values), "a required input is missing"
        answer = getattr(node_class(), node_class.FUNCTION)(**values)
        return await answer if inspect.isawaitable(answer) else answer

    # ---- the modules of its API ----

    def _install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        modules: dict[str, dict[str, Any]] = {
            "comfy": {},
            "comfy.utils": {"ProgressBar": self._progress_bar},
            "comfy.model_management": {
                "throw_exception_if_processing_interrupted": self._throw_if_interrupted,
                "InterruptProcessingException": InterruptProcessingException,
            },
            "comfy.cli_args": {"args": SimpleNamespace(disable_metadata=False)},
            "folder_paths": {
                "get_temp_directory": lambda: str(self.folder / "temp"),
                "get_output_directory": lambda: str(self.folder / "output"),
                "get_directory_by_type": lambda kind: str(self.folder / kind),
                "get_save_image_path": _save_path,
            },
            "comfy_api": {},
            "comfy_api.latest": {
                "Input": SimpleNamespace(Video=VideoInput),
                "InputImpl": SimpleNamespace(VideoFromFile=VideoFromFile),
                "Types": SimpleNamespace(VideoContainer=VideoContainer, VideoCodec=VideoCodec),
            },
        }
        for name, content in modules.items():
            module = ModuleType(name)
            vars(module).update(content)
            monkeypatch.setitem(sys.modules, name, module)

    def _throw_if_interrupted(self) -> None:
        if self.is_interrupted:
            self.is_interrupted = False
            raise InterruptProcessingException

    def _progress_bar(self, total: int) -> SimpleNamespace:
        def update_absolute(value: int, total: int = total, preview: Any = None) -> None:
            self._throw_if_interrupted()
            self.shown.progress.append((value, total))
            if preview is not None:
                kind, picture, side_px = preview
                assert kind == "JPEG"
                assert side_px >= 256
                picture.load()
                self.shown.previews.append(picture.size)
                self.after_preview()

        return SimpleNamespace(update_absolute=update_absolute)


def load_pack(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(PACK_NAME, folder / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    for known in [name for name in sys.modules if name.startswith(PACK_NAME)]:
        monkeypatch.delitem(sys.modules, known)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, PACK_NAME, module)
    spec.loader.exec_module(module)
    return module


def vars_of(node_class: type) -> dict[str, Any]:
    return {name: value for base in reversed(node_class.__mro__) for name, value in vars(base).items()}


def _ancestry(prompt: Prompt, node_id: str) -> Any:
    node = prompt[node_id]
    inputs = {
        name: [_ancestry(prompt, value[0]), value[1]] if isinstance(value, list) else value
        for name, value in node["inputs"].items()
    }
    return [node["class_type"], inputs]


def _save_path(prefix: str, folder: str, width: int, height: int) -> tuple[str, str, int, str, str]:
    counter = len(list(Path(folder).glob(f"{prefix}_*"))) + 1
    return folder, prefix, counter, "", prefix


# ---- nodes of ComfyUI itself ----


class PreviewImage:
    OUTPUT_NODE = True
    FUNCTION = "show"

    @classmethod
    def INPUT_TYPES(cls) -> dict[str, Any]:
        return {"required": {"images": ("IMAGE",)}}

    def show(self, images: torch.Tensor) -> dict[str, Any]:
        return {"ui": {"images": []}, "result": (images,)}


class SaveVideo:
    OUTPUT_NODE = True
    FUNCTION = "save"

    @classmethod
    def INPUT_TYPES(cls) -> dict[str, Any]:
        widgets = {"filename_prefix": ("STRING", {}), "format": (["auto"], {}), "codec": (["auto"], {})}
        return {"required": {"video": ("VIDEO",), **widgets}}

    def save(self, video: VideoInput, **_: str) -> dict[str, Any]:
        assert isinstance(video, VideoFromFile)
        return {"ui": {}, "result": (video,)}


class Given:
    """Stands for a node of another pack: gives what the test put in."""

    FUNCTION = "give"
    values: dict[str, Any] = {}  # noqa: RUF012 - set by tests

    @classmethod
    def INPUT_TYPES(cls) -> dict[str, Any]:
        return {"required": {"name": ("STRING", {})}}

    def give(self, name: str) -> tuple[Any]:
        return (self.values[name],)


OWN_NODES: Mapping[str, Any] = {"PreviewImage": PreviewImage, "SaveVideo": SaveVideo, "Given": Given}


def prompt_of(document: Mapping[str, Any], classes: Mapping[str, Any]) -> dict[str, Any]:
    """A saved workflow as the page would send it: widget values by position become inputs by name."""
    links = {link[0]: link for link in document["links"]}
    prompt = {}
    for node in document["nodes"]:
        if node["type"] == "MarkdownNote":
            continue
        form = classes[node["type"]].INPUT_TYPES()
        values = iter(node["widgets_values"])
        inputs: dict[str, Any] = {}
        for name, given in [*form["required"].items(), *form.get("optional", {}).items()]:
            if isinstance(given[0], list) or given[0] in ("INT", "FLOAT", "STRING", "BOOLEAN"):
                inputs[name] = next(values)
                if given[1].get("control_after_generate"):
                    assert next(values) == "fixed"
        assert list(values) == [], node["type"]
        for socket in node["inputs"]:
            if socket["link"] is not None:
                _, source, slot, *_ = links[socket["link"]]
                inputs[socket["name"]] = [str(source), slot]
        prompt[str(node["id"])] = {"class_type": node["type"], "inputs": inputs}
    return prompt
