"""Recorded forwards give what forwards give. The recorder of CUDA has tests on a GPU at the end."""

import logging
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from rushes.backend.engine.capture import CapturedPredict, CudaRecorder
from rushes.backend.models.registry import find_checkpoints

SIZE = (4, 6)


class Repeated:
    """Does the work again on the memory it was given, and puts the result where the first one lay."""

    def __init__(self, work: Callable[[], Tensor]) -> None:
        self._work = work
        self._output = work()
        self._output.fill_(torch.nan)

    def replay(self) -> Tensor:
        return self._output.copy_(self._work())


class RepeatingRecorder:
    def __init__(self) -> None:
        self.made = 0

    def record(self, work: Callable[[], Tensor]) -> Repeated:
        self.made += 1
        return Repeated(work)


class RefusingRecorder:
    def __init__(self) -> None:
        self.asked = 0

    def record(self, work: Callable[[], Tensor]) -> Repeated:
        self.asked += 1
        raise RuntimeError("operation not permitted when stream is capturing")


@pytest.fixture
def recorder() -> RepeatingRecorder:
    return RepeatingRecorder()


def drawn(seed: int, frames: int = 2, lanes: int = 1) -> tuple[Tensor, Tensor]:
    """A latent and its sigma."""
    generator = torch.Generator().manual_seed(seed)
    latent = torch.randn(lanes, 16, frames, *SIZE, generator=generator)
    return latent, torch.rand(lanes, frames, generator=generator)


def prompt(components, *texts: str):
    return components.text_kv(components.encode_text(texts))


def held(seed: int, frames: int = 2) -> Tensor:
    return (torch.rand(1, frames, 4, generator=torch.Generator().manual_seed(seed)) > 0.5).float()


def filled(components, frames: int, seed: int = 0):
    """A history of that many committed latent frames, of which two are kept."""
    cache = components.new_cache(1, sink_frames=0, window_frames=2, height=SIZE[0], width=SIZE[1])
    for index in range(frames // 2):
        latent, sigma = drawn(seed + index)
        components.predict(latent, sigma * 0, prompt(components, "p"), cache=cache, commit=True)
    return cache


def test_a_replayed_forward_has_the_bits_of_a_forward(tiny, recorder):
    captured = CapturedPredict(tiny, recorder)

    for seed, text in enumerate(["red", "red", "blue", "sky.", "red"]):
        latent, sigma = drawn(seed)
        known = prompt(tiny, text)
        assert torch.equal(
            captured(latent, sigma, known, keys=held(seed)),
            tiny.predict(latent, sigma, known, keys=held(seed)),
        )
    assert recorder.made == 2, "texts of two lengths, each recorded when it came again"


def test_a_result_outlives_the_next_replay(tiny, recorder):
    captured, text = CapturedPredict(tiny, recorder), prompt(tiny, "red")
    results = [captured(*drawn(seed), text) for seed in range(4)]

    assert all(torch.equal(results[seed], tiny.predict(*drawn(seed), text)) for seed in range(4))


def test_the_recordings_used_longest_ago_make_room(tiny, recorder):
    captured, text = CapturedPredict(tiny, recorder, recordings_max=2), prompt(tiny, "red")
    for frames in (1, 1, 2, 2, 1, 3, 3, 1):
        captured(*drawn(0, frames), text)

    assert captured.recording_count == 2
    assert recorder.made == 3, "1 was used after 2, so 3 took the place of 2"


def test_what_cannot_be_recorded_runs_as_it_is_and_is_not_tried_again(tiny, caplog):
    recorder = RefusingRecorder()
    captured, text = CapturedPredict(tiny, recorder), prompt(tiny, "red")
    with caplog.at_level(logging.WARNING):
        results = [captured(*drawn(seed), text) for seed in range(4)]

    assert recorder.asked == 1
    assert "could not be recorded" in caplog.text
    assert torch.equal(results[3], tiny.predict(*drawn(3), text))


def test_adapters_and_commits_and_growing_histories_are_not_recorded(tiny, recorder, checkpoint_root):
    captured, text = CapturedPredict(tiny, recorder), prompt(tiny, "red")
    adapter = tiny.load_adapter(checkpoint_root / "tiny" / "adapters" / "loud.safetensors")
    lanes = tiny.lanes([[(adapter, 1.0)]])
    growing = tiny.new_cache(1, sink_frames=0, window_frames=8, height=SIZE[0], width=SIZE[1])
    for seed in range(3):
        latent, sigma = drawn(seed)
        adapted = captured(latent, sigma, text, adapters=lanes)
        assert torch.equal(adapted, tiny.predict(latent, sigma, text, adapters=lanes))
        captured(latent, sigma, text, cache=growing, commit=True)
        captured(latent, sigma, text, cache=growing)

    assert growing.frames == 6
    assert recorder.made == 0


def test_an_empty_history_is_none(tiny, recorder):
    captured, text = CapturedPredict(tiny, recorder), prompt(tiny, "red")
    empty = tiny.new_cache(1, sink_frames=0, window_frames=2, height=SIZE[0], width=SIZE[1])
    results = [captured(*drawn(seed), text, cache=empty) for seed in range(3)]

    assert recorder.made == 1
    assert torch.equal(results[2], tiny.predict(*drawn(2), text, cache=empty))


def test_a_full_history_is_replayed_from_chunk_to_chunk(tiny, recorder):
    captured, text = CapturedPredict(tiny, recorder), prompt(tiny, "red")
    ours, plain = filled(tiny, 2), filled(tiny, 2)
    for seed in range(5):
        for step in range(3):
            latent, sigma = drawn(10 * seed + step)
            replayed = captured(latent, sigma, text, cache=ours)
            assert torch.equal(replayed, tiny.predict(latent, sigma, text, cache=plain))
        for cache, predict in ((ours, captured), (plain, tiny.predict)):
            predict(*drawn(10 * seed + 9), text, cache=cache, commit=True)

    assert recorder.made == 1


def test_histories_do_not_share_a_recording(tiny, recorder):
    captured, text = CapturedPredict(tiny, recorder), prompt(tiny, "red")
    caches = [filled(tiny, 2, seed) for seed in (50, 60)]
    for step in range(3):
        for cache in caches:
            expected = tiny.predict(*drawn(step), text, cache=cache.clone())
            assert torch.equal(captured(*drawn(step), text, cache=cache), expected)

    assert recorder.made == 2


def test_joined_histories_are_replayed(tiny, recorder):
    captured, text = CapturedPredict(tiny, recorder), prompt(tiny, "red", "sky")
    caches = [filled(tiny, 4, seed) for seed in (50, 60)]
    for step in range(3):
        latent, sigma = drawn(step, lanes=2)
        expected = tiny.predict(latent, sigma, text, cache=tiny.join_caches([c.clone() for c in caches]))
        assert torch.equal(captured(latent, sigma, text, cache=tiny.join_caches(caches)), expected)

    assert recorder.made == 1


@pytest.fixture(params=["fp32", "bf16"])
def on_gpu(request, checkpoint_root):
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    family, folder, _ = find_checkpoints([checkpoint_root])["tiny"]
    return family.build(folder, device="cuda", precision=request.param)


def moved(*tensors: Tensor) -> tuple[Tensor, ...]:
    return tuple(tensor.cuda() for tensor in tensors)


@pytest.mark.gpu
def test_on_a_gpu_a_graph_has_the_bits_of_the_launches(on_gpu):
    captured, text = CapturedPredict(on_gpu, CudaRecorder()), prompt(on_gpu, "red")
    for frames in (2, 3, 2):
        for seed in range(4):
            latent, sigma = moved(*drawn(seed, frames))
            keys = held(seed, frames).cuda()
            replayed = captured(latent, sigma, text, keys=keys)
            assert torch.equal(replayed, on_gpu.predict(latent, sigma, text, keys=keys))

    assert captured.recording_count == 2


@pytest.mark.gpu
def test_on_a_gpu_a_full_history_has_the_bits_of_the_launches(on_gpu):
    captured, text = CapturedPredict(on_gpu, CudaRecorder()), prompt(on_gpu, "red")
    ours, plain = (
        on_gpu.new_cache(1, sink_frames=0, window_frames=2, height=SIZE[0], width=SIZE[1]) for _ in range(2)
    )
    for seed in range(5):
        for cache, predict in ((ours, captured), (plain, on_gpu.predict)):
            predict(*moved(*drawn(10 * seed + 9)), text, cache=cache, commit=True)
        for step in range(3):
            latent, sigma = moved(*drawn(10 * seed + step))
            replayed = captured(latent, sigma, text, cache=ours)
            assert torch.equal(replayed, on_gpu.predict(latent, sigma, text, cache=plain))

    assert captured.recording_count == 1


@pytest.mark.gpu
def test_on_a_gpu_work_that_synchronises_is_refused_and_the_next_is_recorded(on_gpu):
    recorder = CudaRecorder()
    x = torch.ones(4, device="cuda")

    def synchronising() -> Tensor:
        return x * float(x.sum())

    with pytest.raises(RuntimeError, match="captur"):
        recorder.record(synchronising)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    assert torch.equal(recorder.record(lambda: x + 1).replay(), x + 1)
