"""ComfyUI's own classes: what each is here. A function reads one node; the table at the end names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rushes.compiler.ir.names import is_file_name, nearest_file_name
from rushes.compiler.read.comfyui_mapping import (
    Canvas,
    End,
    Frames,
    Guider,
    Handler,
    Known,
    Mask,
    Model,
    NoEqual,
    Nothing,
    Part,
    Reading,
    Sampled,
    Scalar,
    Sigmas,
    Solid,
    SourceFps,
    SourceLatent,
    Text,
    with_shift,
)

SAMPLERS: Mapping[str, str] = {"euler": "euler", "uni_pc": "unipc", "uni_pc_bh2": "unipc"}
OWN_FPS = 16

Wires = tuple[Known, ...]


def stem(path: str) -> str:
    """`folder/neon.safetensors` is neon."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    return (
        name.rsplit(".", 1)[0] if name.endswith((".safetensors", ".ckpt", ".pt", ".sft", ".gguf")) else name
    )


def load_checkpoint(node: Reading) -> Wires:
    return Model((_load(node, node.text("ckpt_name")), "model")), Part(), Part()


def load_unet(node: Reading) -> Wires:
    if node.text("weight_dtype", "default") != "default":
        node.changed("the number format is chosen at the model here; it is auto")
    return (Model((_load(node, node.text("unet_name")), "model")),)


def _load(node: Reading, name: str) -> str:
    return node.write("load_model", {"checkpoint": stem(name), "precision": "auto"})


def part_of_checkpoint(node: Reading) -> Wires:
    return (Part(),)


def load_lora(node: Reading) -> Wires:
    model = node.need("model", Model)
    strength = node.number("strength_model", 1.0)
    has_clip = node.find("clip", Part) is not None
    text_strength = node.number("strength_clip", 1.0) if has_clip else strength
    if has_clip and text_strength != strength:
        node.changed("LoRAs reach the transformer only; the strength for the text encoder changes nothing")
    params = {
        "file": stem(node.text("lora_name")),
        "strength": within(node, "strength_model", strength, -4.0, 4.0),
        "text_strength": 1.0,
        "enabled": True,
    }
    lora = node.write("lora", params, {"adapters": model.adapters})
    return replace(model, adapters=(lora, "adapters")), Part()


def within(node: Reading, name: str, value: float, low: float, high: float) -> float:
    nearest = min(max(value, low), high)
    if nearest != value:
        node.changed(f"{name} {value:g} is outside {low:g} to {high:g} here; {nearest:g} is used")
    return nearest


def set_shift(node: Reading) -> Wires:
    return (with_shift(node.need("model", Model), node.number("shift", 3.0)),)


def encode_text(node: Reading) -> Wires:
    node.find("clip", Part)
    return (Text(node.text("text"), node.node_id),)


def zero_out(node: Reading) -> Wires:
    node.need("conditioning", Text)
    node.changed("conditioning of zeros is an empty text here; without guidance both change nothing")
    return (Text("", node.node_id),)


def empty_image(node: Reading) -> Wires:
    return (_canvas(node, frame_count=1),)


def empty_video(node: Reading) -> Wires:
    return (_canvas(node, frame_count=node.whole("length", 25)),)


def started_video(node: Reading) -> Wires:
    frame_count = node.whole("length", 49)
    return (replace(_canvas(node, frame_count), start=node.find("start_image", Frames)),)


def image_to_video(node: Reading) -> Wires:
    canvas = _canvas(node, node.whole("length", 81))
    start = node.find("start_image", Frames)
    if "clip_vision_output" in node.inputs:
        node.changed("the picture reaches the model as its first frame only, not through a vision encoder")
    positive, negative = node.need("positive", Text), node.need("negative", Text)
    return positive, negative, replace(canvas, start=start)


def _canvas(node: Reading, frame_count: int) -> Canvas:
    count = node.whole("batch_size", 1)
    if count != 1:
        node.changed(f"{count} videos of one batch are one here; run with other seeds for more")
    return Canvas(node.whole("width", 0), node.whole("height", 0), frame_count)


def encode_frames(node: Reading) -> Wires:
    return (SourceLatent(node.need("pixels", Frames)),)


def encode_for_inpaint(node: Reading) -> Wires:
    if node.whole("grow_mask_by", 6):
        node.changed("the mask is not grown; give it a feather instead")
    return (SourceLatent(node.need("pixels", Frames), _mask(node, "mask")),)


def set_noise_mask(node: Reading) -> Wires:
    return (replace(node.need("samples", SourceLatent), mask=_mask(node, "mask")),)


def _mask(node: Reading, name: str) -> Mask | Solid:
    mask = node.either(name, Mask, Solid)
    if not isinstance(mask, Mask | Solid):
        raise NoEqual(f"its {name} is not connected")
    return mask


def solid_mask(node: Reading) -> Wires:
    value = node.number("value", 1.0)
    return (Solid(value, node.whole("width", 512), node.whole("height", 512), node.node_id),)


def paste_mask(node: Reading) -> Wires:
    """A solid mask pasted on an empty one is a rectangle; anything else has no equal."""
    ground, piece = node.need("destination", Solid), node.need("source", Solid)
    if ground.value != 0.0 or node.text("operation", "multiply") not in ("add", "or"):
        raise NoEqual("only a solid mask added to an empty one is a shape here", "combine_masks")
    if not ground.width_px or not ground.height_px:
        raise NoEqual("expected a mask with a size", "latent_mask")
    box = {
        "x": node.whole("x", 0) / ground.width_px,
        "y": node.whole("y", 0) / ground.height_px,
        "width": piece.width_px / ground.width_px,
        "height": piece.height_px / ground.height_px,
    }
    drawn = node.write("latent_mask", {"shape": "rectangle", **box, "value": piece.value})
    return (Mask((drawn, "mask")),)


def drawn(node: Reading, mask: Mask | Solid | None) -> End:
    """The socket of a mask; a solid one, or none at all, becomes a full one beside the node."""
    if isinstance(mask, Mask):
        return mask.end
    value = 1.0 if mask is None else mask.value
    return node.write("latent_mask", {"shape": "full", "value": value}, suffix="-mask"), "mask"


def random_noise(node: Reading) -> Wires:
    return (Scalar(node.seed("noise_seed")),)


def select_sampler(node: Reading) -> Wires:
    return (Scalar(node.text("sampler_name", "euler")),)


def schedule(node: Reading) -> Wires:
    node.find("model", Model)
    return (Sigmas(node.text("scheduler", "simple"), node.whole("steps", 20), node.number("denoise", 1.0)),)


def guide(node: Reading) -> Wires:
    model, positive = node.need("model", Model), node.need("positive", Text)
    return (Guider(model, positive, node.need("negative", Text), node.number("cfg", 8.0)),)


def guide_plainly(node: Reading) -> Wires:
    return (Guider(node.need("model", Model), node.need("conditioning", Text), None, 1.0),)


def sample_custom(node: Reading) -> Wires:
    noise, sampler = node.need("noise", Scalar), node.need("sampler", Scalar)
    guider, sigmas = node.need("guider", Guider), node.need("sigmas", Sigmas)
    return _sample(node, guider, sigmas, (str(sampler.value), int(noise.value))) * 2


def sample(node: Reading) -> Wires:
    guider = Guider(
        node.need("model", Model),
        node.need("positive", Text),
        node.need("negative", Text),
        node.number("cfg", 8.0),
    )
    sigmas = Sigmas(node.text("scheduler", "simple"), node.whole("steps", 20), node.number("denoise", 1.0))
    return _sample(node, guider, sigmas, (node.text("sampler_name", "euler"), node.seed("seed")))


def _sample(node: Reading, guider: Guider, sigmas: Sigmas, rule: tuple[str, int]) -> Wires:
    sampler_name, seed = rule
    latent = node.either("latent_image", Canvas, SourceLatent)
    if not isinstance(latent, Canvas | SourceLatent):
        raise NoEqual("its latent_image is not connected")
    sampler = _settings(node, guider, sigmas, sampler_name)
    negative = "" if guider.negative is None else guider.negative.text
    prompt = node.write("prompt", {"text": guider.positive.text, "negative": negative}, suffix="-prompt")
    reads: dict[str, End | None] = {
        "model": guider.model.end,
        "prompt": (prompt, "prompt"),
        "adapters": guider.model.adapters,
        "sampler": (sampler, "sampler"),
    }
    if isinstance(latent, Canvas):
        return generate(node, latent, seed, sigmas.denoise, reads)
    return edit(node, latent, {"seed": seed, "denoise_strength": sigmas.denoise}, reads)


def _settings(node: Reading, guider: Guider, sigmas: Sigmas, sampler_name: str) -> str:
    sampler = SAMPLERS.get(sampler_name)
    if sampler is None:
        node.changed(f"sampler {show_name(sampler_name)} is not here; unipc is used")
    if sigmas.scheduler not in ("simple", "normal"):
        node.changed(f"scheduler {show_name(sigmas.scheduler)} is the shifted even one here")
    params: dict[str, Any] = {
        "step_count": sigmas.step_count,
        "guidance_scale": within(node, "cfg", guider.cfg, 1.0, 30.0),
        "sampler": sampler or "unipc",
    }
    if guider.model.shift is None:
        node.changed("the file names no shift; it is 3 here unless changed")
    else:
        params["shift"] = guider.model.shift
    return node.write("sampler_settings", params, suffix="-sampler")


def show_name(name: str) -> str:
    return repr(name[:40])


def generate(
    node: Reading, canvas: Canvas, seed: int, denoise: float, reads: dict[str, End | None]
) -> tuple[Known, ...]:
    if denoise != 1.0:
        node.changed(f"denoise {denoise:g} of an empty latent is the whole schedule here")
    params = {
        "width_px": canvas.width_px,
        "height_px": canvas.height_px,
        "frame_count": canvas.frame_count,
        "fps": OWN_FPS,
        "seed": seed,
    }
    start = None if canvas.start is None else canvas.start.end
    return (Sampled(node.write("generate_video", params, {**reads, "keyframes": start})),)


def edit(
    node: Reading, latent: SourceLatent, params: Mapping[str, Any], reads: dict[str, End | None]
) -> tuple[Known, ...]:
    if not latent.frames.is_video:
        raise NoEqual("a picture is edited here only as the start of a video", "generate_video")
    mask = drawn(node, latent.mask)
    return (Sampled(node.write("edit_video", params, {**reads, "source": latent.frames.end, "mask": mask})),)


def decode(node: Reading) -> Wires:
    return (Frames((node.need("samples", Sampled).node_id, "video"), is_video=True),)


def decode_tiled(node: Reading) -> Wires:
    node.changed("tiles are not chosen here; the decode is streamed")
    return decode(node)


def load_image(node: Reading) -> Wires:
    loaded = node.write("load_image", {"file": _file(node, "image")})
    return Frames((loaded, "image"), is_video=False), Nothing("the alpha of a picture is no mask here")


def load_video(node: Reading) -> Wires:
    return (Frames((node.write("load_video", {"file": _file(node, "file")}), "video"), is_video=True),)


def _file(node: Reading, name: str) -> str:
    """`folder/clip.mp4 [input]` is clip.mp4: files have no folders here."""
    given = node.text(name)
    path = given.removesuffix(" [input]").removesuffix(" [output]").removesuffix(" [temp]")
    plain = path.rsplit("/", 1)[-1]
    if plain != given:
        node.changed(f"file {show_name(given)} is {show_name(plain)} here")
    return plain


def components(node: Reading) -> Wires:
    video = node.need("video", Frames)
    sound = Nothing("sound has no equal here")
    return video, sound, SourceFps(), Nothing("the bit depth is not known here"), Nothing("colour space")


def create_video(node: Reading) -> Wires:
    frames = node.need("images", Frames)
    if not frames.is_video:
        raise NoEqual("a picture does not become a clip here", "preview")
    if "audio" in node.inputs and node.inputs["audio"] is not None:
        node.changed("the sound is left out")
    if node.whole("bit_depth", 8) != 8:
        node.changed("clips have 8 bits here")
    rate = node.either("fps", Scalar, SourceFps)
    if isinstance(rate, SourceFps):
        return (frames,)
    return (replace(frames, fps=_at_rate(node, frames, node.number("fps", 30.0))),)


def _at_rate(node: Reading, frames: Frames, fps: float) -> float:
    """Give the node that makes the frames their rate; only a generate has one of its own."""
    made_by = node.writing.nodes[frames.end[0]]
    taken = node.writing.rates.setdefault(frames.end[0], fps)
    if made_by["type"] != "generate_video":
        node.changed(f"{fps:g} frames a second: the clip keeps its source's rate here")
    elif taken != fps:
        node.changed(f"{fps:g} frames a second: the same frames are played at {taken:g} elsewhere")
    else:
        rounded = max(1, min(120, round(fps)))
        if rounded != fps:
            node.changed(f"{fps:g} frames a second are {rounded} here")
        made_by["params"]["fps"] = rounded
    return fps


def save_video(node: Reading) -> Wires:
    video = node.need("video", Frames)
    kind = node.text("format", "auto")
    if kind not in ("auto", "mp4") or node.inputs.get("format.codec", "auto") not in ("auto", "h264"):
        node.changed("clips are MP4 with H.264 here")
    quality = node.number("format.codec.encoding.crf", 18)
    _save(node, video, quality=round(within(node, "crf", quality, 0, 51)))
    return (video,)


def save_frames(node: Reading) -> Wires:
    """The animated formats that take frames and a rate."""
    frames = node.need("images", Frames)
    node.changed("clips are MP4 with H.264 here")
    if frames.is_video:
        _at_rate(node, frames, node.number("fps", 16.0))
    _save(node, frames, quality=18)
    return (frames,)


def _save(node: Reading, video: Frames, *, quality: int) -> None:
    if not video.is_video:
        raise NoEqual("a picture is not saved as a clip here", "save_image")
    params = {"name": _name(node), "format": "mp4", "quality": quality, "embed": True}
    node.write("save_video", params, {"video": video.end})


def _name(node: Reading) -> str:
    """The last part of a prefix, as far as it is a name here."""
    given = node.text("filename_prefix", "ComfyUI")
    last = given.replace("\\", "/").rsplit("/", 1)[-1]
    name = last if is_file_name(last) and len(last) <= 80 else nearest_file_name(last)[:80].strip(" .")
    if name != given:
        node.changed(f"the file is named {name}: names have no folders and no patterns here")
    return name


def save_image(node: Reading) -> Wires:
    frames = node.need("images", Frames)
    if frames.is_video and node.writing.nodes[frames.end[0]]["params"].get("frame_count") != 1:
        node.changed("of a video its first frame is saved, not every frame")
    params = {"name": _name(node), "format": "png", "frame_index": 0}
    node.write("save_image", params, {"image": frames.end})
    return (frames,)


def preview(node: Reading) -> Wires:
    frames = node.need("images", Frames)
    node.write("preview", {}, {"video": frames.end})
    return (frames,)


def scalar(node: Reading) -> Wires:
    value = node.inputs.get("value")
    if isinstance(value, bool | int | float | str):
        return (Scalar(value),)
    return (node.need("value", Scalar),)


CORE: Mapping[str, Handler] = {
    "CheckpointLoaderSimple": load_checkpoint,
    "UNETLoader": load_unet,
    "CLIPLoader": part_of_checkpoint,
    "VAELoader": part_of_checkpoint,
    "LoraLoader": load_lora,
    "LoraLoaderModelOnly": load_lora,
    "ModelSamplingSD3": set_shift,
    "CLIPTextEncode": encode_text,
    "ConditioningZeroOut": zero_out,
    "EmptyLatentImage": empty_image,
    "EmptySD3LatentImage": empty_image,
    "EmptyHunyuanLatentVideo": empty_video,
    "Wan22ImageToVideoLatent": started_video,
    "WanImageToVideo": image_to_video,
    "VAEEncode": encode_frames,
    "VAEEncodeForInpaint": encode_for_inpaint,
    "SetLatentNoiseMask": set_noise_mask,
    "SolidMask": solid_mask,
    "MaskComposite": paste_mask,
    "RandomNoise": random_noise,
    "KSamplerSelect": select_sampler,
    "BasicScheduler": schedule,
    "CFGGuider": guide,
    "BasicGuider": guide_plainly,
    "KSampler": sample,
    "SamplerCustomAdvanced": sample_custom,
    "VAEDecode": decode,
    "VAEDecodeTiled": decode_tiled,
    "LoadImage": load_image,
    "LoadVideo": load_video,
    "GetVideoComponents": components,
    "CreateVideo": create_video,
    "SaveVideo": save_video,
    "SaveWEBM": save_frames,
    "SaveAnimatedWEBP": save_frames,
    "SaveImage": save_image,
    "PreviewImage": preview,
    "PrimitiveInt": scalar,
    "PrimitiveFloat": scalar,
    "PrimitiveBoolean": scalar,
    "PrimitiveString": scalar,
    "PrimitiveStringMultiline": scalar,
}

__all__ = ["CORE", "drawn", "edit", "generate", "stem", "within"]
