"""The table of stages, and what the engine's files may not say."""

import re
from pathlib import Path

import rushes.backend.engine
from rushes.backend.engine import failures
from rushes.backend.engine.stages import load_stages
from rushes.backend.engine.stages.stage import LoopStage
from rushes.backend.models.registry import families
from rushes.compiler.ir.ops import OPS

ENGINE = Path(rushes.backend.engine.__file__).parent


def test_there_is_a_stage_for_every_op_and_no_other():
    assert load_stages().keys() == OPS.keys()


def test_what_the_compiler_calls_a_loop_runs_step_by_step():
    loops = {name for name, stage in load_stages().items() if isinstance(stage, LoopStage)}

    assert loops >= {name for name, op in OPS.items() if op.is_loop}


def test_no_file_of_the_engine_names_a_family_or_a_checkpoint():
    names = "|".join([*(family.family_id for family in families()), "shapes"])
    word = re.compile(rf"\b({names})\b", re.IGNORECASE)
    texts = {path: path.read_text(encoding="utf-8") for path in ENGINE.rglob("*.py")}
    # "Shapes:" opens the paragraph of a docstring that names a tensor's axes.
    said = {path.name: word.findall(text.replace("Shapes:", "")) for path, text in texts.items()}

    assert {name: found for name, found in said.items() if found} == {}


def test_every_code_that_is_raised_is_on_the_list():
    raised = set()
    for path in ENGINE.rglob("*.py"):
        raised |= set(re.findall(r'"(E_[A-Z_]+)"', path.read_text(encoding="utf-8")))

    assert raised == failures.CODES.keys()
