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
