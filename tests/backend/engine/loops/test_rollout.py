"""The rollout loop: its cache, its decoder, its chunks, its ends."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from rushes.backend.engine.loops.control import Update
from rushes.backend.engine.loops.forward import Forwarder
from rushes.backend.engine.loops.guidance import Guidance
from rushes.backend.engine.loops.rollout import UNACKED_CHUNKS_MAX, RolloutLoop, RolloutTask
from rushes.backend.engine.loops.samplers import SAMPLERS
from rushes.backend.engine.noise import chunk_noise
from rushes.backend.engine.values import LiveActions, ScriptedActions

SIGMAS = (1.0, 0.75, 0.0)
SCRIPT = ScriptedActions((("w",), ("w",), ("w", "d"), (), ("a",), ("a",), ("s",)), is_loop=False)


@pytest.fixture
def task(tiny):
    def make(**options):
        defaults = {
            "sigmas": SIGMAS,
            "sampler": SAMPLERS["euler"],
            "guidance": Guidance(1.0),
            "texts": (tiny.text_kv(tiny.encode_text(["a red circle"])),),
            "stack": (),
            "seed": 4,
            "chunk_count": 3,
            "chunk_latent_frames": 3,
            "sink_frames": 0,
            "window_frames": 6,
            "latent_size": (16, 4, 6),
            "temporal": 4,
            "fps": 16.0,
            "is_paced": False,
            "actions": SCRIPT,
        }
        return RolloutTask(**{**defaults, **options})

    return make


class Run:
    """A rollout driven by hand: always the predict lane first where it can go on."""

    def __init__(self, components, task):
        self.loop = RolloutLoop(task, components)
        self.forwarder = Forwarder(components)
        self.state = self.loop.init()
        self.parts = []
        self.latents = []
        self.passes = []
        self.now_s = 0.0

    def step(self):
        """One step of one lane; False when no lane can go on."""
        loop, state = self.loop, self.state
        if loop.predict_want(state) is not None:
            if state.phase == "begin":
                loop.begin_chunk(state, self.now_s)
            self.passes.append(state.phase)
            loop.advance(state, self.forwarder.run([loop.prepare(state)])[0])
            if self.passes[-1] == "denoise" and state.phase != "denoise":
                newest = list(state.backlog)[-loop.task.chunk_latent_frames :]
                self.latents.append(torch.cat([handover.latent for handover in newest], dim=2))
            return True
        if loop.decode_want(state) is not None:
            part = loop.decode(state)
            loop.sent(state, part, self.now_s)
            self.parts.append(part)
            return True
        return False

    def to_the_end(self):
        while self.step():
            self.state.acked_chunk = self.state.chunk_index
        return self

    @property
    def frames(self):
        return torch.cat([part.frames for part in self.parts])


def keys_of(held):
    return torch.tensor([[[float(key in keys) for key in "wasd"] for keys in held]])


def test_the_inverted_rollout_equals_the_plain_one_bit_for_bit(tiny, task):
    given = task()
    cache = tiny.new_cache(1, sink_frames=0, window_frames=6, height=4, width=6)
    chunks = []
    for index in range(3):
        latent = chunk_noise(4, 0, index, (1, 16, 3, 4, 6))
        keys = keys_of([SCRIPT.keys_at(index * 3 + frame) for frame in range(3)])
        for sigma, following in pairwise(SIGMAS):
            velocity = tiny.predict(latent, torch.full((1, 3), sigma), given.texts[0], keys=keys, cache=cache)
            ratio = following / sigma
            latent = ratio * latent + (1 - ratio) * (latent - velocity * sigma)
        tiny.predict(latent, torch.zeros(1, 3), given.texts[0], keys=keys, cache=cache, commit=True)
        chunks.append(latent)

    run = Run(tiny, given).to_the_end()

    assert all(torch.equal(ours, plain) for ours, plain in zip(run.latents, chunks, strict=True))


def test_chunks_join_to_the_frames_of_one_decode_bit_for_bit(tiny, task):
    run = Run(tiny, task()).to_the_end()

    whole = tiny.decoder().push(torch.cat(run.latents, dim=2))

    assert torch.equal(run.frames, whole)
    assert run.frames.shape[0] == 9 + 12 + 12
    assert [part.frame_index for part in run.parts] == [0, 1, 5, 9, 13, 17, 21, 25, 29]


def test_a_rollout_saved_after_any_step_goes_on_bit_for_bit(tiny, task):
    given = task(sampler=SAMPLERS["unipc"])
    whole = Run(tiny, given).to_the_end()
    total = len(whole.passes) + len(whole.parts)
    for saved_after in range(0, total, 2):
        run = Run(tiny, given)
        for _ in range(saved_after):
            run.step()
            run.state.acked_chunk = run.state.chunk_index
        run.state = run.loop.load_state(run.loop.state_dict(run.state), given.texts)
        run.to_the_end()
        assert run.state.digest == whole.state.digest
        assert torch.equal(run.frames, whole.frames)


def test_a_denoise_step_never_changes_what_is_committed(tiny, task):
    run = Run(tiny, task(chunk_count=4))
    while run.state.phase != "over":
        before = run.state.cache.state_dict()
        if not run.step():
            break
        run.state.acked_chunk = run.state.chunk_index
        after = run.state.cache.state_dict()
        is_commit = run.passes[-1] == "commit" and before["frames"] != after["frames"]
        if not is_commit:
            assert all(torch.equal(before[name], after[name]) for name in ("keys", "values"))


def test_no_pass_is_run_after_the_last_chunk(tiny, task):
    run = Run(tiny, task()).to_the_end()

    assert run.passes.count("commit") == 2
    assert len(run.passes) - 2 == 3 * 2


def test_each_guidance_branch_has_its_own_history(tiny, task):
    texts = (*task().texts, tiny.text_kv(tiny.encode_text([""])))
    run = Run(tiny, task(guidance=Guidance(3.0), texts=texts, chunk_count=2)).to_the_end()

    keys = run.state.cache.state_dict()["keys"]

    assert keys.shape[1] == 2
    assert not torch.allclose(keys[:, 0], keys[:, 1])


def test_a_start_is_remembered_and_nothing_is_sent_for_it(tiny, task):
    run = Run(tiny, task(chunk_count=2))
    start = chunk_noise(1, 0, 0, (1, 16, 1, 4, 6))

    run.loop.begin_from(run.state, start, run.forwarder)
    assert run.state.cache.frames == 1
    assert run.state.frames_sent == 0
    run.to_the_end()

    whole = tiny.decoder().push(torch.cat([start, *run.latents], dim=2))
    assert torch.equal(run.frames, whole[1:])
    assert [run.loop.chunk_frames(run.state, index) for index in (0, 1)] == [12, 12]


def test_the_start_does_not_use_up_the_first_action(tiny, task):
    run = Run(tiny, task(chunk_count=1))
    run.loop.begin_from(run.state, chunk_noise(1, 0, 0, (1, 16, 4, 4, 6)), run.forwarder)
    run.to_the_end()

    assert run.state.cache.frames == 4
    assert run.parts[0].chunk.keys == SCRIPT.script[:3]


def test_a_start_gives_another_rollout(tiny, task):
    run = Run(tiny, task(chunk_count=1))
    run.loop.begin_from(run.state, chunk_noise(1, 0, 0, (1, 16, 1, 4, 6)), run.forwarder)

    assert run.to_the_end().state.digest != Run(tiny, task(chunk_count=1)).to_the_end().state.digest


def test_a_rollout_waits_for_acks(tiny, task):
    run = Run(tiny, task(chunk_count=0))
    while run.step():
        pass

    assert run.state.chunk_index == UNACKED_CHUNKS_MAX
    run.state.acked_chunk = 0
    assert run.step()


def test_the_next_chunk_begins_before_this_one_is_decoded_and_no_further_one(tiny, task):
    run = Run(tiny, task(chunk_count=0))
    while run.loop.predict_want(run.state) is not None:
        run.step()

    assert run.parts == []
    assert run.state.chunk_index == 2


def test_a_stop_ends_before_the_chunk_it_names(tiny, task):
    run = Run(tiny, task(chunk_count=0))
    run.state.stop_before = 2

    run.to_the_end()

    assert run.loop.is_over(run.state)
    assert len(run.latents) == 2
    assert run.frames.shape[0] == 21


def test_a_stop_at_once_drops_the_chunk_at_hand_but_not_the_first(tiny, task):
    run = Run(tiny, task(chunk_count=0))
    run.step()
    run.state.stop_before = 0

    run.to_the_end()

    assert len(run.latents) == 1
    assert run.loop.is_over(run.state)


def test_live_keys_are_those_held_when_the_chunk_begins(tiny, task):
    run = Run(tiny, task(actions=LiveActions(), chunk_count=2))
    run.state.arrivals.append(Update(1, keys=("w",)))
    run.step()
    run.state.arrivals.append(Update(2, keys=("a", "d")))
    run.to_the_end()

    chunks = {part.chunk.index: part.chunk for part in run.parts}
    assert chunks[0].keys == (("w",),) * 3
    assert chunks[0].control_seq == 1
    assert chunks[1].keys == (("a", "d"),) * 3
    assert chunks[1].control_seq == 2


def test_a_paced_rollout_commits_after_its_first_part_and_then_waits_for_its_time(tiny, task):
    run = Run(tiny, task(is_paced=True, chunk_count=0))
    while run.loop.predict_want(run.state) is not None:
        run.step()
    assert run.passes == ["denoise", "denoise"]
    run.now_s = 0.2
    run.step()
    assert len(run.parts) == 1
    run.step()
    assert run.passes[-1] == "commit"

    want = run.loop.predict_want(run.state)

    assert want is not None
    assert want.deadline_s == pytest.approx(0.2 + 1 / 16)
    assert 0.2 < want.not_before_s < 0.2 + 9 / 16


def test_an_endless_rollout_holds_no_more_after_30_chunks_than_after_10(tiny, task):
    run = Run(tiny, task(chunk_count=0))

    def held_after(chunks):
        while run.state.chunk_index < chunks:
            run.step()
            run.state.acked_chunk = run.state.chunk_index
        saved = run.loop.state_dict(run.state)
        return saved["cache"]["keys"].numel(), len(run.state.backlog) <= 6, len(saved["decoder"]["tails"])

    assert held_after(10) == held_after(30)


def test_two_rollouts_at_the_same_clock_come_out_of_a_batch_as_alone(tiny, task):
    alone = [Run(tiny, replace(task(), seed=seed)).to_the_end() for seed in (1, 2)]
    runs = [Run(tiny, replace(task(), seed=seed)) for seed in (1, 2)]
    forwarder = runs[0].forwarder
    while any(run.state.phase != "over" for run in runs):
        for run in runs:
            while run.loop.predict_want(run.state) is None and run.step():
                pass
        if any(run.loop.predict_want(run.state) is None for run in runs):
            break
        for run in runs:
            if run.state.phase == "begin":
                run.loop.begin_chunk(run.state, 0.0)
        velocities = forwarder.run([run.loop.prepare(run.state) for run in runs])
        for run, velocity in zip(runs, velocities, strict=True):
            run.loop.advance(run.state, velocity)
    for run, solo in zip(runs, alone, strict=True):
        run.to_the_end()
        # Frames are rounded to 8 bits: what little differs in the latent hardly shows.
        assert (run.frames.float() - solo.frames.float()).abs().max() <= 1
