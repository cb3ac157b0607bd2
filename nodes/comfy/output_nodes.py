"""ComfyUI nodes that run: they send the fragment on their wire to the server and hand on what was made.

They are async: ComfyUI starts all that are ready at once, and those go to the server as one job.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from . import forms, host, job, labels
from .choices import Choices
from .declarations import Declaration, Param, Socket
from .graph_nodes import added, class_name
from .incoming import as_wire
from .settings import read_settings
from .together import Together

Answer = dict[str, Any]
Inputs = dict[str, dict[str, Any]]

HIDDEN = {"prompt": "PROMPT", "extra_pnginfo": "EXTRA_PNGINFO"}


class RunningNode:
    """Base of what runs a fragment."""

    catalog: ClassVar[Mapping[str, Declaration]]
    choices: ClassVar[Choices]
    together: ClassVar[Together]
    FUNCTION = "run"

    async def make(self, writer: Declaration, given: Mapping[str, Any]) -> job.Made:
        """Run what is connected with the catalog's `writer` at its end. Errors: RushesError."""
        node, fragment = added(writer, given, self.catalog)
        display = host.NodeDisplay()
        order = job.Order(fragment, node.node_id, host.temp_folder(), display)
        return await host.attend(self.together.run(order, read_settings()), display)


def shown(path: Path, made: job.Made, kind: str) -> Answer:
    """What the node displays."""
    files: Answer = {"images": [host.shown_file(path, kind)]}
    return {**files, "animated": (True,)} if made.fps else files


# ---- output nodes of the catalog ----


class CatalogOutput(RunningNode):
    """It runs by itself and shows its file."""

    declaration: ClassVar[Declaration]
    OUTPUT_NODE = True
    RETURN_TYPES: ClassVar[tuple[str, ...]] = ()
    RETURN_NAMES: ClassVar[tuple[str, ...]] = ()
    OUTPUT_TOOLTIPS: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def INPUT_TYPES(cls) -> Inputs:
        return {**forms.form(cls.declaration, cls.choices), "hidden": HIDDEN}

    def name(self, given: Mapping[str, Any]) -> str:
        return str(forms.param_values(self.declaration.params, given)["name"])


class Preview(CatalogOutput):
    async def run(self, prompt: Any = None, extra_pnginfo: Any = None, **given: Any) -> Answer:
        made = await self.make(self.declaration, given)
        return {"ui": shown(made.path, made, "temp")}


class SaveVideo(CatalogOutput):
    RETURN_TYPES = ("VIDEO",)
    RETURN_NAMES = ("video",)
    OUTPUT_TOOLTIPS = (labels.VIDEO_OUT_DOC,)

    async def run(self, prompt: Any = None, extra_pnginfo: Any = None, **given: Any) -> Answer:
        made = await self.make(self.declaration, given)
        path = host.output_path(self.name(given), made)
        host.keep_video(made, path, host.metadata(prompt, extra_pnginfo))
        return {"ui": shown(path, made, "output"), "result": (host.video_from_file(path),)}


class SaveImage(CatalogOutput):
    RETURN_TYPES = ("IMAGE",)
    RETURN_NAMES = ("image",)
    OUTPUT_TOOLTIPS = (labels.IMAGE_OUT_DOC,)

    async def run(self, prompt: Any = None, extra_pnginfo: Any = None, **given: Any) -> Answer:
        made = await self.make(self.declaration, given)
        path = host.output_path(self.name(given), made)
        host.keep_picture(made, path, host.metadata(prompt, extra_pnginfo))
        return {"ui": shown(path, made, "output"), "result": (host.frames_of(made),)}


OUTPUTS: Mapping[str, type[CatalogOutput]] = {
    "preview": Preview,
    "save_image": SaveImage,
    "save_video": SaveVideo,
}


def output_node(
    declaration: Declaration, catalog: Mapping[str, Declaration], choices: Choices, together: Together
) -> type[CatalogOutput]:
    """The class ComfyUI makes its node of."""
    content = {
        "declaration": declaration,
        "catalog": catalog,
        "choices": choices,
        "together": together,
        "CATEGORY": f"{labels.MENU}/{declaration.category}",
        "DESCRIPTION": declaration.doc,
        "VALIDATE_INPUTS": classmethod(forms.accept_unknown_choices(declaration)),
    }
    return type(class_name(declaration.type_id), (OUTPUTS[declaration.type_id],), content)


# ---- nodes that run in the middle of a graph ----


class RenderNode(RunningNode):
    """It runs when a node after it needs the pixels, and shows what it hands on."""

    source: ClassVar[Socket]
    CATEGORY = f"{labels.MENU}/render"
    HAS_INTERMEDIATE_OUTPUT = True

    def writer(self, type_id: str, values: Mapping[str, Any]) -> tuple[Declaration, dict[str, Any]]:
        """The catalog's node that writes the file, with its params."""
        declaration = self.catalog[type_id]
        return declaration, {"name": "comfyui", **values}

    @classmethod
    def form(cls) -> Inputs:
        return {"required": {cls.source.name: forms.socket_input(cls.source)}}


class RenderVideo(RenderNode):
    source = Socket("video", ("VIDEO",), optional=False, doc=labels.RENDER_INPUT_DOC)
    DESCRIPTION = labels.RENDER_VIDEO_DOC
    RETURN_TYPES = ("VIDEO",)
    RETURN_NAMES = ("video",)
    OUTPUT_TOOLTIPS = (labels.VIDEO_OUT_DOC,)

    @classmethod
    def INPUT_TYPES(cls) -> Inputs:
        return {**cls.form(), "optional": {"quality": forms.widget(cls.quality(), cls.choices)}}

    @classmethod
    def quality(cls) -> Param:
        return next(param for param in cls.catalog["save_video"].params if param.name == "quality")

    async def run(self, video: Any, quality: int | None = None) -> Answer:
        values = {"video": video} | ({} if quality is None else {"quality": quality})
        made = await self.make(*self.writer("save_video", values))
        return {"ui": shown(made.path, made, "temp"), "result": (host.video_from_file(made.path),)}


class RenderImage(RenderNode):
    source = Socket("video", ("VIDEO", "IMAGE"), optional=False, doc=labels.RENDER_INPUT_DOC)
    DESCRIPTION = labels.RENDER_IMAGE_DOC
    RETURN_TYPES = ("IMAGE", "FLOAT", "INT")
    RETURN_NAMES = ("images", "fps", "frame_count")
    OUTPUT_TOOLTIPS = (labels.IMAGE_OUT_DOC, labels.FPS_OUT_DOC, labels.COUNT_OUT_DOC)

    @classmethod
    def INPUT_TYPES(cls) -> Inputs:
        return cls.form()

    async def run(self, video: Any) -> Answer:
        wire = as_wire(video, self.source, self.catalog)
        if wire.type == "IMAGE":
            made = await self.make(*self.writer("save_image", {"image": wire, "format": "png"}))
        else:
            lossless = {"video": wire, "quality": 0, "embed": False}
            made = await self.make(*self.writer("save_video", lossless))
        result = (host.frames_of(made), float(made.fps), made.frame_count)
        return {"ui": shown(made.path, made, "temp"), "result": result}


RENDERERS: Mapping[str, type[RenderNode]] = {
    labels.RENDER_VIDEO: RenderVideo,
    labels.RENDER_IMAGE: RenderImage,
}


def render_node(
    base: type[RenderNode], catalog: Mapping[str, Declaration], choices: Choices, together: Together
) -> type[RenderNode]:
    """The class ComfyUI makes its node of."""
    content = {"catalog": catalog, "choices": choices, "together": together}
    return type(f"Rushes{base.__name__}", (base,), content)
