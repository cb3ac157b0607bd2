"""Assets by name: shipped ones, uploads, names that are taken or not allowed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rushes.backend.artifacts.assets import AssetLibrary, AssetNotFound, UploadLimits
from rushes.backend.artifacts.content import ContentStore
from rushes.backend.artifacts.refusal import FileRefused
from rushes.backend.database import Database
from tests.backend.artifacts.media_files import png, video


async def pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 100):
        yield data[start : start + 100]


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[AssetLibrary]:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "start.png").write_bytes(png())
    database = Database(tmp_path / "data")
    content = ContentStore(tmp_path / "content")
    found = AssetLibrary(database, content, shipped, UploadLimits(bytes_max=50_000))
    await found.start()
    yield found
    database.close()


async def test_an_upload_is_found_by_its_name_with_its_facts(library: AssetLibrary, tmp_path: Path):
    data = video(tmp_path / "clip.mp4", frames=5)
    record, is_renamed = await library.upload("walk.mp4", pieces(data))
    assert (record.asset, is_renamed, record.path.read_bytes()) == ("walk.mp4", False, data)
    facts = (await library.find("walk.mp4")).facts()
    assert (facts.kind, facts.frame_count, facts.content_id) == ("video", 5, record.sha256)
    assert [each.asset for each in await library.list_all()] == ["start.png", "walk.mp4"]


async def test_the_same_content_again_is_the_asset_that_is_there(library: AssetLibrary):
    await library.upload("a.png", pieces(png()))
    record, is_renamed = await library.upload("a.png", pieces(png()))
    assert (record.asset, is_renamed) == ("a.png", False)
    assert len(await library.list_all()) == 2


async def test_another_content_under_a_taken_name_gets_a_number(library: AssetLibrary):
    await library.upload("a.png", pieces(png(colour="red")))
    record, is_renamed = await library.upload("a.png", pieces(png(colour="blue")))
    assert (record.asset, is_renamed) == ("a-2.png", True)
    third, _ = await library.upload("a.png", pieces(png(colour="green")))
    assert third.asset == "a-3.png"
    again, _ = await library.upload("a.png", pieces(png(colour="blue")))
    assert again.asset == "a-2.png"


async def test_a_shipped_name_is_not_taken_over(library: AssetLibrary):
    record, _ = await library.upload("start.png", pieces(png(colour="blue")))
    assert record.asset == "start-2.png"
    assert (await library.find("start.png")).origin == "shipped"
    same, is_renamed = await library.upload("start.png", pieces(png()))
    assert (same.origin, is_renamed) == ("shipped", False)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../a.png",
        "a/b.png",
        "a\\b.png",
        "/etc/passwd",
        ".hidden.png",
        "a\0.png",
        "a\n.png",
        "C:a.png",
        "a.png ",
        "a.",
        "x" * 121,
    ],
)
async def test_a_name_that_is_more_than_a_file_name_is_refused(library: AssetLibrary, name: str):
    with pytest.raises(FileRefused) as caught:
        await library.upload(name, pieces(png()))
    assert caught.value.code == "E_ASSET_NAME"


async def test_an_upload_stops_at_the_bound_and_leaves_nothing(library: AssetLibrary, tmp_path: Path):
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(10_000)

    with pytest.raises(FileRefused) as caught:
        await library.upload("a.png", endless())
    assert caught.value.code == "E_UPLOAD_TOO_LARGE"
    assert [path for path in (tmp_path / "content").rglob("*") if path.is_file()] == []


async def test_an_unknown_name_is_not_found(library: AssetLibrary):
    with pytest.raises(AssetNotFound, match=r"nothing\.png"):
        await library.find("nothing.png")
    with pytest.raises(LookupError):
        await library.locate(["start.png", "nothing.png"])
