"""Fitted costs of checkpoints on kinds of devices; a pair that is not listed is not known.

Written by `python -m benchmarks.compiler costs --write`.
"""

from __future__ import annotations

from collections.abc import Mapping

from rushes.compiler.ir.costs import Cost

COSTS: Mapping[tuple[str, str], Cost] = {
    ("shapes", "cpu"): Cost(
        forward_s=0.0073,
        token_forward_s=0.000117,
        text_s=0.002,
        pixel_encode_s=5.8e-07,
        pixel_decode_s=9.4e-07,
    ),
}
