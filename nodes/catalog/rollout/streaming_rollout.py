from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.facts import CheckpointFacts
from rushes.compiler.ir.lattice import is_on_lattice
from rushes.compiler.ir.names import check_file_name
from rushes.compiler.ir.schedule import Schedule, schedule_for
from rushes.compiler.ir.spec import Attr
from rushes.compiler.ir.values import (
    ActionsValue,
    AdaptersValue,
    ImageValue,
    ModelValue,
    PromptValue,
    SamplerValue,
    SessionValue,
    VideoValue,
)
from rushes.compiler.plan import rollout_frame_count
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class StreamingRollout(NodeType):
    """Make a video chunk after chunk, for as long as you like, and steer it on the way.

    Each chunk sees the latest chunks (the window) and, if asked, the first latent frames (the sink).
    Frames arrive while later ones are still being made. Started from a picture or clip it goes on
    from there and sends nothing of the start itself.
    """

    type_id = "streaming_rollout"
    title = "Streaming rollout"
    inputs: ClassVar = {
        "model": Socket((SocketType.MODEL,), "What makes the video."),
        "prompt": Socket((SocketType.PROMPT,), "What it shows; may be changed while it runs."),
        "adapters": Socket((SocketType.ADAPTERS,), "LoRAs added to the model.", optional=True),
        "start": Socket(
            (SocketType.IMAGE, SocketType.VIDEO), "A picture or clip to go on from.", optional=True
        ),
        "actions": Socket((SocketType.CONTROL,), "Keys that steer it, live or by script.", optional=True),
        "sampler": Socket((SocketType.SAMPLER,), "The checkpoint's own if absent.", optional=True),
    }
    outputs: ClassVar = {
        "video": Socket((SocketType.VIDEO,), "The frames, as they are made."),
        "session": Socket((SocketType.SESSION,), "The running rollout."),
    }

    mode: str = param("kv", choices=("kv",), doc="kv: what was made stays in the attention cache.")
    chunk_count: int = param(
        20, ge=0, le=100_000, unit="chunks", doc="How many chunks; 0 goes on until stopped."
    )
    window_frames: int = param(
        9, ge=1, le=256, unit="latent frames", doc="Past latent frames a chunk attends to."
    )
    sink_frames: int = param(
        0, ge=0, le=64, unit="latent frames", doc="First latent frames that never leave the window."
    )
    seed: int = param(0, ge=0, le=2**53 - 1, doc="Noise seed. Same seed and keys, same video.")
    session: str = param("", max_length=80, doc="Name under which the rollout can be found; empty for none.")

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        model = inputs.need("model", ModelValue)
        self._check(to, model.facts)
        schedule = schedule_for(to, inputs.find("sampler", SamplerValue), model.facts)
        start = _start(to, model.facts, inputs.get("start"))
        actions = inputs.find("actions", ActionsValue)
        frame_count = rollout_frame_count(
            self.chunk_count,
            model.facts.chunk_latent_frames,
            model.facts.temporal,
            has_start=start is not None,
        )
        if actions is not None:
            _check_keys(to, actions, model.facts)
            self._note_script(to, actions, model.facts)
        reads = self._reads(to, inputs, schedule)
        written = to.loop(
            "rollout",
            self.chunk_count,
            ("denoise", "decode", "commit"),
            {**reads, "start": start, "actions": None if actions is None else actions.name},
            self._attrs(model.facts, schedule, is_paced=actions is not None and actions.is_live),
        )
        facts = model.facts
        video = VideoValue(written["video"], facts.width_px, facts.height_px, frame_count, float(facts.fps))
        return {"video": video, "session": SessionValue(written["session"])}

    def _check(self, to: Lowering, facts: CheckpointFacts) -> None:
        if "rollout" not in facts.capabilities:
            raise to.error(
                "E_CAPABILITY",
                f"expected a checkpoint made for rollouts, got {facts.checkpoint}",
                param="model",
                expected="rollout",
                given=", ".join(sorted(facts.capabilities)),
            )
        if self.session:
            check_file_name(to, self.session, param="session")

    def _note_script(self, to: Lowering, actions: ActionsValue, facts: CheckpointFacts) -> None:
        made = self.chunk_count * facts.chunk_latent_frames
        if made and actions.latent_frame_count > made:
            to.at(actions.node_id).note(
                "N_NO_EFFECT",
                f"the script holds {actions.latent_frame_count} latent frames, the rollout makes {made}; "
                f"the rest is not played",
                param=actions.param,
            )

    def _reads(self, to: Lowering, inputs: Inputs, schedule: Schedule) -> dict[str, str | None]:
        model = inputs.need("model", ModelValue)
        chain = inputs.find("adapters", AdaptersValue)
        adapters = None if chain is None else chain.stack(to, model)
        prompt = inputs.need("prompt", PromptValue)
        conditioning = prompt.encode(to, model, adapters, has_guidance=schedule.has_guidance)
        return {
            "model": model.name,
            "conditioning": conditioning.positive,
            "negative": conditioning.negative,
            "adapters": adapters,
        }

    def _attrs(self, facts: CheckpointFacts, schedule: Schedule, *, is_paced: bool) -> dict[str, Attr]:
        return {
            "mode": self.mode,
            "seed": self.seed,
            "sigmas": schedule.sigmas,
            "sampler": schedule.sampler,
            "guidance_scale": schedule.guidance_scale,
            "width_px": facts.width_px,
            "height_px": facts.height_px,
            "fps": float(facts.fps),
            "chunk_latent_frames": facts.chunk_latent_frames,
            "sink_frames": self.sink_frames,
            "window_frames": self.window_frames,
            "temporal": facts.temporal,
            "paced": is_paced,
            "session": self.session,
        }


def _start(to: Lowering, facts: CheckpointFacts, picture: Value | None) -> str | None:
    if not isinstance(picture, ImageValue | VideoValue):
        return None
    if isinstance(picture, VideoValue):
        if picture.frame_count == 0:
            raise to.error("E_ENDLESS", "the start must have an end, got an endless rollout", param="start")
        if not is_on_lattice(picture.frame_count, facts.temporal):
            used = 1 + (picture.frame_count - 1) // facts.temporal * facts.temporal
            to.note(
                "N_SNAPPED",
                f"the start has {picture.frame_count} frames; the last {used} of them fill latent frames",
                param="start",
            )
    return picture.name


def _check_keys(to: Lowering, actions: ActionsValue, facts: CheckpointFacts) -> None:
    """Errors: E_UNKNOWN_KEY at the node that names the keys, E_CAPABILITY if the checkpoint takes none."""
    if not facts.control_keys:
        raise to.error(
            "E_CAPABILITY",
            f"expected a checkpoint that takes keys, got {facts.checkpoint}, which takes none",
            param="actions",
            expected="a checkpoint with control keys",
            given=facts.checkpoint,
        )
    known = ", ".join(facts.control_keys)
    unknown = sorted(actions.keys - set(facts.control_keys))
    for key in unknown:
        close = difflib.get_close_matches(key.lower(), facts.control_keys, n=1)
        error = to.at(actions.node_id).error(
            "E_UNKNOWN_KEY",
            f"{facts.checkpoint} takes the keys {known}, got {key!r}",
            param=actions.param,
            expected=known,
            given=repr(key),
            suggestion=close[0] if close else None,
        )
    if unknown:
        raise error
