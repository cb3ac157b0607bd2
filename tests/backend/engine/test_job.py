"""What of a job has to run."""

import numpy as np
import torch

from rushes.backend.engine.job import plan_job
from rushes.backend.engine.results import ResultCache, stage_keys
from rushes.backend.engine.stages import load_stages
from rushes.backend.engine.values import Clip, Conditioning, LiveActions
from tests.backend.engine import graphs

STAGES = load_stages()


def ops(spec, indexes):
    return [spec.stages[index].op for index in indexes]


def test_everything_runs_when_nothing_is_known(checkpoint_root):
    spec = graphs.generate(checkpoint_root)

    plan = plan_job(spec, STAGES, lambda key: None)

    assert ops(spec, [need.stage for need in plan.needs]) == [stage.op for stage in spec.stages]
    assert not plan.known


def test_what_is_known_is_not_run_nor_what_only_it_needs(checkpoint_root):
    spec = graphs.generate(checkpoint_root)
    decode = next(i for i, stage in enumerate(spec.stages) if stage.op == "decode")
    known = {stage_keys(spec)[decode]: {"video": "frames"}}

    plan = plan_job(spec, STAGES, known.get)

    assert ops(spec, [need.stage for need in plan.needs]) == ["save_video"]
    assert plan.needs[0].after == ()
    assert set(ops(spec, plan.idle)) == {"load_model", "encode_text", "denoise"}


def test_a_rollout_always_runs(checkpoint_root):
    spec = graphs.rollout(checkpoint_root)

    plan = plan_job(spec, STAGES, lambda key: {"video": "frames", "session": "s", "conditioning": "c"})

    assert "rollout" in ops(spec, [need.stage for need in plan.needs])


def test_keys_depend_on_what_is_computed_and_not_on_names(checkpoint_root):
    first, second = graphs.generate(checkpoint_root), graphs.two_outputs(checkpoint_root)
    other = graphs.generate(checkpoint_root, seed=1)

    assert set(stage_keys(graphs.generate(checkpoint_root, seed=77))) <= set(stage_keys(second))
    changed = {
        stage.op
        for stage, a, b in zip(first.stages, stage_keys(first), stage_keys(other), strict=True)
        if a != b
    }
    assert changed == {"denoise", "decode", "save_video"}


def test_the_least_recently_used_result_goes_first():
    def clip(fill):
        return {"video": Clip(np.full((1, 10, 10, 3), fill, np.uint8), 16.0)}

    cache = ResultCache(bytes_max=700)
    cache.put("a", clip(1))
    cache.put("b", clip(2))
    cache.get("a")
    cache.put("c", clip(3))

    assert cache.get("b") is None
    assert cache.get("a") is not None
    assert cache.get("c") is not None


def test_a_result_larger_than_the_cache_is_not_kept():
    cache = ResultCache(bytes_max=300)
    cache.put("small", {"actions": LiveActions()})
    cache.put("large", {"conditioning": Conditioning(torch.zeros(1, 512, 8), "")})

    assert cache.get("large") is None
    assert cache.get("small") is not None
