"""No redirect is followed, whatever the host's client does: it would take the key along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.abc
import pytest

from sidestep import Client, FailureKind
from sidestep.provider.catalog.provider import Provider

from ...virtual import virtual_backend
from .test_reply import CHAT, ENVIRON, HELLO, failed, listening, providers, send_all

if TYPE_CHECKING:
    from types import ModuleType

    from sidestep.provider.wire_name import Wire

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return virtual_backend(str(request.param))


@pytest.mark.parametrize("follows", [True, False], ids=["follows", "follows not"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_never_followed(
    status: int, follows: bool, library: ModuleType
) -> None:
    reached = 0

    async def elsewhere(stream: anyio.abc.SocketStream) -> None:
        nonlocal reached
        reached += 1
        await send_all(stream)

    with anyio.fail_after(60):
        async with listening(elsewhere) as other:

            async def redirect(stream: anyio.abc.SocketStream) -> None:
                head = (
                    f"HTTP/1.1 {status} Moved\r\nlocation: {other}/v1\r\ncontent-length: 0\r\n\r\n"
                )
                await stream.send(head.encode())

            async with (
                listening(redirect) as url,
                library.AsyncClient(follow_redirects=follows) as http,
            ):
                client = Client(http=http, providers=providers(url), environ=ENVIRON)
                failure = await failed(client)

    assert reached == 0
    assert (failure.kind, failure.status) == (FailureKind.NETWORK, status)
    assert f"{other}/v1" in failure.message


async def test_a_count_of_tokens_follows_no_redirect(library: ModuleType) -> None:
    reached = 0

    async def elsewhere(stream: anyio.abc.SocketStream) -> None:
        nonlocal reached
        reached += 1
        await stream.send(b'HTTP/1.1 200 OK\r\ncontent-length: 19\r\n\r\n{"input_tokens": 1}')

    with anyio.fail_after(60):
        async with listening(elsewhere) as other:

            async def redirect(stream: anyio.abc.SocketStream) -> None:
                head = f"HTTP/1.1 307 Moved\r\nlocation: {other}/v1\r\ncontent-length: 0\r\n\r\n"
                await stream.send(head.encode())

            async with (
                listening(redirect) as url,
                library.AsyncClient(follow_redirects=True) as http,
            ):
                claude = Provider("anthropic", "anthropic", url, "KEY")
                client = Client(http=http, providers={"chat": claude}, environ=ENVIRON)
                counted = await client.count(client.render(CHAT, HELLO))

    assert (counted, reached) == (None, 0)


def head(status: int, location: str) -> bytes:
    return (
        f"HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
    ).encode()


KEY = "sk-a-key-of-the-user"


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses", "gemini"])
@pytest.mark.parametrize(
    ("status", "location"),
    [
        pytest.param(308, "/v2/models", id="the same host"),
        pytest.param(301, "../v1/", id="another path"),
        pytest.param(302, "?again=1", id="a query"),
        pytest.param(307, "//{other}/v1", id="no scheme"),
        pytest.param(307, "HTTP://{other}/v1", id="a scheme in capitals"),
        pytest.param(308, "http://me:{key}@{other}/v1?key={key}", id="a key in it"),
        pytest.param(303, "http://{other}/login/{key}/", id="a key in its path"),
        pytest.param(302, "ftp://{other}/v1", id="another protocol"),
        pytest.param(302, "http://{other}:99999/", id="no port at all"),
    ],
)
async def test_neither_key_nor_conversation_leaves_for_any_form_of_address(
    status: int, location: str, wire: Wire, library: ModuleType
) -> None:
    reached = asked = 0

    async def elsewhere(stream: anyio.abc.SocketStream) -> None:
        nonlocal reached
        reached += 1
        await send_all(stream)

    with anyio.fail_after(60):
        async with listening(elsewhere) as other:
            to = location.format(other=other.removeprefix("http://"), key=KEY)

            async def redirect(stream: anyio.abc.SocketStream) -> None:
                nonlocal asked
                asked += 1
                await stream.send(head(status, to))

            async with (
                listening(redirect) as url,
                library.AsyncClient(follow_redirects=True) as http,
            ):
                chat = {"chat": Provider("chat", wire, url, "KEY")}
                failure = await failed(Client(http=http, providers=chat, environ={"KEY": KEY}))

    assert (reached, asked) == (0, 1)
    assert (failure.code, failure.should_retry) == ("redirect", False)
    assert failure.status == status or "no address" in failure.message
    assert KEY not in f"{failure.message} {failure!r}"


async def test_a_proxy_that_redirects_is_not_followed(library: ModuleType) -> None:
    """As a captive portal does: the proxy answers in the place of the API."""
    reached: list[bytes] = []

    async def portal(stream: anyio.abc.SocketStream) -> None:
        reached.append(b"")
        await send_all(stream)

    with anyio.fail_after(60):
        async with listening(portal) as other:

            async def proxy(stream: anyio.abc.SocketStream) -> None:
                await stream.send(head(302, f"{other}/login?from=api"))

            async with (
                listening(proxy) as url,
                library.AsyncClient(proxy=url, follow_redirects=True) as http,
            ):
                chat = providers("http://api.invalid/v1")
                failure = await failed(Client(http=http, providers=chat, environ=ENVIRON))

    assert reached == []
    assert f"{other}/login," in failure.message


async def test_a_page_that_sends_a_browser_elsewhere_is_not_followed(library: ModuleType) -> None:
    reached: list[bytes] = []

    async def elsewhere(stream: anyio.abc.SocketStream) -> None:
        reached.append(b"")
        await send_all(stream)

    with anyio.fail_after(60):
        async with listening(elsewhere) as other:
            page = f'<html><meta http-equiv="refresh" content="0; url={other}/v1"></html>'

            async def answer(stream: anyio.abc.SocketStream) -> None:
                lines = (
                    *("HTTP/1.1 200 OK", f"refresh: 0; url={other}/v1", f"link: <{other}/v1>"),
                    *("content-type: text/html", f"content-length: {len(page)}", "", page),
                )
                await stream.send("\r\n".join(lines).encode())

            async with (
                listening(answer) as url,
                library.AsyncClient(follow_redirects=True) as http,
            ):
                failure = await failed(Client(http=http, providers=providers(url), environ=ENVIRON))

    assert reached == []
    assert failure.kind is FailureKind.SERVER_ERROR
    assert "a web page, as a wrong `baseUrl` does" in failure.message
    assert f"(asked at {url}/chat/completions)" in failure.message
