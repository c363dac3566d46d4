"""A session whose environment has a proxy, and a ``NO_PROXY`` as Docker and OrbStack write it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import pytest

from sidestep import Client, FallbackExhausted, Route, Session, Sidestep

from ...virtual import VirtualClock
from .outage import A, B, Outage

pytestmark = pytest.mark.asyncio

ORBSTACK = "localhost,127.0.0.0/8,127.0.0.1,0.250.250.0/24,fd07:b51a:cc66:f0::/64,.orb.local"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@asynccontextmanager
async def refusing_proxy() -> AsyncIterator[tuple[str, list[bytes]]]:
    """Run a proxy that answers 502 to everything, and keep what it was asked for."""
    asked: list[bytes] = []

    async def refuse(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            asked.append((await stream.receive()).splitlines()[0])
            await stream.send(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, refuse)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - no Django
        yield f"http://127.0.0.1:{port}", asked
        tasks.cancel_scope.cancel()


def set_environment(
    monkeypatch: pytest.MonkeyPatch, outage: Outage, proxy: str, no_proxy: str
) -> None:
    """Set what a coordinator sets, and the proxies, for this process."""
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in (outage.environ | {"HTTP_PROXY": proxy, "NO_PROXY": no_proxy}).items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    "no_proxy",
    [
        pytest.param("127.0.0.1", id="what httpx can read"),
        pytest.param("localhost,127.0.0.1,::1/128", id="Docker Desktop"),
        pytest.param(ORBSTACK, id="OrbStack"),
        pytest.param("[::1],127.0.0.1", id="brackets"),
        pytest.param("fe80::/10,127.0.0.1", id="a range"),
    ],
)
async def test_a_turn_moves_although_httpx_cannot_read_no_proxy(
    no_proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        refusing_proxy() as (proxy, asked),
        Outage({A: {"status": 503}, B: {"text": "hello"}}) as outage,
    ):
        set_environment(monkeypatch, outage, proxy, no_proxy)
        async with Client() as client:
            middleware = Sidestep.from_env(os.environ, clock=VirtualClock())
            ended = await Session(A, middleware=middleware, client=client).turn("hi")

    assert (ended.text, ended.route, outage.asked, asked) == ("hello", B, [A, B], [])


@pytest.mark.parametrize("no_proxy", ["::1/128", "fe80::/10,models.invalid"])
async def test_a_host_that_no_proxy_leaves_out_is_asked_through_the_proxy(
    no_proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        refusing_proxy() as (proxy, asked),
        Outage({A: {"text": "hello"}, B: {"text": "hello"}}) as outage,
    ):
        set_environment(monkeypatch, outage, proxy, no_proxy)
        async with Client() as client:
            middleware = Sidestep.from_env(os.environ, clock=VirtualClock())
            session = Session(Route(A), middleware=middleware, client=client)
            with pytest.raises(FallbackExhausted, match="502"):
                await session.turn("hi")

    assert outage.asked == []
    assert asked[0].startswith(b"POST " + outage.stub.url.encode())
