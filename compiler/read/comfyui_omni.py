"""Classes of the vLLM-Omni pack for ComfyUI: what each is here."""

from __future__ import annotations

from collections.abc import Mapping

from rushes.compiler.read.comfyui_handlers import edit, generate, stem, within
from rushes.compiler.read.comfyui_mapping import (
    Canvas,
    End,
    Frames,
    Handler,
    Known,
    LatentEdit,
    Mask,
    Nothing,
    Reading,
    RemoteLora,
    Scalar,
    Settings,
    Solid,
    SourceLatent,
)

TEMPORAL = 4  # pixel frames per latent frame of the models these nodes are mapped to

Wires = tuple[Known, ...]


def sampling(node: Reading) -> Wires:
    for name in ("vae_use_slicing", "vae_use_tiling"):
        if node.inputs.get(name) is True:
            node.changed(f"{name}: the decode is streamed here")
    if node.whole("n", 1) > 1:
        node.changed("several videos of one request are one here; run with other seeds for more")
    guidance = node.number("true_cfg_scale", 1.0)
    scale = guidance if guidance > 1 else node.number("guidance_scale", 7.5)
    seed = node.whole("seed", -1)
    steps = node.whole("num_inference_steps", 50)
    if seed < 0:
        node.changed("no seed was sent; it is 0 here")
    return (Settings(steps, within(node, "guidance_scale", scale, 1.0, 30.0), max(0, seed)),)


def wan_params(node: Reading) -> Wires:
    node.changed("guidance_scale_2 and boundary_ratio belong to models of two transformers; one is run here")
    return (Settings(shift=node.number("flow_shift", 5.0)),)


def h3_params(node: Reading) -> Wires:
    node.changed("sound has no equal here; its shift is left out")
    return (Settings(shift=node.number("flow_shift", 12.0)),)


def remote_lora(node: Reading) -> Wires:
    file = stem(node.text("local_path")) or node.text("name")
    return (RemoteLora(file, node.number("scale", 1.0), node.node_id),)


def latent_edit(node: Reading) -> Wires:
    if "source_audio" in node.inputs or node.inputs.get("audio_mask", -1) not in (-1, -1.0):
        node.changed("sound has no equal here; its source and mask are left out")
    mask = node.either("video_mask", Mask, Solid)
    return (LatentEdit(node.find("source_video", Frames), mask if isinstance(mask, Mask | Solid) else None),)


def temporal_mask(node: Reading) -> Wires:
    source = node.find("images", Frames)
    params = {
        "mode": node.text("mode", "continuation"),
        "keep_s": 0.0,
        "preserve_fraction": node.number("preserve_fraction", 0.5),
    }
    reads: dict[str, End | None] = {"source": source.end if source is not None and source.is_video else None}
    made = node.write("temporal_mask", params, reads)
    node.changed("kept frames are cut to latent frames of the checkpoint, not to clips of 17")
    preview = Nothing("a mask is looked at through a mask_overlay here")
    return Mask((made, "mask")), Scalar(24.0), preview, preview


def generate_video(node: Reading) -> Wires:
    node.changed("the model runs on this machine; the url is not used")
    settings = _settings(node)
    name = stem(node.text("model").rstrip("/"))
    model = node.write("load_model", {"checkpoint": name, "precision": "auto"}, suffix="-model")
    texts = {"text": node.text("prompt"), "negative": node.text("negative_prompt")}
    reads: dict[str, End | None] = {
        "model": (model, "model"),
        "prompt": (node.write("prompt", texts, suffix="-prompt"), "prompt"),
        "adapters": _adapters(node),
        "sampler": _sampler(node, settings),
    }
    seed = settings.seed or 0
    editing = node.find("latent_edit", LatentEdit)
    if editing is not None and editing.source is not None:
        latent = SourceLatent(editing.source, editing.mask)
        frame_count = _frame_count(node) if _extends(node, editing) else 0
        edit(node, latent, {"seed": seed, "frame_count": frame_count}, reads)
    else:
        canvas = Canvas(node.whole("width", 832), node.whole("height", 480), _frame_count(node), _start(node))
        generate(node, canvas, seed, 1.0, reads)
        node.writing.nodes[node.node_id]["params"]["fps"] = node.whole("fps", 16)
    return (Frames((node.node_id, "video"), is_video=True),)


def _extends(node: Reading, editing: LatentEdit) -> bool:
    if not isinstance(editing.mask, Mask):
        return False
    mask = node.writing.nodes[editing.mask.end[0]]
    return bool(mask["params"].get("mode") == "extension")


def _start(node: Reading) -> Frames | None:
    for name in ("last_frame", "references", "fast_h3"):
        if node.inputs.get(name) is not None:
            node.changed(f"{name} has no equal here; it is left out")
    return node.find("frame", Frames) or node.find("first_frame", Frames)


def _frame_count(node: Reading) -> int:
    if "num_frames" in node.inputs:
        asked = node.whole("num_frames", 41)
    else:
        asked = max(1, round(node.number("duration", 4.0) * node.whole("fps", 16)))
    fitting = 1 + (asked - 1 + TEMPORAL - 1) // TEMPORAL * TEMPORAL
    if fitting != asked:
        node.changed(f"{asked} frames are {fitting} here, whole latent frames")
    return fitting


def _settings(node: Reading) -> Settings:
    sampling_params = node.find("sampling_params", Settings) or Settings()
    model_params = node.find("model_params", Settings) or Settings()
    return Settings(
        sampling_params.step_count, sampling_params.guidance_scale, sampling_params.seed, model_params.shift
    )


def _sampler(node: Reading, settings: Settings) -> End | None:
    sent = {
        "step_count": settings.step_count,
        "guidance_scale": settings.guidance_scale,
        "shift": settings.shift,
    }
    params = {name: value for name, value in sent.items() if value is not None}
    if not params:
        return None
    return node.write("sampler_settings", {**params, "sampler": "unipc"}, suffix="-sampler"), "sampler"


def _adapters(node: Reading) -> End | None:
    lora = node.find("lora", RemoteLora)
    if lora is None:
        return None
    params = {"file": lora.file, "strength": lora.strength, "text_strength": 1.0, "enabled": True}
    return node.write("lora", params, suffix="-lora"), "adapters"


OMNI: Mapping[str, Handler] = {
    "VLLMOmniGenerateVideo": generate_video,
    "VLLMOmniDiffusionSampling": sampling,
    "VLLMOmniWanParams": wan_params,
    "VLLMOmniMiniMaxH3Params": h3_params,
    "VLLMOmniRemoteLoRA": remote_lora,
    "VLLMOmniLatentMaskEditing": latent_edit,
    "VLLMOmniMiniMaxH3TemporalMask": temporal_mask,
}
