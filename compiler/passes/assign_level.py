from __future__ import annotations

from dataclasses import replace

from rushes.compiler.ir.draft import Draft, Request
from rushes.compiler.ir.spec import Level


def assign_level(draft: Draft, request: Request) -> Draft:
    """Say how near the result is to a run on its own.

    `exact` where the workflow demands it, else `pinned`: no node makes approximations yet, so a demand
    of `fast` or `pinned` is met by `pinned`.
    """
    if draft.spec is None:
        return draft
    level: Level = "exact" if request.level == "exact" else "pinned"
    return replace(draft, spec=replace(draft.spec, level=level))
