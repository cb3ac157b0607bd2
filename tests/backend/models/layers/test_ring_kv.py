"""The ring: what it keeps, where it says it lies, and what it refuses."""

import pytest
import torch

from rushes.backend.models.layers.ring_kv import KVShape, RingKVCache
from rushes.backend.models.layers.rotary import rotary_3d, rotate

TOKENS = 4
SHAPE = KVShape(layers=2, lanes=3, tokens_per_frame=TOKENS, heads=2, head_dim=6)


def new_cache(sink=1, window=3):
    return RingKVCache(SHAPE, sink_frames=sink, window_frames=window)


def frame_rows(frames):
    """Keys [lanes, len(frames) * TOKENS, heads, head_dim], each filled with its frame number plus one."""
    numbers = torch.tensor([float(frame + 1) for frame in frames]).repeat_interleave(TOKENS)
    return numbers[None, :, None, None].expand(3, -1, 2, 6).contiguous()


def commit(cache, frames):
    cache.begin(frames[0], len(frames))
    for layer in range(SHAPE.layers):
        cache.write(layer, frame_rows(frames), -frame_rows(frames))
    cache.end()


def kept(cache):
    """Frame numbers in order of their positions, which must be 0, 1, 2, ..."""
    positions = cache.frame_positions()
    assert sorted(positions.tolist()) == list(range(cache.kept_frames))
    stored = cache.state_dict()["keys"][0, 0, ::TOKENS, 0, 0]
    return [int(stored[i]) - 1 for i in positions.argsort()]


def test_nothing_is_forgotten_until_sink_and_window_are_full():
    cache = new_cache()
    commit(cache, [0, 1, 2])
    commit(cache, [3])

    assert kept(cache) == [0, 1, 2, 3]


@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(("sink", "window"), [(0, 3), (1, 3), (2, 5), (3, 1)])
def test_sinks_stay_and_the_window_is_exactly_the_newest_frames(chunk, sink, window):
    cache = new_cache(sink, window)
    for start in range(0, 8 * chunk, chunk):
        commit(cache, list(range(start, start + chunk)))
        frames = start + chunk
        sinks = range(min(sink, frames))
        assert kept(cache) == [*sinks, *range(max(len(sinks), frames - window), frames)]


def test_memory_does_not_grow_with_the_rollout():
    cache, sizes = new_cache(), set()
    for start in range(0, 60, 3):
        past = rotary_3d(cache.frame_positions(), 2, 2, 6)
        for layer in range(2):
            cache.extended(layer, past, frame_rows([0, 1, 2]), frame_rows([0, 1, 2]))
        commit(cache, [start, start + 1, start + 2])
        sizes.add(cache.bytes)

    assert len(sizes) == 1


def test_past_and_present_come_as_one_with_the_past_rotated_to_where_it_lies():
    cache = new_cache()
    commit(cache, [0, 1, 2])
    commit(cache, [3, 4, 5])
    past = rotary_3d(cache.frame_positions(), 2, 2, 6)
    present = torch.randn(3, 2 * TOKENS, 2, 6)

    keys, values = cache.extended(1, past, present, -present)

    stored = cache.state_dict()
    torch.testing.assert_close(keys, torch.cat((rotate(stored["keys"][1], past), present), dim=1))
    torch.testing.assert_close(values, torch.cat((stored["values"][1], -present), dim=1))


def test_a_look_at_the_past_changes_nothing_that_is_kept():
    cache = new_cache()
    for count in range(6):
        before = cache.state_dict()
        past = rotary_3d(cache.frame_positions(), 2, 2, 6)
        for layer in range(2):
            cache.extended(layer, past, torch.randn(3, 8, 2, 6), torch.randn(3, 8, 2, 6))
        after = cache.state_dict()
        assert torch.equal(before["keys"], after["keys"])
        assert torch.equal(before["values"], after["values"])
        assert before["frames"] == after["frames"]
        commit(cache, [count])


def test_a_chunk_that_is_not_the_next_one_is_refused():
    cache = new_cache()
    commit(cache, [0, 1])

    for start in (0, 1, 3):
        with pytest.raises(ValueError, match=f"starts at frame 2, got {start}"):
            cache.begin(start, 1)


def test_layers_are_written_in_order_and_all_of_them():
    cache = new_cache()
    with pytest.raises(ValueError, match="got 0"):
        cache.write(0, frame_rows([0]), frame_rows([0]))
    cache.begin(0, 1)
    with pytest.raises(ValueError, match="is 0 of a begun commit, got 1"):
        cache.write(1, frame_rows([0]), frame_rows([0]))
    cache.write(0, frame_rows([0]), frame_rows([0]))
    with pytest.raises(ValueError, match="ends after 2 layers, got 1"):
        cache.end()


def test_half_a_commit_must_be_restored_before_anything_else():
    cache = new_cache()
    commit(cache, [0, 1])
    good = cache.state_dict()
    cache.begin(2, 1)
    cache.write(0, frame_rows([2]), frame_rows([2]))

    with pytest.raises(ValueError, match="load a state"):
        cache.state_dict()
    with pytest.raises(ValueError, match="load a state"):
        cache.extended(0, rotary_3d(cache.frame_positions(), 2, 2, 6), frame_rows([2]), frame_rows([2]))
    cache.load_state(good)
    commit(cache, [2])
    assert kept(cache) == [0, 1, 2]


def test_a_clone_goes_its_own_way():
    cache = new_cache()
    commit(cache, [0, 1, 2, 3, 4])
    twin = cache.clone()

    commit(twin, [5, 6])

    assert kept(cache) == [0, 2, 3, 4]
    assert kept(twin) == [0, 4, 5, 6]


def test_a_state_comes_back_whole_after_the_ring_has_wrapped():
    cache, other = new_cache(), new_cache()
    commit(cache, [0, 1, 2, 3, 4])
    other.load_state(cache.state_dict())

    commit(cache, [5])
    commit(other, [5])

    assert kept(other) == kept(cache) == [0, 3, 4, 5]


def test_a_state_of_another_ring_is_refused():
    with pytest.raises(ValueError, match=r"must be \(1, 3\), got \(0, 3\)"):
        new_cache().load_state(new_cache(sink=0).state_dict())


def test_a_window_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        new_cache(window=0)
