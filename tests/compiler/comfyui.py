"""Short ways to write ComfyUI documents: saved files (0.4 and 1.0, subgraphs) and API prompts."""

from collections.abc import Mapping, Sequence
from typing import Any


def node(
    node_id: int, kind: str, values: Any = None, *, inputs: Sequence[str] = (), outputs: str = "", **more: Any
):
    """A saved node. `inputs`: "name:TYPE" or "name:TYPE:link", a `*` before the name for a widget."""
    return {
        "id": node_id,
        "type": kind,
        "pos": [node_id * 300, 0],
        "size": [200, 100],
        "flags": {},
        "order": node_id,
        "mode": 0,
        "inputs": [_input(text) for text in inputs],
        "outputs": [{"name": kind_out, "type": kind_out, "links": []} for kind_out in outputs.split()],
        "properties": {"Node name for S&R": kind},
        "widgets_values": [] if values is None else values,
        **more,
    }


def _input(text: str) -> dict[str, Any]:
    name, kind, *link = text.removeprefix("*").split(":")
    widget = {"widget": {"name": name}} if text.startswith("*") else {}
    return {"name": name, "type": kind, "link": int(link[0]) if link else None, **widget}


def saved(
    nodes: Sequence[Mapping[str, Any]], links: Sequence[Sequence[Any]] = (), **more: Any
) -> dict[str, Any]:
    """A file of schema 0.4. A link: [id, origin, slot, target, slot, type]."""
    return {
        "id": "3f0c",
        "revision": 0,
        "last_node_id": max((one["id"] for one in nodes), default=0),
        "last_link_id": 99,
        "nodes": list(nodes),
        "links": [list(link) for link in links],
        "groups": [],
        "config": {},
        "extra": {},
        "version": 0.4,
        **more,
    }


def as_objects(links: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Links as schema 1.0 and subgraphs write them."""
    keys = ("id", "origin_id", "origin_slot", "target_id", "target_slot", "type")
    return [dict(zip(keys, link, strict=True)) for link in links]


def subgraph(
    subgraph_id: str,
    nodes: Sequence[Mapping[str, Any]],
    links: Sequence[Sequence[Any]],
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
) -> dict[str, Any]:
    """A definition. Links from -10 come in, links to -20 go out."""

    def side(texts: Sequence[str]) -> list[dict[str, Any]]:
        pairs = [text.split(":") for text in texts]
        return [{"id": name, "name": name, "type": kind, "linkIds": []} for name, kind in pairs]

    return {
        "id": subgraph_id,
        "name": f"Sub {subgraph_id}",
        "version": 1,
        "inputs": side(inputs),
        "outputs": side(outputs),
        "inputNode": {"id": -10},
        "outputNode": {"id": -20},
        "nodes": list(nodes),
        "links": as_objects(links),
    }


def text_to_video(**changes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """An API prompt that makes a clip: `changes` by node id (written n3 for 3) replace inputs."""
    prompt: dict[str, dict[str, Any]] = {
        "1": {
            "class_type": "UNETLoader",
            "inputs": {"unet_name": "wan/shapes.safetensors", "weight_dtype": "default"},
        },
        "2": {"class_type": "CLIPLoader", "inputs": {"clip_name": "umt5.safetensors", "type": "wan"}},
        "3": {"class_type": "VAELoader", "inputs": {"vae_name": "wan_vae.safetensors"}},
        "4": {"class_type": "ModelSamplingSD3", "inputs": {"model": ["1", 0], "shift": 5.0}},
        "5": {"class_type": "CLIPTextEncode", "inputs": {"clip": ["2", 0], "text": "a red star"}},
        "6": {"class_type": "CLIPTextEncode", "inputs": {"clip": ["2", 0], "text": "blurry"}},
        "7": {
            "class_type": "EmptyHunyuanLatentVideo",
            "inputs": {"width": 96, "height": 96, "length": 45, "batch_size": 1},
        },
        "8": {
            "class_type": "KSampler",
            "inputs": {
                "model": ["4", 0],
                "positive": ["5", 0],
                "negative": ["6", 0],
                "latent_image": ["7", 0],
                "seed": 7,
                "steps": 8,
                "cfg": 2.5,
                "sampler_name": "uni_pc",
                "scheduler": "simple",
                "denoise": 1.0,
            },
        },
        "9": {"class_type": "VAEDecode", "inputs": {"samples": ["8", 0], "vae": ["3", 0]}},
        "10": {"class_type": "CreateVideo", "inputs": {"images": ["9", 0], "fps": 24}},
        "11": {
            "class_type": "SaveVideo",
            "inputs": {"video": ["10", 0], "filename_prefix": "star", "format": "auto"},
        },
    }
    for name, inputs in changes.items():
        prompt[name.removeprefix("n")]["inputs"] |= inputs
    return prompt
