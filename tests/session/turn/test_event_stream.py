"""A turn as a stream: who hears its events, and what its block raises at its end."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from sidestep import Event, StepStarted, TextDelta, TurnEnded

from .outage import A, Outage

pytestmark = pytest.mark.anyio


class Ended(BaseException):
    pass


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

        with anyio.fail_after(60):
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
        with anyio.fail_after(60):
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


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ValueError("the reader's own"), id="an exception"),
        pytest.param(ExceptionGroup("of two", [ValueError(), KeyError()]), id="a group"),
        pytest.param(StopAsyncIteration(), id="the end of another iterator"),
        pytest.param(Ended(), id="no Exception, as Ctrl-C is none"),
    ],
)
async def test_what_the_reader_raises_comes_out_as_itself(error: BaseException) -> None:
    async with Outage({A: {"text": "hello"}}) as outage:
        with pytest.raises(type(error)) as caught:
            async with outage.session.stream("hi"):
                raise error
        ended = await outage.session.turn("and now?")

    assert caught.value is error
    assert ended.text == "hello"


async def test_what_the_reader_raises_comes_before_what_ended_the_turn() -> None:
    async with Outage({A: {"status": 401}}) as outage:

        async def read_to_the_end() -> None:
            async with outage.session.stream("hi") as events:
                assert [event async for event in events]
                raise ValueError("the reader's own")

        with pytest.raises(ValueError, match="the reader's own"):
            await read_to_the_end()


async def test_a_cancellation_of_the_reader_stays_one() -> None:
    async with Outage({A: {"text": "hello"}}) as outage:
        with anyio.CancelScope() as scope:
            async with outage.session.stream("hi"):
                scope.cancel()
                await anyio.sleep_forever()
        ended = await outage.session.turn("and now?")

    assert scope.cancelled_caught
    assert ended.text == "hello"


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_cancellation_of_asyncios_own_stays_one() -> None:
    is_open = asyncio.Event()
    async with Outage({A: {"text": "hello"}}) as outage:

        async def read() -> None:
            async with outage.session.stream("hi"):
                is_open.set()
                await anyio.sleep_forever()

        task = asyncio.create_task(read())
        async with asyncio.timeout(5):
            await is_open.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        ended = await outage.session.turn("and now?")

    assert ended.text == "hello"


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_turn_that_somebody_else_cancels_before_it_began_ends() -> None:
    async with Outage({A: {"text": "hello"}}) as outage:
        before = asyncio.all_tasks()

        async def read() -> None:
            async with outage.session.stream("hi") as events:
                for task in asyncio.all_tasks() - before:
                    task.cancel()
                assert [event async for event in events] == []

        with anyio.fail_after(60):
            with pytest.raises(RuntimeError, match="cancelled, but not by"):
                await read()
            ended = await outage.session.turn("and now?")

    assert ended.text == "hello"


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_turn_that_somebody_else_cancels_does_not_end_the_stream_in_silence() -> None:
    def listen(event: Event) -> None:
        task = asyncio.current_task()
        if isinstance(event, TextDelta) and task is not None:
            task.cancel()

    async with Outage({A: {"text": "hello"}}) as outage:
        outage.session.on_event = listen

        async def read() -> None:
            async with outage.session.stream("hi") as events:
                assert [event async for event in events]

        with anyio.fail_after(60), pytest.raises(RuntimeError, match="cancelled, but not by"):
            await read()
