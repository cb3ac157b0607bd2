from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from rushes.compiler.ir.declaration import NodeDeclaration, ParamRule, ParamValue
from rushes.compiler.ir.diagnostics import Diagnostic, Json
from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.facts import Target
from rushes.compiler.ir.graph import Node
from rushes.compiler.ir.showing import closest, label, show

_FILE_CODES = {
    "checkpoints": "E_UNKNOWN_CHECKPOINT",
    "adapters": "E_UNKNOWN_ADAPTER",
    "images": "E_UNKNOWN_ASSET",
    "videos": "E_UNKNOWN_ASSET",
}


class _Refused(Exception):
    """A param does not hold what it may; carries the diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def resolve_params(draft: Draft, request: Request) -> Draft:
    """Check every param against its rule and fill in defaults.

    Before
        generate {frame_count: 45}
    After
        generate {width_px: 96, height_px: 96, frame_count: 45, fps: 16, seed: 0}

    Nothing is clamped. JSON does not tell 4.0 from 4, so a whole number may stand for either kind.
    Errors: E_UNKNOWN_PARAM, E_PARAM_TYPE, E_PARAM_RANGE, E_PARAM_VALUE, E_UNKNOWN_CHOICE, and
    E_UNKNOWN_CHECKPOINT, _ADAPTER, _ASSET for files the target does not have.
    """
    params: dict[str, Mapping[str, ParamValue]] = {}
    found: list[Diagnostic] = []
    for node in draft.graph.nodes.values():
        declared = draft.declaration(node.node_id, request.catalog)
        if declared is None:
            continue
        before = len(found)
        resolved = _resolve(node, declared, request.target, found)
        if len(found) == before:
            params[node.node_id] = resolved
    return replace(draft, params=params).reporting(found)


def _resolve(
    node: Node, declared: NodeDeclaration, target: Target, found: list[Diagnostic]
) -> Mapping[str, ParamValue]:
    for name in node.params:
        if name not in declared.params:
            found.append(_unknown(node, declared, str(name)))
    resolved: dict[str, ParamValue] = {}
    for name, rule in declared.params.items():
        try:
            resolved[name] = _value(node.node_id, rule, node.params.get(name, rule.default), target)
        except _Refused as refused:
            found.append(refused.diagnostic)
    return resolved


def _value(node_id: str, rule: ParamRule, given: object, target: Target) -> ParamValue:
    if rule.kind == "BOOL":
        if not isinstance(given, bool):
            raise _wrong(node_id, rule, "E_PARAM_TYPE", "true or false", given)
        return given
    if rule.kind in ("INT", "FLOAT"):
        return _number(node_id, rule, given)
    if not isinstance(given, str):
        raise _wrong(node_id, rule, "E_PARAM_TYPE", "text", given)
    if rule.kind == "CHOICE":
        return _choice(node_id, rule, given, target)
    return _text(node_id, rule, given)


def _number(node_id: str, rule: ParamRule, given: object) -> int | float:
    kind = "a whole number" if rule.kind == "INT" else "a number"
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise _wrong(node_id, rule, "E_PARAM_TYPE", kind, given)
    if isinstance(given, float) and not math.isfinite(given):
        raise _wrong(node_id, rule, "E_PARAM_TYPE", f"{kind} that is finite", given)
    if rule.kind == "INT" and given != int(given):
        raise _wrong(node_id, rule, "E_PARAM_TYPE", kind, given, math.floor(given))
    low, high = rule.minimum, rule.maximum
    if (low is not None and given < low) or (high is not None and given > high):
        nearest = low if low is not None and given < low else high
        raise _wrong(node_id, rule, "E_PARAM_RANGE", _span(rule), given, nearest)
    return int(given) if rule.kind == "INT" else float(given)


def _span(rule: ParamRule) -> str:
    if rule.minimum is None:
        return f"at most {rule.maximum}"
    return f"at least {rule.minimum}" if rule.maximum is None else f"{rule.minimum} to {rule.maximum}"


def _text(node_id: str, rule: ParamRule, given: str) -> str:
    if len(given) > rule.max_length:
        expected = f"at most {rule.max_length} characters"
        raise _wrong(node_id, rule, "E_PARAM_RANGE", expected, f"{len(given)} characters")
    if any(0xD800 <= ord(character) <= 0xDFFF for character in given) or "\x00" in given:
        raise _wrong(node_id, rule, "E_PARAM_VALUE", "text that can be written as UTF-8, without NUL", given)
    return given


def _choice(node_id: str, rule: ParamRule, given: str, target: Target) -> str:
    known = _choices(rule, target)
    if given in known:
        return given
    if rule.choices_from is None:
        names = ", ".join(known)
        raise _wrong(node_id, rule, "E_UNKNOWN_CHOICE", f"one of {names}", given, closest(given, known))
    code = _FILE_CODES[rule.choices_from]
    names = ", ".join(sorted(known)[:10]) or "none are"
    expected = f"one of the {rule.choices_from} on this machine ({names})"
    raise _wrong(node_id, rule, code, expected, given, closest(given, sorted(known)))


def _choices(rule: ParamRule, target: Target) -> Iterable[str]:
    if rule.choices_from == "checkpoints":
        return target.checkpoints
    if rule.choices_from == "adapters":
        return target.adapters
    if rule.choices_from is not None:
        kind = "image" if rule.choices_from == "images" else "video"
        return [asset.asset for asset in target.assets.values() if asset.kind == kind]
    return rule.choices or ()


def _wrong(
    node_id: str, rule: ParamRule, code: str, expected: str, given: object, suggestion: Json = None
) -> _Refused:
    shown = show(given)
    message = f"{rule.name}: expected {expected}, got {shown}"
    return _Refused(Diagnostic(code, "error", message, node_id, rule.name, expected, shown, suggestion))


def _unknown(node: Node, declared: NodeDeclaration, name: str) -> Diagnostic:
    names = ", ".join(declared.params) or "none"
    message = f"expected a param of {declared.type_id} among {names}, got {show(name)}"
    return Diagnostic(
        "E_UNKNOWN_PARAM",
        "error",
        message,
        node.node_id,
        label(name),
        names,
        show(name),
        closest(name, declared.params),
    )
