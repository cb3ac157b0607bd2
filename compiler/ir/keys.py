"""Keys for what a program makes: equal keys, equal results, in any job and on any day."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from rushes.compiler.ir.spec import LoopSpec, PipelineSpec, canonical_json


def value_keys(spec: PipelineSpec) -> Mapping[str, str]:
    """A sha256 for every value of a spec, over everything that can change it and nothing that cannot.

    In it: op, attrs (content ids of files among them), trips, port by port the keys of what is read, and the
    port it leaves by. Not in it: ids and titles of nodes, positions, ids of edges, order, other nodes.

    Legal when the op gives the same result for the same inputs: not for `live_actions`, nor for what a
    person steers through it.
    """
    keys: dict[str, str] = {}
    for stage in spec.stages:
        trips = stage.trip_count if isinstance(stage, LoopSpec) else None
        reads = sorted((port, keys[value]) for port, value in stage.reads)
        made = canonical_json([stage.op, stage.attrs, trips, reads])
        for port, value in stage.writes:
            keys[value] = hashlib.sha256(f"{port}:{made}".encode()).hexdigest()
    return keys
