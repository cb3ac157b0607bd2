"""Cheap pictures of unfinished work."""

import io
import threading
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import torch
from PIL import Image

from rushes.backend.engine.previews.linear import FRAMES_MAX, Previewer, PreviewOf

CLEAN = torch.linspace(0, 1, 40).view(1, 1, 40, 1, 1).expand(1, 3, 40, 2, 3)


def model():
    def preview(latent):
        return (latent[0].permute(1, 2, 3, 0) * 255).round().to(torch.uint8)

    return SimpleNamespace(components=SimpleNamespace(preview=preview))


def shown(width_px=48, height_px=32, **options):
    sent, came = [], threading.Event()

    def emit(event, payload):
        sent.append((event, payload))
        came.set()

    previews = Previewer(emit)
    previews.begin("job")
    previews.show(PreviewOf("job", "node", 2, 4, width_px, height_px), model(), CLEAN)
    came.wait(10)
    previews.stop()
    return sent[0]


def test_a_preview_is_a_short_loop_over_the_whole_clip_at_the_size_of_its_frames():
    event, payload = shown()

    cuts = np.cumsum([0, *event.frame_bytes])
    frames = [Image.open(io.BytesIO(payload[a:b])) for a, b in pairwise(cuts)]
    assert len(frames) == event.frame_count == FRAMES_MAX
    assert {frame.size for frame in frames} == {(48, 32)}
    assert np.asarray(frames[0]).mean() < 10
    assert np.asarray(frames[-1]).mean() > 245


def test_a_large_preview_is_scaled_down():
    event, _ = shown(width_px=2048, height_px=1024)

    assert (event.width_px, event.height_px) == (512, 256)


def test_steps_faster_than_the_eye_are_not_all_shown_but_the_last_is():
    sent = []
    previews = Previewer(lambda event, payload: sent.append(event.step))
    previews.begin("job")
    for step in range(1, 10):
        previews.show(PreviewOf("job", "node", step, 9, 48, 32), model(), CLEAN)
    previews.stop()

    assert sent[0] == 1
    assert sent[-1] == 9
    assert len(sent) < 9


def test_nothing_is_sent_of_a_job_that_has_ended():
    sent = []
    previews = Previewer(lambda event, payload: sent.append(event))
    previews.begin("job")
    previews.end("job")
    previews.show(PreviewOf("job", "node", 2, 4, 48, 32), model(), CLEAN)
    previews.stop()

    assert sent == []
