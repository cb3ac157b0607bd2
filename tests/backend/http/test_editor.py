"""The editor's files."""

from pathlib import Path

import pytest

from tests.backend.serving import serving


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<html>editor</html>")
    (folder / "assets" / "app-1a2b.js").write_text("1")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


async def test_a_server_without_a_built_editor_says_how_to_build_it(tmp_path: Path):
    async with (
        serving(tmp_path, static_dir=tmp_path / "none") as serve,
        serve.session.get(serve.server.url) as response,
    ):
        assert response.status == 200
        assert "make run" in await response.text()


async def test_the_editor_is_served_fresh_and_its_parts_from_the_cache(tmp_path: Path, built: Path):
    async with serving(tmp_path, static_dir=built) as serve:
        async with serve.session.get(serve.server.url) as response:
            assert await response.text() == "<html>editor</html>"
            assert response.headers["Cache-Control"] == "no-cache"
            assert "default-src 'self'" in response.headers["Content-Security-Policy"]
        async with serve.session.get(f"{serve.server.url}/assets/app-1a2b.js") as response:
            assert "immutable" in response.headers["Cache-Control"]
            assert "javascript" in response.content_type


@pytest.mark.parametrize(
    "path", ["..%2Fsecret.txt", "%2e%2e/secret.txt", "link.txt", "assets", "nothing.js", "%00"]
)
async def test_nothing_but_the_editor_is_served(tmp_path: Path, built: Path, path: str):
    async with (
        serving(tmp_path, static_dir=built) as serve,
        serve.session.get(f"{serve.server.url}/{path}") as response,
    ):
        assert response.status in (400, 404)
        assert "secret" not in (await response.text()).replace("secret.txt", "")
