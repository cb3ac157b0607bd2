from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rushes.compiler.ir.values import ActionsValue
from rushes.nodes.declare import Inputs, Lowering, NodeType, Socket, SocketType, Value, param


@dataclass(frozen=True, kw_only=True)
class LiveActions(NodeType):
    """Steer a rollout with the keyboard while it runs.

    The rollout keeps pace with playback, so that a key shows in the picture soon after it is pressed.
    The map lists keys of the keyboard; one that differs from the control it presses is written as
    `ArrowUp=w`.
    """

    type_id = "live_actions"
    title = "Live actions"
    outputs: ClassVar = {"actions": Socket((SocketType.CONTROL,), "What is pressed, as it is pressed.")}

    keymap: str = param(
        "w a s d", max_length=400, doc="Keys apart by spaces, as w a s d or ArrowUp=w ArrowLeft=a."
    )

    def lower(self, to: Lowering, inputs: Inputs) -> Mapping[str, Value]:
        keymap = self._pairs(to)
        actions = to.stage("live_actions", {}, {"keymap": keymap})["actions"]
        controls = frozenset(control for _, control in keymap)
        return {"actions": ActionsValue(actions, to.node_id, "keymap", controls, 0, True)}

    def _pairs(self, to: Lowering) -> tuple[tuple[str, str], ...]:
        pairs: dict[str, str] = {}
        for word in self.keymap.replace(",", " ").split():
            key, equals, control = word.partition("=")
            if not key or (equals and not control) or key in pairs:
                raise to.error(
                    "E_PARAM_VALUE",
                    f"a keymap is keys such as w or ArrowUp=w, each key once, got {word!r}",
                    param="keymap",
                    expected="keys apart by spaces",
                    given=repr(word),
                    suggestion="w a s d",
                )
            pairs[key] = control or key
        if not pairs:
            raise to.error(
                "E_PARAM_VALUE",
                "a keymap names at least one key, got none",
                param="keymap",
                expected="keys apart by spaces",
                given=repr(self.keymap),
                suggestion="w a s d",
            )
        return tuple(pairs.items())
