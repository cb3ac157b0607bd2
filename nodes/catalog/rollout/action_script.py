from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.lowering import LoweringError
from rushes.compiler.ir.spec import Attr
from rushes.compiler.ir.values import ActionsValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param

LATENT_FRAME_LIMIT = 20_000

_ENTRY = re.compile(r"(?P<keys>[^\s*+]+(?:\s*\+\s*[^\s*+]+)*)(?:\s*\*\s*(?P<count>\d{1,6}))?")


@dataclass(frozen=True, kw_only=True)
class ActionScript(NodeType):
    """Steer a rollout by a script: which keys are held, for how many latent frames.

    Entries stand apart by commas or lines. An entry is a key, several joined by +, or idle; * and a
    number hold it for so many latent frames (one latent frame is 4 pixel frames, the very first is 1).
    `w*6, w+d*3, idle*2` goes forward for 6, forward and right for 3, and stands still for 2.
    """

    type_id = "action_script"
    title = "Action script"
    outputs: ClassVar = {"actions": Socket((SocketType.CONTROL,), "The keys, latent frame by latent frame.")}

    script: str = param(
        "w*12, d*12, s*12, a*12",
        multiline=True,
        widget="script",
        doc="Keys and how long, as w*6, w+d*3, idle*2.",
    )
    repeat: str = param(
        "hold", choices=("hold", "loop"), doc="After the end: hold the last keys, or begin again."
    )

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        script = self._frames(to)
        attrs: dict[str, Attr] = {"script": script, "repeat": self.repeat}
        actions = to.stage("action_script", {}, attrs)["actions"]
        keys = frozenset(key for held in script for key in held)
        return {"actions": ActionsValue(actions, to.node_id, "script", keys, len(script), False)}

    def _frames(self, to: Lowering) -> tuple[tuple[str, ...], ...]:
        frames: list[tuple[str, ...]] = []
        entries = [entry.strip() for entry in self.script.replace("\n", ",").split(",")]
        for number, entry in enumerate((entry for entry in entries if entry), start=1):
            match = _ENTRY.fullmatch(entry)
            if match is None:
                raise _refusal(
                    to, "a key, keys joined by +, or idle, each with * and a number", number, entry
                )
            count = int(match["count"] or 1)
            if count < 1 or len(frames) + count > LATENT_FRAME_LIMIT:
                raise _refusal(to, f"1 to {LATENT_FRAME_LIMIT} latent frames in all", number, entry)
            keys = [key.strip() for key in match["keys"].split("+")]
            if len(set(keys)) < len(keys) or ("idle" in keys and len(keys) > 1):
                raise _refusal(to, "each key once, and idle alone", number, entry)
            frames.extend([() if keys == ["idle"] else tuple(sorted(keys))] * count)
        if not frames:
            raise _refusal(to, "at least one entry", 1, "")
        return tuple(frames)


def _refusal(to: Lowering, expected: str, number: int, entry: str) -> LoweringError:
    return to.error(
        "E_PARAM_VALUE",
        f"entry {number} of the script: expected {expected}, got {entry!r}",
        param="script",
        expected=expected,
        given=repr(entry),
        suggestion="w*6, w+d*3, idle*2",
    )
