"""A turn whose route is redirected, over real sockets, with a host's client that follows."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import httpx
import pytest

from sidestep import Client
from sidestep.provider.catalog.catalog import catalog, providers_from_env

from .outage import A, B, Outage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def other_host() -> AsyncIterator[tuple[str, list[bytes]]]:
    """Listen where nothing may go, and keep what arrives."""
    arrived: list[bytes] = []

    async def keep(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            arrived.append(await stream.receive())

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, keep)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - no Django
        yield f"127.0.0.1:{port}", arrived
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (301, "http://{other}/v1"),
        (302, "//{other}/login"),
        (303, "http://{other}/"),
        (307, "http://{other}/v1/chat/completions"),
        (308, "/v2/chat/completions"),
    ],
)
async def test_a_redirected_route_moves_at_once_and_nothing_goes_along(
    status: int, location: str
) -> None:
    async with other_host() as (other, arrived):
        to = location.format(other=other)
        redirect: dict[str, Any] = {"status": status, "headers": {"location": to}, "body": ""}
        answers = {A: redirect, B: {"text": "hello"}}
        async with (
            Outage(answers, maxUpstreamRetryAttempts=5) as outage,
            httpx.AsyncClient(trust_env=False, follow_redirects=True) as http,
        ):
            providers = catalog(providers_from_env(outage.environ))
            outage.client = Client(http=http, providers=providers)
            session = outage.open()
            first = await session.turn("A secret.")
            second = await session.turn("Another.")

    assert (first.text, first.route, second.route) == ("hello", B, B)
    assert outage.asked == [A, B, B]
    assert outage.clock.slept == []
    assert arrived == []
    assert any(to in str(event) for event in outage.events)
