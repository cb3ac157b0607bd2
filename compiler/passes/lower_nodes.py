from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.graph import Edge
from rushes.compiler.ir.inputs import Inputs
from rushes.compiler.ir.lowering import Lowering, LoweringError, Program
from rushes.compiler.ir.showing import show
from rushes.compiler.ir.spec import Attr, PipelineSpec
from rushes.compiler.ir.values import Clip, ImageValue, MaskValue, Value, VideoValue

OVERLAY: dict[str, Attr] = {"colour": "#ff3b30", "opacity": 0.5}

Lowered = dict[str, Mapping[str, Value]]


def lower_nodes(draft: Draft, request: Request) -> Draft:
    """Let each needed node write its stages, inputs first.

    Before
        model, prompt -> generate -> save
    After
        model = load_model();  c = encode_text(model);  loop latent = denoise(model, c);
        video = decode(model, latent);  save_video(video)

    A target that is not an output node is shown as a preview; a mask as a tint over its source. A node
    with a fault, and whatever needs it, is left out: its fault has been reported.

    Errors: those of the nodes; E_NO_OUTPUT for a target that makes nothing to look at.
    """
    program = Program()
    lowered: Lowered = {}
    feeds: dict[str, list[Edge]] = defaultdict(list)
    for edge in draft.graph.edges:
        feeds[edge.to_node].append(edge)
    broken = {edge.to_node for edge in draft.refused}
    for node_id in draft.needed:
        values = _inputs(draft, request, feeds[node_id], lowered, node_id)
        if node_id in draft.params and node_id not in broken and values is not None:
            to = Lowering(program, request.target, node_id)
            outputs = _lower(draft, request, to, values)
            if outputs is not None:
                lowered[node_id] = outputs
                _show_target(draft, request, to, outputs)
    spec = PipelineSpec(tuple(program.stages), tuple(program.outputs))
    return replace(draft, spec=spec).reporting(_once(program.diagnostics))


def _once(found: list[Diagnostic]) -> list[Diagnostic]:
    """A mask drawn for two readers tells its fault twice."""
    seen: dict[tuple[str, str | None, str | None, str], Diagnostic] = {}
    for one in found:
        seen.setdefault((one.code, one.node_id, one.param, one.message), one)
    return list(seen.values())


def _inputs(
    draft: Draft, request: Request, edges: list[Edge], lowered: Lowered, node_id: str
) -> Inputs | None:
    """The values at a node's inputs; None if one of them could not be made or is not connected."""
    values: dict[str, Value] = {}
    for edge in edges:
        value = lowered.get(edge.from_node, {}).get(edge.from_socket)
        if value is None:
            return None
        values[edge.to_socket] = value
    declared = draft.declaration(node_id, request.catalog)
    if declared is None:
        return None
    missing = any(not socket.optional and name not in values for name, socket in declared.inputs.items())
    return None if missing else Inputs(values)


def _lower(draft: Draft, request: Request, to: Lowering, inputs: Inputs) -> Mapping[str, Value] | None:
    declared = draft.declaration(to.node_id, request.catalog)
    if declared is None:
        return None
    try:
        return declared.make(**draft.params[to.node_id]).lower(to, inputs)
    except LoweringError:
        return None


def _show_target(draft: Draft, request: Request, to: Lowering, outputs: Mapping[str, Value]) -> None:
    declared = draft.declaration(to.node_id, request.catalog)
    if not _is_target(draft, request, to.node_id) or declared is None or declared.is_output:
        return
    try:
        shown = next((name for value in outputs.values() if (name := _picture(to, value)) is not None), None)
    except LoweringError:
        return
    if shown is not None:
        to.stage("preview", {"video": shown}, {})
        to.output("preview", shown)
    elif not any(
        found.node_id == to.node_id and found.severity == "error" for found in to.program.diagnostics
    ):
        to.program.diagnostics.append(_nothing_to_show(to.node_id))


def _is_target(draft: Draft, request: Request, node_id: str) -> bool:
    """True for a node that is asked for, or that makes an output of an instance that is."""
    targets = request.targets or ()
    return node_id in targets or any(node_id in draft.insides.get(target, ()) for target in targets)


def _picture(to: Lowering, value: Value) -> str | None:
    if isinstance(value, VideoValue | ImageValue):
        return value.name
    if isinstance(value, MaskValue) and value.source is not None:
        source = value.source
        frame_count = source.frame_count if isinstance(source, VideoValue) else 1
        fps = source.fps if isinstance(source, VideoValue) else 1.0
        mask = value.draw(to, Clip(frame_count, fps, frame_count)) if frame_count else None
        reads = {"video": source.name, "mask": mask}
        return None if mask is None else to.stage("mask_overlay", reads, OVERLAY)["video"]
    return None


def _nothing_to_show(node_id: str) -> Diagnostic:
    expected = "a target that makes a video or picture, or a mask with a source"
    message = f"expected {expected}, got {show(node_id)}"
    return Diagnostic("E_NO_OUTPUT", "error", message, node_id, None, expected, show(node_id))
