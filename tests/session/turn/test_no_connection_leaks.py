"""Who calls a model may be cancelled at any await, in any way, and no connection is lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from sidestep import Route
from sidestep.provider.conversation import Conversation, Message, Settings, Text

from .outage import Outage

A = Route("anthropic/claude-sonnet-5")
ANSWER = {"text": "Here is a longer answer.", "chunk": 4}
HELLO = Conversation([Message("user", [Text("hi")])], (), Settings(max_output_tokens=9))

pytestmark = [
    pytest.mark.anyio,
    # What trio says of generators of httpx, which httpx leaves to the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning"),
]

Call = Callable[[Outage], Awaitable[object]]
Way = Callable[[Call, Outage, int, int], Awaitable[None]]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def turn(outage: Outage) -> object:
    return await outage.open().turn("hi")


async def side_call(outage: Outage) -> object:
    return await outage.open().side_call("hi")


async def stream(outage: Outage) -> object:
    async with outage.client.stream(A, HELLO) as reply:
        return [delta async for delta in reply]


async def stream_in_a_generator(outage: Outage) -> object:
    async def deltas() -> AsyncIterator[object]:
        async with outage.client.stream(A, HELLO) as reply:
            async for delta in reply:
                yield delta

    return [delta async for delta in deltas()]


async def count(outage: Outage) -> object:
    return await outage.client.count(outage.client.render(A, HELLO))


async def turn_as_a_stream(outage: Outage) -> object:
    async with outage.open().stream("hi") as events:
        return [event async for event in events]


CALLS = [turn, side_call, stream, stream_in_a_generator, count, turn_as_a_stream]


async def after(turns: int) -> None:
    """Let the event loop turn *turns* times."""
    for _ in range(turns):
        await anyio.lowlevel.checkpoint()


async def cancel(call: Call, outage: Outage, turns: int, _: int) -> None:
    task = asyncio.ensure_future(call(outage))
    await after(turns)
    task.cancel()
    await asyncio.wait([task])


async def cancel_twice(call: Call, outage: Outage, turns: int, more: int) -> None:
    task = asyncio.ensure_future(call(outage))
    await after(turns)
    task.cancel()
    await after(more)
    task.cancel()
    await asyncio.wait([task])


async def end_a_timeout(call: Call, outage: Outage, turns: int, _: int) -> None:
    async def run() -> None:
        async with asyncio.timeout(60) as timeout:
            await asyncio.sleep(0)
            timeouts.append(timeout)
            await call(outage)

    timeouts: list[asyncio.Timeout] = []
    task = asyncio.ensure_future(run())
    await after(turns + 2)
    if timeouts and not task.done():
        timeouts[0].reschedule(0.0)
    with suppress(TimeoutError):
        await task


async def cancel_a_scope(call: Call, outage: Outage, turns: int, _: int) -> None:
    async def run() -> None:
        with scope:
            await call(outage)

    scope = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await after(turns)
        scope.cancel()


WAYS = [cancel, cancel_twice, end_a_timeout, cancel_a_scope]


def connections(http: httpx.AsyncClient) -> tuple[int, int]:
    """Return how many connections of *http* are in use, and how many requests wait."""
    transport: Any = http._transport
    pool = transport._pool
    return sum(not each.is_idle() for each in pool.connections), len(pool._requests)


async def turns_of(call: Call, outage: Outage) -> int:
    """Return how often the loop turns in *call*."""
    has_ended: list[bool] = []

    async def run() -> None:
        await call(outage)
        has_ended.append(True)

    turns = 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        while not has_ended:
            turns += 1
            await anyio.lowlevel.checkpoint()
    return turns


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_no_connection_is_lost_by_a_cancellation(
    call: Call, way: Way, whole: bool, anyio_backend_name: str
) -> None:
    if anyio_backend_name == "trio" and way is not cancel_a_scope:
        pytest.skip("trio cancels by scopes only")
    rng = random.Random(f"{call.__name__} {way.__name__}")
    async with Outage({A: ANSWER}, route=A, counts={A: 9}) as outage:
        turns = max([await turns_of(call, outage) for _ in range(5)])
        for _ in range(600 if whole else 40):
            await way(call, outage, rng.randint(0, turns), rng.randint(1, 6))
        await after(100)  # what was cancelled last closes its connection
        in_use = connections(outage.http)
        ended = await outage.open().turn("hi")

    assert in_use == (0, 0)
    assert ended.text == ANSWER["text"]
