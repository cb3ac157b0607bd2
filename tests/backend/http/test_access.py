"""Who may ask, and what a stranger's page cannot do."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.backend.serving import Serving, serving, template


async def ask(serve: Serving, path: str = "/system", method: str = "GET", **headers: str) -> int:
    async with serve.session.request(method, serve.url(path), headers=headers) as response:
        body: dict[str, Any] = await response.json()
        assert response.status == 200 or body["error"]["code"] in ("E_FORBIDDEN", "E_UNAUTHORIZED")
        return response.status


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "LOCALHOST:8190", "[::1]:8190"])
async def test_loopback_names_are_answered(tmp_path: Path, host: str):
    async with serving(tmp_path) as serve:
        assert await ask(serve, Host=host) == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8190", "", "[", "localhost.evil"])
async def test_another_host_name_is_refused(tmp_path: Path, host: str):
    async with serving(tmp_path) as serve:
        assert await ask(serve, Host=host) == 403


async def test_only_pages_of_this_server_may_call_it(tmp_path: Path):
    async with serving(tmp_path) as serve:
        assert await ask(serve, Origin=serve.server.url) == 200
        for origin in ("http://evil.example", "null", "http://localhost:1", "file://"):
            assert await ask(serve, Origin=origin) == 403
        assert await ask(serve, **{"Sec-Fetch-Site": "cross-site"}) == 403
        assert await ask(serve, **{"Sec-Fetch-Site": "same-origin"}) == 200


async def test_an_origin_that_was_allowed_may_call(tmp_path: Path):
    async with serving(tmp_path, origins=frozenset({"http://localhost:5173"})) as serve:
        assert await ask(serve, Origin="http://localhost:5173") == 200
        assert await ask(serve, Origin="http://localhost:5174") == 403


async def test_the_socket_is_guarded_like_the_rest(tmp_path: Path):
    async with serving(tmp_path) as serve:
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await serve.session.ws_connect(serve.url("/events"), headers={"Origin": "http://evil.example"})
        assert caught.value.status == 403


async def test_with_a_token_nothing_of_the_api_is_open_without_it(tmp_path: Path):
    async with serving(tmp_path, token="s3cret") as serve:
        assert await ask(serve) == 401
        assert await ask(serve, Authorization="Bearer wrong") == 401
        assert await ask(serve, Authorization="Basic s3cret") == 401
        assert await ask(serve, Authorization="Bearer s3cret") == 200
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await serve.session.ws_connect(serve.url("/events"))
        async with serve.session.post(
            serve.url("/jobs"), json={"workflow": template("all-five")}
        ) as response:
            assert response.status == 401


async def test_the_token_in_the_address_becomes_a_cookie_and_leaves_the_address(tmp_path: Path):
    jar = aiohttp.CookieJar(unsafe=True)
    async with serving(tmp_path, token="s3cret") as serve, aiohttp.ClientSession(cookie_jar=jar) as browser:
        async with browser.get(f"{serve.server.url}/?token=wrong") as response:
            assert response.status == 401
        async with browser.get(f"{serve.server.url}/?token=s3cret", allow_redirects=False) as response:
            assert (response.status, response.headers["Location"]) == (303, "/")
            assert "HttpOnly" in response.headers["Set-Cookie"]
            assert "SameSite=Strict" in response.headers["Set-Cookie"]
        async with browser.get(serve.url("/system")) as response:
            assert response.status == 200
        async with browser.ws_connect(serve.url("/events")) as ws:
            await ws.send_str('{"type": "hello"}')
            assert "hello" in (await ws.receive()).data
