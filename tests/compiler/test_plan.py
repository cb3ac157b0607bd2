"""The chunk planner against the golden table, and its promises for any video."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushes.compiler.plan import overlap_latent_frames, plan_chunks, rollout_chunk_frames, rollout_frame_count

# frames, mode, latent frames, chunks, padded latent frames, frames of chunk 1, of later ones, of the last
TABLE = [
    (29, "chained", 8, 1, 8, 29, None, 29),
    (29, "kv", 8, 1, 8, 29, None, 29),
    (61, "chained", 16, 3, 20, 29, 24, 8),
    (61, "kv", 16, 2, 16, 29, None, 32),
    (121, "chained", 31, 5, 32, 29, 24, 20),
    (121, "kv", 31, 4, 32, 29, 32, 28),
    (189, "chained", 48, 8, 50, 29, 24, 16),
    (189, "kv", 48, 6, 48, 29, 32, 32),
    (241, "chained", 61, 10, 62, 29, 24, 20),
    (241, "kv", 61, 8, 64, 29, 32, 20),
    (869, "chained", 218, 36, 218, 29, 24, 24),
    (869, "kv", 218, 28, 224, 29, 32, 8),
]


@pytest.mark.parametrize("row", TABLE)
def test_the_plan_is_that_of_the_table(row):
    frames, mode, latent, chunks, padded, first, later, last = row

    plan = plan_chunks(frames, mode=mode, overlap_frames=8 if mode == "chained" else 0)

    assert (plan.latent_frame_count, plan.chunk_count, plan.padded_latent_frame_count) == (
        latent,
        chunks,
        padded,
    )
    assert plan.chunk_frames[0] == first
    assert set(plan.chunk_frames[1:-1]) == ({later} if later is not None else set())
    assert plan.chunk_frames[-1] == last


def test_a_resumed_video_counts_its_head_and_sends_only_new_frames():
    plan = plan_chunks(189, mode="kv", head_latent_frames=2)

    assert (plan.latent_frame_count, plan.chunk_count, plan.padded_latent_frame_count) == (50, 7, 56)
    assert plan.chunk_frames == (24, 32, 32, 32, 32, 32, 5)


@pytest.mark.parametrize(
    ("frames", "latent"), [(0, 0), (1, 0), (2, 0), (3, 2), (8, 2), (10, 2), (11, 3), (12, 3)]
)
def test_an_overlap_rounds_half_to_even_and_is_lifted_to_the_floor(frames, latent):
    assert overlap_latent_frames(frames, 4, 8) == latent


@given(
    frames=st.integers(1, 2000),
    mode=st.sampled_from(["chained", "kv"]),
    chunk=st.integers(17, 60),
    overlap=st.integers(0, 12),
    head=st.sampled_from([0, 2, 3]),
)
def test_chunks_add_up_to_the_video_and_none_is_empty(frames, mode, chunk, overlap, head):
    overlap = overlap if mode == "chained" else 0

    plan = plan_chunks(frames, mode=mode, chunk_frames=chunk, overlap_frames=overlap, head_latent_frames=head)

    assert sum(plan.chunk_frames) == frames
    assert min(plan.chunk_frames) > 0
    assert plan.padded_latent_frame_count >= plan.latent_frame_count


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"frame_count": 0, "mode": "kv"}, "positive"),
        ({"frame_count": 29, "mode": "kv", "overlap_frames": 8}, "no overlap"),
        ({"frame_count": 29, "mode": "chained", "chunk_frames": 5, "overlap_frames": 8}, "no room"),
        ({"frame_count": 29, "mode": "kv", "chunk_frames": 5, "head_latent_frames": 2}, "no room"),
    ],
)
def test_a_plan_without_room_is_refused(options, message):
    frame_count = options.pop("frame_count")
    with pytest.raises(ValueError, match=message):
        plan_chunks(frame_count, **options)


def test_a_rollout_of_twenty_chunks_has_237_frames():
    chunks = [rollout_chunk_frames(index, 3, 4, has_start=False) for index in range(20)]

    assert chunks == [9] + 19 * [12]
    assert rollout_frame_count(20, 3, 4, has_start=False) == sum(chunks) == 237


def test_a_rollout_with_a_start_sends_whole_chunks_only():
    assert [rollout_chunk_frames(index, 3, 4, has_start=True) for index in range(3)] == [12, 12, 12]
    assert rollout_frame_count(3, 3, 4, has_start=True) == 36
    assert rollout_frame_count(0, 3, 4, has_start=True) == 0
