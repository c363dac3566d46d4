"""A turn as a stream: who hears its events, and what is raised where its block ends."""

from __future__ import annotations

import anyio
import pytest

from sidestep import Event, StepStarted, TextDelta, TurnEnded

from .outage import A, Outage

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_a_refused_stream_that_outlives_the_first_takes_nothing_from_anybody() -> None:
    overheard: list[Event] = []
    is_open, is_over = anyio.Event(), anyio.Event()
    async with Outage({A: {"text": "hello"}}) as outage:
        session = outage.session

        async def read_second() -> None:
            async with session.stream("two") as events:
                is_open.set()
                overheard.extend([event async for event in events])
                await is_over.wait()

        async def ask_as_well() -> None:
            with pytest.raises(RuntimeError, match="a turn of this session is running"):
                await read_second()

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                async with session.stream("one") as events:
                    assert isinstance(await anext(events), StepStarted)
                    tasks.start_soon(ask_as_well)
                    await is_open.wait()
                    read = [event async for event in events]
                is_over.set()
        outage.events.clear()
        await session.turn("three")

    assert read[-1] == TurnEnded("hello", A, A)
    assert overheard == []
    assert outage.events[-1] == TurnEnded("hello", A, A)


async def test_a_reader_who_closes_the_stream_silences_nobody_else() -> None:
    heard: list[Event] = []
    has_ended = anyio.Event()

    def listen(event: Event) -> None:
        heard.append(event)
        if isinstance(event, TurnEnded):
            has_ended.set()

    async with Outage({A: {"text": "hello", "chunk": 1}}) as outage:
        outage.session.on_event = listen
        with anyio.fail_after(5):
            async with outage.session.stream("hi") as events:
                await events.aclose()  # type: ignore[attr-defined]
                await has_ended.wait()

    assert "".join(event.text for event in heard if isinstance(event, TextDelta)) == "hello"


async def test_a_listener_that_is_set_while_a_turn_is_streamed_stays() -> None:
    async with Outage({A: {"text": "hello"}}) as outage:
        heard: list[Event] = []
        async with outage.session.stream("hi") as events:
            outage.session.on_event = heard.append
            read = [event async for event in events]
        was_heard = heard[-1:]
        await outage.session.turn("and now?")

    assert was_heard == read[-1:]
    assert len(heard) > len(read)
