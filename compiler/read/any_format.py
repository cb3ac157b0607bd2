"""One door for every document we read: our own, ComfyUI's saved files, its API prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rushes.compiler.ir.declaration import Catalog
from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.showing import show
from rushes.compiler.read.comfyui_classes import known_classes
from rushes.compiler.read.comfyui_file import (
    BYPASSED,
    MUTED,
    SavedFile,
    SavedNode,
    is_saved_file,
    read_saved_file,
)
from rushes.compiler.read.comfyui_handlers import CORE
from rushes.compiler.read.comfyui_mapping import Mapped, map_prompt
from rushes.compiler.read.comfyui_omni import OMNI
from rushes.compiler.read.comfyui_prompt import TooLarge, saved_to_prompt
from rushes.compiler.read.comfyui_widgets import Facts
from rushes.compiler.read.coverage import Coverage, Covered, Source
from rushes.compiler.read.migrations import WORKFLOW, migrate
from rushes.compiler.read.own_prompt import is_own_prompt, own_handlers, pack_classes, read_own_prompt
from rushes.compiler.read.shape import ID_LIMIT, NODE_LIMIT

HANDLERS = {**CORE, **OMNI}
NOTES = ("Note", "MarkdownNote")


class AnyFormat(NamedTuple):
    """`workflow` is None exactly when the document is none of the formats, which a diagnostic says."""

    workflow: dict[str, Any] | None
    diagnostics: tuple[Diagnostic, ...]
    coverage: Coverage


def read_any(
    document: object, classes: Mapping[str, Facts] | None = None, *, catalog: Catalog | None = None
) -> AnyFormat:
    """Read a parsed document of any known format into a rushes.workflow/1 document.

    A workflow of ours is returned as it is, brought to the latest version. Of a ComfyUI document every
    node is in the coverage: mapped, changed with reasons, or left out with the reason and the nearest
    node type here. Left out nodes are kept, unread, under `ext.comfyui.left_out`.

    `classes`: what GET /object_info of a ComfyUI server says, for saved files with node classes of other
    packs; without it the classes that have an equal here are known. `catalog`: makes the nodes of our own
    pack for ComfyUI known too.
    Errors: none; E_SCHEMA or E_TOO_LARGE as a diagnostic. Checks against a catalog come with compiling.
    """
    if not isinstance(document, Mapping):
        return _refused(document)
    if WORKFLOW.version_of(document.get("schema")) is not None:
        workflow, found = migrate(document)
        return AnyFormat(None if workflow is None else dict(workflow), found, Coverage("rushes"))
    if is_saved_file(document):
        pack = {} if catalog is None else pack_classes(catalog)
        return _read_file(document, {**known_classes(), **pack, **(classes or {})}, catalog)
    inner = document.get("prompt")
    prompt = document
    if isinstance(inner, Mapping) and "class_type" not in inner:  # the body of POST /prompt
        prompt = inner
    if not _is_prompt(prompt):
        return _refused(document)
    if len(prompt) > NODE_LIMIT:
        return _too_large("comfyui-prompt")
    if is_own_prompt(prompt, catalog):
        workflow, coverage = read_own_prompt(prompt, catalog)
        return AnyFormat(workflow, coverage.diagnostics(), coverage)
    nodes = {str(node_id): node for node_id, node in prompt.items()}
    mapped, coverage = _mapped(nodes, "comfyui-prompt", catalog)
    return AnyFormat(_workflow(mapped, nodes, coverage), coverage.diagnostics(), coverage)


def _is_prompt(document: Mapping[str, Any]) -> bool:
    nodes = [node for node in document.values() if isinstance(node, Mapping)]
    return len(nodes) == len(document) > 0 and any("class_type" in node for node in nodes)


def _mapped(
    nodes: Mapping[str, Mapping[str, Any]], source: Source, catalog: Catalog | None
) -> tuple[Mapped, Coverage]:
    fit = {node_id: node for node_id, node in nodes.items() if _is_id(node_id)}
    handlers = HANDLERS if catalog is None else {**HANDLERS, **own_handlers(catalog)}
    mapped = map_prompt(fit, handlers, source)
    unfit = [
        Covered(node_id, str(node.get("class_type")), "unmapped", (), ("its id cannot be printed",))
        for node_id, node in nodes.items()
        if node_id not in fit
    ]
    return mapped, Coverage(source, (*mapped.coverage.entries, *unfit))


def _is_id(node_id: str) -> bool:
    return 0 < len(node_id) <= ID_LIMIT - 16 and node_id.isprintable()


def _workflow(mapped: Mapped, nodes: Mapping[str, Mapping[str, Any]], coverage: Coverage) -> dict[str, Any]:
    missing = [entry.node_id for entry in coverage.entries if entry.state == "unmapped"]
    left_out = {node_id: nodes[node_id] for node_id in missing if node_id in nodes}
    graph = {"nodes": dict(mapped.nodes), "edges": dict(mapped.edges)}
    workflow: dict[str, Any] = {"schema": WORKFLOW.schema, "graph": graph}
    return {**workflow, "ext": {"comfyui": {"left_out": left_out}}} if left_out else workflow


def _read_file(
    document: Mapping[str, Any], classes: Mapping[str, Facts], catalog: Catalog | None
) -> AnyFormat:
    file = read_saved_file(document)
    try:
        prompt = saved_to_prompt(file, classes, names_unknown=True)
    except TooLarge:
        return _too_large("comfyui-file")
    if len(prompt) > NODE_LIMIT:
        return _too_large("comfyui-file")
    if is_own_prompt(prompt, catalog):
        workflow, read = read_own_prompt(prompt, catalog)
        mapped = Mapped(workflow["graph"]["nodes"], workflow["graph"]["edges"], read, {})
    else:
        mapped, read = _mapped(prompt, "comfyui-file", catalog)
    coverage = Coverage("comfyui-file", (*read.entries, *_unsent(file)))
    workflow = _workflow(mapped, prompt, coverage)
    _lay_out(workflow, file)
    faults = tuple(Diagnostic("W_NO_EQUAL", "warning", fault) for fault in file.faults[:20])
    return AnyFormat(workflow, (*faults, *coverage.diagnostics()), coverage)


def _unsent(file: SavedFile) -> Iterator[Covered]:
    """The nodes of a file that are in no prompt: the page resolves them."""
    graphs = [file.graph, *(subgraph.graph for subgraph in file.subgraphs.values())]
    for node in (node for graph in graphs for node in graph.nodes.values()):
        if node.class_type in NOTES:
            yield Covered(node.node_id, node.class_type, "mapped", (), ("kept as a note",))
        elif node.mode == MUTED:
            yield Covered(node.node_id, node.class_type, "changed", (), ("muted in the file, left out",))
        elif node.mode == BYPASSED:
            reason = "bypassed in the file: what fed it feeds its readers"
            yield Covered(node.node_id, node.class_type, "changed", (), (reason,))
        elif node.class_type in ("Reroute", "PrimitiveNode"):
            yield Covered(node.node_id, node.class_type, "mapped", (), ("resolved where it leads",))
        elif node.class_type in file.subgraphs:
            name = file.subgraphs[node.class_type].name
            yield Covered(node.node_id, node.class_type, "mapped", (), (f"subgraph {name[:80]}, expanded",))


def _lay_out(workflow: dict[str, Any], file: SavedFile) -> None:
    """Give the workflow the places, groups and notes of the file."""
    graph = workflow["graph"]
    places = {node_id: one.place for node_id, one in file.graph.nodes.items() if node_id in graph["nodes"]}
    view: dict[str, Any] = {}
    nodes = {node_id: _box(place) for node_id, place in places.items() if place is not None}
    if nodes:
        view["nodes"] = nodes
    notes = {node_id: node for node_id, node in file.graph.nodes.items() if node.class_type in NOTES}
    if notes:
        graph["notes"] = {node_id: {"text": _note(node)} for node_id, node in notes.items()}
        boxes = {node_id: _box(node.place) for node_id, node in notes.items() if node.place is not None}
        view["notes"] = boxes
    if file.groups:
        groups = {f"group-{number}": group for number, group in enumerate(file.groups, start=1)}
        graph["frames"] = {
            group_id: {"title": group.title[:200], "nodes": _inside(group.bounds, places)}
            for group_id, group in groups.items()
        }
        view["frames"] = {group_id: _box(group.bounds) for group_id, group in groups.items()}
    if view:
        workflow["view"] = view


def _box(place: tuple[float, float, float, float]) -> dict[str, float]:
    x, y, width, height = place
    return {"x": x, "y": y, "w": width, "h": height}


def _note(node: SavedNode) -> str:
    values = node.values if isinstance(node.values, tuple) else tuple(node.values.values())
    return "\n".join(value for value in values if isinstance(value, str))


def _inside(
    bounds: tuple[float, float, float, float],
    places: Mapping[str, tuple[float, float, float, float] | None],
) -> list[str]:
    """The nodes whose middle lies in a group."""
    left, top, width, height = bounds
    found = []
    for node_id, place in places.items():
        if place is not None:
            x, y = place[0] + place[2] / 2, place[1] + place[3] / 2
            if left <= x <= left + width and top <= y <= top + height:
                found.append(node_id)
    return found


def _refused(document: object) -> AnyFormat:
    expected = "a rushes.workflow document, a saved ComfyUI workflow, or a ComfyUI prompt"
    shown = show(document.get("schema", document) if isinstance(document, Mapping) else document)
    message = f"expected {expected}, got {shown}"
    found = Diagnostic("E_SCHEMA", "error", message, None, "schema", expected, shown)
    return AnyFormat(None, (found,), Coverage("rushes"))


def _too_large(source: Source) -> AnyFormat:
    message = f"a document has at most {NODE_LIMIT} nodes, got more"
    return AnyFormat(None, (Diagnostic("E_TOO_LARGE", "error", message, None, "nodes"),), Coverage(source))
