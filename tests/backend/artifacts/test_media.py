"""What a file is, and what is refused before it costs anything."""

from pathlib import Path

import pytest

from rushes.backend.artifacts.media import MediaFacts, MediaLimits, probe
from rushes.backend.artifacts.refusal import FileRefused
from tests.backend.artifacts.media_files import jpeg, png, png_bomb, sound, video

LIMITS = MediaLimits()


def write(folder: Path, data: bytes) -> Path:
    path = folder / "upload"
    path.write_bytes(data)
    return path


def refusal(path: Path, limits: MediaLimits = LIMITS) -> FileRefused:
    with pytest.raises(FileRefused) as caught:
        probe(path, limits)
    return caught.value


def test_a_picture_is_known_by_its_content(tmp_path: Path):
    assert probe(write(tmp_path, png(8, 6)), LIMITS) == MediaFacts("image", "image/png", 8, 6, 1, 0.0)
    assert probe(write(tmp_path, jpeg()), LIMITS).media_type == "image/jpeg"


@pytest.mark.parametrize("suffix", ["mp4", "webm"])
def test_a_clip_s_frames_are_counted(tmp_path: Path, suffix: str):
    video(tmp_path / f"clip.{suffix}", frames=10, fps=8)
    facts = probe(tmp_path / f"clip.{suffix}", LIMITS)
    assert (facts.kind, facts.media_type) == ("video", f"video/{suffix}")
    assert (facts.width_px, facts.height_px, facts.frame_count, facts.fps) == (64, 48, 10, 8.0)


@pytest.mark.parametrize("side", [5000, 20_000, 60_000])
def test_an_image_bomb_is_refused_by_its_header(tmp_path: Path, side: int):
    assert refusal(write(tmp_path, png_bomb(side))).code == "E_MEDIA_TOO_LARGE"


@pytest.mark.parametrize("options", [{}, {"movflags": "faststart"}], ids=["index last", "index first"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.95])
def test_a_truncated_clip_is_refused(tmp_path: Path, options: dict[str, str], share: float):
    data = video(tmp_path / "clip.mp4", frames=40, options=options)
    assert refusal(write(tmp_path, data[: int(len(data) * share)])).code == "E_MEDIA_BROKEN"


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_a_truncated_picture_is_refused(tmp_path: Path, share: float):
    data = jpeg()
    assert refusal(write(tmp_path, data[: int(len(data) * share)])).code == "E_MEDIA_BROKEN"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"just some words, long enough",
        b"#EXTM3U\n#EXT-X-VERSION:3\nhttp://127.0.0.1:1/x.ts\n",
        b"ffconcat version 1.0\nfile /etc/hostname\n",
        b"GIF89a" + bytes(40),
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    ],
)
def test_anything_else_is_refused_without_a_decoder(tmp_path: Path, data: bytes):
    assert refusal(write(tmp_path, data)).code == "E_MEDIA_TYPE"


def test_sound_alone_is_no_clip(tmp_path: Path):
    sound(tmp_path / "sound.mp4")
    assert refusal(tmp_path / "sound.mp4").code == "E_MEDIA_TYPE"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (MediaLimits(frames_max=9), "9 frames"),
        (MediaLimits(seconds_max=1.0), "1 s"),
        (MediaLimits(pixels_max=64 * 48 - 1), "64x48"),
    ],
)
def test_a_clip_beyond_a_bound_is_refused_with_the_bound(tmp_path: Path, limits: MediaLimits, said: str):
    video(tmp_path / "clip.mp4", frames=10, fps=8)
    found = refusal(tmp_path / "clip.mp4", limits)
    assert found.code == "E_MEDIA_TOO_LARGE"
    assert said in str(found)
