"""Pictures and clips, written and read back; and files that cannot be read."""

import json

import av
import numpy as np
import pytest
from PIL import Image

from rushes.backend.engine.failures import JobFault
from rushes.backend.engine.media import reading
from rushes.backend.engine.media.reading import read_image, read_video
from rushes.backend.engine.media.resizing import held_to, resized
from rushes.backend.engine.media.writing import METADATA_KEY, VideoWriter, write_image

METADATA = {"workflow": {"title": "<é & co>"}}


def clip(frame_count=6, height=32, width=48):
    frames = np.zeros((frame_count, height, width, 3), np.uint8)
    for index in range(frame_count):
        frames[index, :, : 8 * (index + 1)] = (200, 40, 90)
    return frames


def write(path, frames, fps=16.0, metadata=METADATA):
    writer = VideoWriter(path, fps=fps, quality=10, metadata=metadata)
    for part in np.array_split(frames, 2):
        writer.push(part)
    return writer.close()


def test_a_clip_comes_back_as_it_was_written(tmp_path):
    frames = clip()
    written = write(tmp_path / "a.mp4", frames)

    again = read_video(tmp_path / "a.mp4")

    assert again.fps == written.fps == 16.0
    assert again.frames.shape == frames.shape
    assert np.abs(again.frames.astype(int) - frames).mean() < 4


def test_an_mp4_is_playable_from_its_start_and_carries_the_workflow(tmp_path):
    write(tmp_path / "a.mp4", clip())
    data = (tmp_path / "a.mp4").read_bytes()

    assert data.index(b"moov") < data.index(b"mdat")
    with av.open(str(tmp_path / "a.mp4")) as container:
        assert json.loads(container.metadata["comment"]) == METADATA


def test_a_clip_gets_its_name_only_when_it_is_whole(tmp_path):
    writer = VideoWriter(tmp_path / "a.mp4", fps=16.0, quality=18, metadata=None)
    writer.push(clip())
    assert not (tmp_path / "a.mp4").exists()

    writer.abandon()
    writer.abandon()

    assert list(tmp_path.iterdir()) == []


def test_sides_that_h264_cannot_hold_are_refused(tmp_path):
    writer = VideoWriter(tmp_path / "a.mp4", fps=16.0, quality=18, metadata=None)

    with pytest.raises(ValueError, match="even width and height, got 47x32"):
        writer.write(clip(width=47))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".png", ".webp"])
def test_a_picture_is_kept_exactly_and_carries_the_workflow(tmp_path, suffix):
    frames = clip()
    written = write_image(tmp_path / f"a{suffix}", frames[2], METADATA)

    assert np.array_equal(read_image(written.path).frames[0], frames[2])
    with Image.open(written.path) as image:
        if suffix == ".png":
            assert json.loads(image.text[METADATA_KEY]) == METADATA
        else:
            assert "&amp; co" in image.info["xmp"].decode()


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(JobFault, match=r"gone\.mp4") as caught:
        read_video(tmp_path / "gone.mp4")

    assert caught.value.code == "E_ASSET_MISSING"


@pytest.mark.parametrize("read", [read_image, read_video])
def test_a_file_of_rubbish_is_unreadable(tmp_path, read):
    (tmp_path / "a").write_bytes(b"\x00rubbish" * 100)

    with pytest.raises(JobFault) as caught:
        read(tmp_path / "a")

    assert caught.value.code == "E_ASSET_UNREADABLE"


def test_a_clip_cut_off_in_the_middle_is_unreadable(tmp_path):
    write(tmp_path / "a.mp4", clip(), metadata=None)
    data = (tmp_path / "a.mp4").read_bytes()
    (tmp_path / "b.mp4").write_bytes(data[: data.index(b"moov") + 100])

    with pytest.raises(JobFault) as caught:
        read_video(tmp_path / "b.mp4")

    assert caught.value.code == "E_ASSET_UNREADABLE"


def test_pictures_and_clips_over_the_bounds_are_not_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PIXELS_MAX", 1000)
    write(tmp_path / "a.mp4", clip())
    write_image(tmp_path / "a.png", clip()[0], None)

    for read, name in ((read_video, "a.mp4"), (read_image, "a.png")):
        with pytest.raises(JobFault, match="at most 1000 pixels") as caught:
            read(tmp_path / name)
        assert caught.value.code == "E_ASSET_TOO_LARGE"


def test_a_clip_with_too_many_frames_is_not_decoded_to_its_end(tmp_path, monkeypatch):
    write(tmp_path / "a.mp4", clip())
    monkeypatch.setattr(reading, "FRAMES_MAX", 3)

    with pytest.raises(JobFault, match="at most 3 frames"):
        read_video(tmp_path / "a.mp4")


def test_a_short_clip_holds_its_last_frame_and_a_long_one_is_cut():
    frames = clip()

    assert np.array_equal(held_to(frames, 8)[6:], np.stack([frames[-1]] * 2))
    assert np.array_equal(held_to(frames, 2), frames[:2])


def test_resizing_to_the_same_size_changes_nothing():
    frames = clip()

    assert resized(frames, 48, 32) is frames
    assert resized(frames, 24, 16).shape == (6, 16, 24, 3)
