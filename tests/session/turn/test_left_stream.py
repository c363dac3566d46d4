"""A generator around a stream of ours may be left at any point, and nobody is cancelled."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sidestep import Route, StepEnded, TextDelta, TurnEnded
from sidestep.provider.conversation import Conversation, Message, Settings, Text

from ...virtual import pass_time, passing_backend
from ..another_task import close_in_another_task
from .outage import Outage
from .test_no_connection_leaks import connections

A = Route("anthropic/claude-sonnet-5")
HELLO = Conversation([Message("user", [Text("hi")])], (), Settings(max_output_tokens=9))
ANSWERS = {
    A: [{"text": "Half an answer", "chunk": 1, "after": 6, "stall": True}, {"text": "whole"}]
}

pytestmark = [
    pytest.mark.anyio,
    # Trio's advice to whoever does not close a generator; that is what is tried here.
    pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

Stream = AsyncGenerator[object, None]
Leave = Callable[[Stream], Awaitable[Stream | None]]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return passing_backend(request.param)


async def settle() -> None:
    """Let the event loop close what it has been handed to close."""
    for _ in range(100):
        await anyio.lowlevel.checkpoint()


async def turn(outage: Outage) -> Stream:
    async with outage.session.stream("hi") as events:
        async for event in events:
            if isinstance(event, TextDelta):
                yield event


async def reply(outage: Outage) -> Stream:
    async with outage.client.stream(A, HELLO) as deltas:
        async for delta in deltas:
            yield delta


async def attempt(outage: Outage) -> Stream:
    async for each in outage.middleware.step(A, deadline=30, on_event=outage.events.append):
        async with each, outage.client.stream(A, HELLO) as deltas:
            async for delta in deltas:
                yield delta


async def left(stream: Stream) -> Stream | None:
    async for _ in stream:
        break
    return None


async def kept(stream: Stream) -> Stream | None:
    async for _ in stream:
        break
    return stream


async def closed(stream: Stream) -> Stream | None:
    async with aclosing(stream):
        await anext(stream)
    return None


async def closed_elsewhere(stream: Stream) -> Stream | None:
    await anext(stream)
    await close_in_another_task(stream)
    return None


async def collected(stream: Stream) -> Stream | None:
    await anext(stream)
    circle: list[Any] = [stream]
    circle.append(circle)
    return None


async def read_elsewhere(stream: Stream) -> Stream | None:
    """Begin to read in one task, and go on in another."""

    async def read() -> None:
        await anext(stream)

    await read()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
    await read()
    await stream.aclose()
    return None


async def left_within_scopes(stream: Stream) -> Stream | None:
    with anyio.CancelScope():
        await anext(stream)
    with anyio.move_on_after(60):
        await anext(stream)
        with anyio.CancelScope():
            await stream.aclose()
    return None


LEAVES = [left, kept, closed, closed_elsewhere, collected, read_elsewhere, left_within_scopes]


@pytest.mark.parametrize("leave", LEAVES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("stream", [turn, reply, attempt], ids=lambda each: each.__name__)
async def test_who_leaves_a_generator_is_never_cancelled(
    stream: Callable[[Outage], Stream], leave: Leave
) -> None:
    async with Outage(ANSWERS, route=A) as outage:

        async def consume() -> None:
            rest = await leave(stream(outage))
            gc.collect()
            for _ in range(3):
                pass_time(31)
                await settle()
            with anyio.move_on_after(1) as own:
                pass_time(2)
                await anyio.sleep_forever()
            assert own.cancelled_caught
            if rest is not None:
                await rest.aclose()

        with anyio.fail_after(600):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(consume)
            await settle()
            in_use = connections(outage.http)
            ended = await outage.session.turn("and now?")

    assert in_use == (0, 0)
    assert ended.text == "whole"
    if stream is not reply:
        first = next(event for event in outage.events if isinstance(event, StepEnded))
        assert first.error is not None
    if stream is turn:
        assert sum(isinstance(event, TurnEnded) for event in outage.events) == 2
