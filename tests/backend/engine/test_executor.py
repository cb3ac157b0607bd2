"""The executor in this process, with faults put into the model it runs."""

import queue
import threading
from collections import Counter
from pathlib import Path

import pytest
import torch

from rushes.backend.engine import protocol
from rushes.backend.engine.executor import Executor
from rushes.backend.engine.noise import chunk_noise
from rushes.backend.engine.previews.linear import Previewer
from rushes.backend.engine.protocol import TERMINAL_TYPES
from rushes.backend.engine.residency import Residency
from rushes.backend.engine.stages.stage import Host
from rushes.compiler.ir.spec import spec_to_json
from tests.backend.engine import graphs


class Bench:
    """An executor on a thread, the events it gave, and a way to answer each as it comes."""

    def __init__(self, root: Path, tmp_path: Path, assets: dict[str, Path]):
        self.root, self.tmp_path, self.assets = root, tmp_path, assets
        self.inbox = queue.Queue()
        self.events = []
        self.answer = lambda event: None
        self.ended = {}
        self.residency = Residency([root], "cpu")
        self.previews = Previewer(self.emit)
        self.executor = Executor(Host(self.residency, self.previews), self.emit, self.inbox, validate=True)
        self.thread = threading.Thread(target=self.executor.run)
        self.thread.start()

    def emit(self, event, payload):
        self.events.append(event)
        if event.type in TERMINAL_TYPES:
            self.ended[event.job_id].set()
        if event.type == "chunk.frames":
            self.inbox.put(protocol.AckChunk(event.job_id, event.node_id, event.chunk_index))
        self.answer(event)

    def submit(self, job_id, spec):
        self.ended[job_id] = threading.Event()
        assets = {name: str(path) for name, path in self.assets.items()}
        folder = str(self.tmp_path / job_id)
        self.inbox.put(protocol.SubmitJob(job_id, spec_to_json(spec), assets, folder))

    def end_of(self, job_id):
        assert self.ended[job_id].wait(60), f"{job_id} did not end"
        return next(event for event in self.of(job_id) if event.type in TERMINAL_TYPES)

    def run(self, job_id, spec):
        self.submit(job_id, spec)
        return self.end_of(job_id)

    def of(self, job_id, kind=None):
        events = [event for event in self.events if event.type != "worker.ready" and event.job_id == job_id]
        return [event for event in events if kind in (None, event.type)]

    def latent_hash(self, job_id):
        return self.of(job_id, "artifact.created")[-1].latent_sha256

    def model(self):
        """The loaded checkpoint that jobs run on."""
        facts = self.residency.default_checkpoint()
        return self.residency.model("tiny", "fp32", facts.content_id).components

    def close(self):
        self.inbox.put(protocol.StopWorker())
        self.thread.join(60)
        self.previews.stop()


@pytest.fixture
def bench(checkpoint_root, tmp_path, shipped_assets):
    made = Bench(checkpoint_root, tmp_path, shipped_assets)
    yield made
    made.close()


def test_a_cancel_acts_at_the_next_step(bench):
    def cancel_after_the_second(event):
        if event.type == "job.progress" and event.step == 2:
            bench.inbox.put(protocol.CancelJob("a"))

    bench.answer = cancel_after_the_second

    end = bench.run("a", graphs.generate(bench.root, step_count=100))

    assert end.type == "job.cancelled"
    # The step that was told of is over; the next may have begun before the cancel was read.
    assert len(bench.of("a", "job.progress")) <= 3


def test_a_cancel_of_a_rollout_acts_at_the_next_step_and_ends_it_once(bench):
    bench.answer = lambda event: (
        bench.inbox.put(protocol.CancelJob("a"))
        if event.type == "job.progress" and event.chunk_index == 1
        else None
    )

    bench.run("a", graphs.rollout(bench.root, chunk_count=0))

    steps = [(event.chunk_index, event.step) for event in bench.of("a", "job.progress")]
    assert steps[-1] <= (1, 2)
    assert sum(event.type in TERMINAL_TYPES for event in bench.of("a")) == 1


def test_previews_change_nothing_in_the_latent(bench, monkeypatch):
    bench.run("shown", graphs.generate(bench.root, seed=5))
    monkeypatch.setattr(Previewer, "show", lambda *_: None)
    bench.executor._results.clear()
    bench.run("unseen", graphs.generate(bench.root, seed=5))

    assert bench.latent_hash("shown") == bench.latent_hash("unseen")


def test_a_lane_whose_model_gives_no_numbers_fails_alone(bench, monkeypatch):
    components = bench.model()
    predict = components.predict

    def broken(latent, sigma, text, **options):
        velocity = predict(latent, sigma, text, **options)
        poisoned = ((latent - poison).abs() < 1e-3).flatten(1).all(dim=1)
        return torch.where(poisoned.view(-1, 1, 1, 1, 1), torch.full_like(velocity, float("nan")), velocity)

    poison = chunk_noise(13, 0, 0, (1, 16, 3, 4, 6))
    monkeypatch.setattr(components, "predict", broken)
    for seed in (12, 13, 14):
        bench.submit(f"seed-{seed}", graphs.generate(bench.root, seed=seed))

    ends = {seed: bench.end_of(f"seed-{seed}") for seed in (12, 13, 14)}

    assert (ends[13].type, ends[13].code, ends[13].node_id) == ("job.failed", "E_NAN", "generate")
    assert [ends[12].type, ends[14].type] == ["job.completed"] * 2


def test_a_batch_that_is_too_large_is_run_lane_by_lane(bench, monkeypatch):
    components = bench.model()
    predict, rows_seen = components.predict, []

    def small(latent, *given, **options):
        rows_seen.append(latent.shape[0])
        if latent.shape[0] > 1:
            raise torch.OutOfMemoryError("tried to allocate too much")
        return predict(latent, *given, **options)

    monkeypatch.setattr(components, "predict", small)
    for seed in (21, 22, 23):
        bench.submit(f"seed-{seed}", graphs.generate(bench.root, seed=seed, step_count=20))

    assert {bench.end_of(f"seed-{seed}").type for seed in (21, 22, 23)} == {"job.completed"}
    assert max(rows_seen) > 1


def test_too_little_memory_for_one_lane_fails_its_job_by_code(bench, monkeypatch):
    def full(*_, **__):
        raise torch.OutOfMemoryError("tried to allocate 4 GiB")

    monkeypatch.setattr(bench.model(), "predict", full)

    end = bench.run("a", graphs.generate(bench.root, seed=31))

    assert (end.type, end.code) == ("job.failed", "E_OUT_OF_MEMORY")
    assert bench.of("a", "node.failed")[0].node_id == "generate"


def test_the_worker_goes_on_after_a_fault_of_ours(bench, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(bench.model(), "decoder", lambda: 1 / 0)
        failed = bench.run("a", graphs.generate(bench.root, seed=32))
    assert (failed.code, failed.message) == ("E_INTERNAL", "ZeroDivisionError: division by zero")

    assert bench.run("b", graphs.generate(bench.root, seed=32)).type == "job.completed"


def test_a_program_that_cannot_be_read_fails_its_job(bench):
    bench.ended["a"] = threading.Event()
    bench.inbox.put(protocol.SubmitJob("a", {"schema": "rushes.pipeline/9"}, {}, str(bench.tmp_path)))

    end = bench.end_of("a")

    assert end.type == "job.failed"
    assert "rushes.pipeline/1" in end.message


def test_a_rollout_seen_whole_by_a_later_node_is_collected(bench):
    spec = graphs.rollout_into_overlay(bench.root)

    assert bench.run("a", spec).type == "job.completed"
    assert bench.of("a", "artifact.created")[0].frame_count == 21


def test_a_rollout_that_is_steered_before_it_is_open_hears_it_when_it_opens(bench):
    bench.answer = lambda event: (
        bench.inbox.put(protocol.ControlJob("a", "rollout", 1, keys=["w"]))
        if event.type == "job.started"
        else None
    )
    bench.run("a", graphs.rollout(bench.root, chunk_count=1, actions=graphs.LIVE))

    assert bench.of("a", "chunk.frames")[0].keys == (("w",),) * 3


def test_keys_do_not_reach_a_rollout_that_a_script_steers(bench):
    bench.answer = lambda event: (
        bench.inbox.put(protocol.ControlJob("a", "rollout", 1, keys=["s"], prompt="night"))
        if event.type == "job.started"
        else None
    )
    bench.run("a", graphs.rollout(bench.root, chunk_count=2, actions=graphs.SCRIPT))

    assert bench.of("a", "chunk.frames")[0].keys[0] == ("w",)
    assert [event.seq for event in bench.of("a", "control.applied")] == [1]


def test_two_clips_that_differ_in_seed_alone_share_forwards(bench, monkeypatch):
    components = bench.model()
    predict, rows = components.predict, Counter()

    def counted(latent, *given, **options):
        rows[latent.shape[0]] += 1
        return predict(latent, *given, **options)

    monkeypatch.setattr(components, "predict", counted)
    for seed in (41, 42):
        bench.submit(f"seed-{seed}", graphs.generate(bench.root, seed=seed, step_count=30))
    for seed in (41, 42):
        bench.end_of(f"seed-{seed}")

    assert rows[2] > rows[1]
