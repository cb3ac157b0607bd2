"""The forward as a CUDA graph: recorded when its shape comes a second time, replayed from then on.

A replay gives the bits of the forward it was recorded from, and the host launches one thing instead of some
hundreds. What a recording cannot hold runs as it is: commits, adapters, histories that still grow, latents so
large that the device is the slower side anyway.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

import torch
from torch import Tensor

if TYPE_CHECKING:
    from rushes.backend.models.family import Components
    from rushes.backend.models.layers.adapted_linear import LaneAdapters
    from rushes.backend.models.layers.joined_rings import JoinedRings
    from rushes.backend.models.layers.ring_kv import RingKVCache

log = logging.getLogger("rushes.engine")

RECORDINGS_MAX = 8
SIGHTINGS_MAX = 256
CELLS_MAX = 1 << 16
"""Latent cells of a batch above which launches are hidden behind the work of the device."""


class Recording(Protocol):
    """Work that can be done again, on the same memory."""

    def replay(self) -> Tensor:
        """Do it; the result lies where it lay before and is overwritten by the next replay of any."""


class Recorder(Protocol):
    def record(self, work: Callable[[], Tensor]) -> Recording:
        """Errors: RuntimeError for work that cannot be recorded; it can still be done."""


def captured(components: Components) -> CapturedPredict | None:
    """Their forwards recorded, where the device can do that."""
    return CapturedPredict(components, CudaRecorder()) if components.device.type == "cuda" else None


class CudaRecorder:
    """Records on a stream of its own; all recordings share one pool of memory, since they never overlap.

    State: the stream and the pool, new ones after a recording that failed.
    """

    def __init__(self) -> None:
        self._place: tuple[torch.cuda.Stream, Any] | None = None

    def record(self, work: Callable[[], Tensor]) -> Recording:
        if self._place is None:
            self._place = torch.cuda.Stream(), torch.cuda.graph_pool_handle()
        stream, pool = self._place
        current = torch.cuda.current_stream()
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            work()  # what a first run sets up must not be recorded
        current.wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        try:
            # Other threads may go on with work of their own, such as decoding, meanwhile.
            with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
                output = work()
        except RuntimeError:
            torch.cuda.set_stream(current)  # a capture that broke off leaves its own stream behind
            self._place = None
            raise
        return _CudaRecording(graph, output)


@dataclass(frozen=True, slots=True)
class _CudaRecording:
    graph: torch.cuda.CUDAGraph
    output: Tensor

    def replay(self) -> Tensor:
        self.graph.replay()
        return self.output


class CapturedPredict:
    """`Components.predict`, recorded and replayed where that gives the same.

    State: the ``recordings_max`` most recently used recordings with their input buffers, which forwards were
        seen once, and which could not be recorded. For one thread.
    """

    def __init__(
        self, components: Components, recorder: Recorder, recordings_max: int = RECORDINGS_MAX
    ) -> None:
        self._components = components
        self._recorder = recorder
        self._recordings_max = recordings_max
        self._recorded: OrderedDict[Key, _Recorded] = OrderedDict()
        self._seen: OrderedDict[Key, bool] = OrderedDict()
        """Whether it may be recorded next time."""
        self._texts: WeakValueDictionary[Layout, _Buffers] = WeakValueDictionary()

    @property
    def recording_count(self) -> int:
        return len(self._recorded)

    def __call__(  # noqa: PLR0913 - as Components.predict
        self,
        latent: Tensor,
        sigma: Tensor,
        text: Any,
        *,
        keys: Tensor | None = None,
        cache: RingKVCache | JoinedRings | None = None,
        commit: bool = False,
        adapters: LaneAdapters | None = None,
    ) -> Tensor:
        if cache is not None and cache.frames == 0 and not commit:
            cache = None  # an empty history is none
        inputs = _Inputs(latent, sigma, text, keys)
        is_growing = cache is not None and not cache.is_full
        cells = latent.numel() // latent.shape[1]
        if commit or adapters is not None or is_growing or cells > CELLS_MAX:
            return self._components.predict(
                latent, sigma, text, keys=keys, cache=cache, commit=commit, adapters=adapters
            )
        if cache is not None:
            self._components.rotate_past(cache, latent.shape[3], latent.shape[4])
        recorded = self._recording(inputs, cache)
        if recorded is None:
            return self._components.predict(latent, sigma, text, keys=keys, cache=cache)
        return recorded.run(inputs)

    def _recording(self, inputs: _Inputs, cache: RingKVCache | JoinedRings | None) -> _Recorded | None:
        """The recording of such a forward, if it is known by now."""
        key = Key(_layout(inputs), () if cache is None else cache.memory())
        if key in self._recorded:
            self._recorded.move_to_end(key)
            return self._recorded[key]
        if self._seen.get(key, False):
            return self._record(key, inputs, cache)
        self._seen.setdefault(key, True)
        if len(self._seen) > SIGHTINGS_MAX:
            self._seen.popitem(last=False)
        return None

    def _record(self, key: Key, inputs: _Inputs, cache: RingKVCache | JoinedRings | None) -> _Recorded | None:
        latent, sigma, text, held = inputs
        buffers, texts = _Buffers.like((latent, sigma, held)), self._text_buffers(text)
        buffers.write((latent, sigma, held))
        texts.write_once(text)

        def forward() -> Tensor:
            static_latent, static_sigma, static_keys = buffers.value
            return self._components.predict(
                static_latent, static_sigma, texts.value, keys=static_keys, cache=cache
            )

        try:
            recorded = _Recorded(buffers, texts, self._recorder.record(forward))
        except RuntimeError:
            log.warning("a forward could not be recorded, it runs as it is", exc_info=True)
            self._seen[key] = False
            return None
        self._recorded[key] = recorded
        if len(self._recorded) > self._recordings_max:  # the device is idle after a recording
            self._recorded.popitem(last=False)
        return recorded

    def _text_buffers(self, text: Any) -> _Buffers:
        """Prompts of one shape share their buffers: they are large, and recordings are many."""
        layout = _layout(text)
        buffers = self._texts.get(layout)
        if buffers is None:
            buffers = self._texts[layout] = _Buffers.like(text)
        return buffers


Layout = tuple[Any, ...]


class Key(NamedTuple):
    """What must be equal for a recording to serve: layout, and where a full history lies."""

    layout: Layout
    memory: tuple[int, ...]


class _Inputs(NamedTuple):
    latent: Tensor
    sigma: Tensor
    text: Any
    keys: Tensor | None


class _Buffers:
    """Memory that a recording reads, in the form of some value.

    State: which value was written last; the same object is not written again.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self._written: Any = None

    @classmethod
    def like(cls, value: Any) -> _Buffers:
        with torch.inference_mode(False):  # so that they can be written in any mode
            return cls(_mapped(value, lambda x: torch.empty(x.shape, dtype=x.dtype, device=x.device)))

    def write(self, value: Any) -> None:
        for buffer, tensor in zip(_tensors(self.value), _tensors(value), strict=True):
            buffer.copy_(tensor)

    def write_once(self, value: Any) -> None:
        """Write a value that nobody changes: the same object need not be written twice."""
        if value is not self._written:
            self.write(value)
            self._written = value


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A recording and what it reads: its own inputs, and the text's, which others may read too."""

    buffers: _Buffers
    texts: _Buffers
    recording: Recording

    def run(self, inputs: _Inputs) -> Tensor:
        self.buffers.write((inputs.latent, inputs.sigma, inputs.keys))
        self.texts.write_once(inputs.text)
        return self.recording.replay().clone()


def _mapped(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same tuples with each tensor changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple):
        parts = [_mapped(part, change) for part in value]
        make = type(value)
        return make(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _tensors(part)


def _layout(value: Any) -> Layout:
    return _mapped(value, lambda x: (tuple(x.shape), x.dtype))
