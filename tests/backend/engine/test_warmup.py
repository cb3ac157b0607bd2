"""The warm-up job runs to its end, and where forwards are recorded it sees each of its forwards twice."""

import queue
import threading

import pytest
import torch

from rushes.backend.engine import protocol
from rushes.backend.engine.executor import Executor
from rushes.backend.engine.loops.forward import Forwarder
from rushes.backend.engine.previews.linear import Previewer
from rushes.backend.engine.protocol import TERMINAL_TYPES
from rushes.backend.engine.residency import Residency
from rushes.backend.engine.stages.stage import Host
from rushes.backend.engine.warmup import warm_up_job


class Run:
    """An executor that ran a warm-up job to its end, and the forwards it ran."""

    def __init__(self, root, folder, device, is_recorded):
        self.end = None
        self.residency = Residency([root], device)
        self.facts = self.residency.default_checkpoint()
        precision = "bf16" if device == "cuda" else "fp32"
        inbox = queue.Queue()
        ended = threading.Event()

        def emit(event, payload):
            if event.type in TERMINAL_TYPES:
                self.end = event
                ended.set()

        previews = Previewer(emit)
        thread = threading.Thread(target=Executor(Host(self.residency, previews), emit, inbox).run)
        thread.start()
        inbox.put(warm_up_job(self.facts, precision, folder, is_recorded=is_recorded))
        assert ended.wait(100)
        inbox.put(protocol.StopWorker())
        thread.join(60)
        previews.stop()
        self.model = self.residency.model(self.facts.checkpoint, precision, self.facts.content_id)
        self.forwarder: Forwarder = self.residency.forwarder(self.model)


@pytest.mark.parametrize("is_recorded", [False, True])
def test_it_runs_to_its_end(checkpoint_root, tmp_path, is_recorded):
    run = Run(checkpoint_root, tmp_path, "cpu", is_recorded)

    assert run.end.type == "job.completed", run.end


@pytest.mark.gpu
def test_on_a_gpu_the_checkpoint_s_own_clip_is_recorded_when_it_ends(checkpoint_root, tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    run = Run(checkpoint_root, tmp_path, "cuda", is_recorded=True)

    assert run.end.type == "job.completed", run.end
    assert run.forwarder.recording_count >= 2, "the clip, and chunks with a full history"
