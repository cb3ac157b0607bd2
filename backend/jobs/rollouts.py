"""What a program makes, and what a live control may say to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rushes.compiler.ir.spec import Attr, LoopSpec, PipelineSpec, StageSpec

from .record import JobOutput, JobRollout


class ControlRefused(ValueError):
    """A live control that this job cannot take. `field` is the path of the bad field."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def list_outputs(spec: PipelineSpec) -> tuple[JobOutput, ...]:
    return tuple(JobOutput(output.node_id, output.kind) for output in spec.outputs)


def list_rollouts(spec: PipelineSpec) -> tuple[JobRollout, ...]:
    """Every rollout, with the control keys it listens to."""
    keys_of = {
        stage.write("actions"): _live_keys(stage.attr("keymap")) for stage in _stages(spec, "live_actions")
    }
    return tuple(
        JobRollout(loop.node_id, loop.trip_count or None, keys_of.get(loop.read("actions") or "", ()))
        for loop in spec.stages
        if isinstance(loop, LoopSpec) and loop.op == "rollout"
    )


def check_control(rollouts: Sequence[JobRollout], node_id: str, keys: Sequence[str] | None) -> None:
    """Errors: ControlRefused when the node is no rollout, or does not listen to a key."""
    rollout = next((rollout for rollout in rollouts if rollout.node_id == node_id), None)
    if rollout is None:
        names = ", ".join(each.node_id for each in rollouts) or "none in this job"
        raise ControlRefused("node_id", f"a rollout was expected ({names}), got {node_id!r}")
    if keys and not rollout.keys:
        raise ControlRefused("keys", f"{node_id!r} takes no live keys; connect live_actions to its actions")
    for index, key in enumerate(keys or ()):
        if key not in rollout.keys:
            raise ControlRefused(
                f"keys.{index}", f"one of {', '.join(rollout.keys)} was expected, got {key!r}"
            )


def _stages(spec: PipelineSpec, op: str) -> Iterable[StageSpec]:
    return (stage for stage in spec.stages if stage.op == op)


def _live_keys(keymap: Attr) -> tuple[str, ...]:
    if not isinstance(keymap, tuple):
        raise TypeError(f"a keymap of pairs was expected, got {keymap!r}")
    return tuple(dict.fromkeys(str(pair[1]) for pair in keymap if isinstance(pair, tuple)))
