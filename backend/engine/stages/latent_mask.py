from __future__ import annotations

from rushes.backend.engine.masks import ShapeMask
from rushes.backend.engine.stages.stage import Host, Outputs, PlainStage, StageCall


def _run(call: StageCall, host: Host) -> Outputs:
    mask = ShapeMask(
        shape=call.text("shape"),
        box=(call.number("x"), call.number("y"), call.number("width"), call.number("height")),
        points=tuple((float(x), float(y)) for x, y in call.row("points")),
        feather_px=call.number("feather_px"),
        value=call.number("value"),
        is_inverted=call.flag("invert"),
    )
    return {"mask": mask}


STAGE = PlainStage("latent_mask", _run)
