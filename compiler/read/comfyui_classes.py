"""Widgets of the ComfyUI classes that have an equal here, so that a saved file can be read without a server.

In the order of the page, with their defaults, as a ComfyUI server of summer 2026 and the vLLM-Omni pack say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rushes.compiler.read.comfyui_widgets import Facts

_KINDS: Mapping[str, str] = {"i": "INT", "f": "FLOAT", "b": "BOOLEAN", "s": "STRING", "c": "COMBO"}
_TYPES: Mapping[str, type] = {"i": int, "f": float, "s": str, "c": str}

# class: widgets as name:kind=default, apart by blanks; + after the kind: a control widget follows
_WIDGETS: Mapping[str, str] = {
    "CheckpointLoaderSimple": "ckpt_name:c=",
    "UNETLoader": "unet_name:c= weight_dtype:c=default",
    "CLIPLoader": "clip_name:c= type:c=wan device:c=default",
    "VAELoader": "vae_name:c=",
    "CLIPTextEncode": "text:s=",
    "ConditioningZeroOut": "",
    "LoraLoader": "lora_name:c= strength_model:f=1 strength_clip:f=1",
    "LoraLoaderModelOnly": "lora_name:c= strength_model:f=1",
    "ModelSamplingSD3": "shift:f=3",
    "KSampler": "seed:i=0 steps:i=20 cfg:f=8 sampler_name:c=euler scheduler:c=simple denoise:f=1",
    "SamplerCustomAdvanced": "",
    "RandomNoise": "noise_seed:i=0",
    "KSamplerSelect": "sampler_name:c=euler",
    "BasicScheduler": "scheduler:c=simple steps:i=20 denoise:f=1",
    "CFGGuider": "cfg:f=8",
    "BasicGuider": "",
    "EmptyLatentImage": "width:i=512 height:i=512 batch_size:i=1",
    "EmptySD3LatentImage": "width:i=1024 height:i=1024 batch_size:i=1",
    "EmptyHunyuanLatentVideo": "width:i=848 height:i=480 length:i=25 batch_size:i=1",
    "Wan22ImageToVideoLatent": "width:i=1280 height:i=704 length:i=49 batch_size:i=1",
    "WanImageToVideo": "width:i=832 height:i=480 length:i=81 batch_size:i=1",
    "VAEDecode": "",
    "VAEDecodeTiled": "tile_size:i=512 overlap:i=64 temporal_size:i=64 temporal_overlap:i=8",
    "VAEEncode": "",
    "VAEEncodeForInpaint": "grow_mask_by:i=6",
    "SetLatentNoiseMask": "",
    "SolidMask": "value:f=1 width:i=512 height:i=512",
    "MaskComposite": "x:i=0 y:i=0 operation:c=multiply",
    "LoadImage": "image:c=",
    "LoadVideo": "file:c=",
    "GetVideoComponents": "",
    "CreateVideo": "fps:f=30 bit_depth:i=8",
    "SaveImage": "filename_prefix:s=ComfyUI",
    "PreviewImage": "",
    "SaveWEBM": "filename_prefix:s=ComfyUI codec:c=vp9 fps:f=24 crf:f=32",
    "SaveAnimatedWEBP": "filename_prefix:s=ComfyUI fps:f=6 lossless:b=1 quality:i=80 method:c=default",
    "PrimitiveInt": "value:i+=0",
    "PrimitiveFloat": "value:f=0",
    "PrimitiveBoolean": "value:b=0",
    "PrimitiveString": "value:s=",
    "PrimitiveStringMultiline": "value:s=",
    "VLLMOmniGenerateVideo": "url:s=http://localhost:8000/v1 model:s=Wan-AI/Wan2.2-T2V-A14B-Diffusers"
    " prompt:s= negative_prompt:s= width:i=832 height:i=480 fps:i=16 duration:f=4",
    "VLLMOmniDiffusionSampling": "n:i=1 num_inference_steps:i=50 guidance_scale:f=7.5 true_cfg_scale:f=1"
    " vae_use_slicing:b=0 vae_use_tiling:b=0 seed:i=-1",
    "VLLMOmniWanParams": "guidance_scale_2:f=4 boundary_ratio:f=0.875 flow_shift:f=5",
    "VLLMOmniMiniMaxH3Params": "audio_flow_shift:f=3 flow_shift:f=12",
    "VLLMOmniRemoteLoRA": "local_path:s= name:s= scale:f=1 int_id:i=0",
    "VLLMOmniLatentMaskEditing": "audio_mask:f=-1",
    "VLLMOmniMiniMaxH3TemporalMask": "source_fps:f=24 duration:f=5 mode:c=continuation"
    " preserve_fraction:f=0.5",
}
_TEMPLATES = frozenset({"text", "prompt", "negative_prompt"})  # texts that may hold {a|b} and comments


def known_classes() -> Mapping[str, Facts]:
    """The facts of the classes above, in the shape of GET /object_info."""
    classes = {name: _facts(name, widgets) for name, widgets in _WIDGETS.items()}
    return {**classes, "SaveVideo": _save_video()}


def _facts(class_type: str, widgets: str) -> dict[str, Any]:
    inputs: dict[str, Any] = {}
    for word in widgets.split(" ") if widgets else ():
        name, _, rest = word.partition(":")
        kind, _, default = rest.partition("=")
        options: dict[str, Any] = {"default": _value(kind[0], default)}
        if kind.endswith("+"):
            options["control_after_generate"] = True
        if name in _TEMPLATES:
            options["dynamicPrompts"] = True
        inputs[name] = [_KINDS[kind[0]], options]
    return {"name": class_type, "display_name": class_type, "input": {"required": inputs}}


def _value(kind: str, text: str) -> Any:
    return text == "1" if kind == "b" else _TYPES[kind](text)


def _choice(*options: tuple[str, Mapping[str, Any]]) -> list[Any]:
    """A dynamic choice: each option brings inputs of its own."""
    found = [{"key": key, "inputs": {"required": inputs}} for key, inputs in options]
    return ["COMFY_DYNAMICCOMBO_V3", {"options": found}]


def _save_video() -> dict[str, Any]:
    again = {"crf": ["FLOAT", {"default": 23.0}], "color_space": ["COMBO", {"default": "auto"}]}
    encoding = {"encoding": _choice(("auto", {}), ("re-encode", again))}
    codec = _choice(("auto", {}), ("h264", encoding), ("av1", encoding))
    formats = [(name, {"codec": codec}) for name in ("auto", "mp4", "mkv", "webm")]
    required = {
        "filename_prefix": ["STRING", {"default": "video/ComfyUI"}],
        "format": _choice(*formats),
    }
    return {"name": "SaveVideo", "display_name": "SaveVideo", "input": {"required": required}}
