"""A step whose loop is left, closed elsewhere or dropped ends, and cancels nobody."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
import sniffio

from sidestep import (
    Attempt,
    Event,
    FallbackConfig,
    RetryPolicy,
    Route,
    Sidestep,
    StepEnded,
    watched,
)
from sidestep.provider.current_attempt import current_attempt
from sidestep.session.event import AttemptFailed, ProbeEnded, ProbeStarted

from ...virtual import VirtualClock, pass_time, passing_backend
from ..another_task import close_in_another_task

A, B = Route("openrouter/x"), Route("anthropic/x")

pytestmark = [
    pytest.mark.anyio,
    # Trio's advice to whoever does not close a generator; that is what is tried here.
    pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return passing_backend(request.param)


class Down(Exception):
    status_code = 503


class Agent:
    """An agent that streams from an asynchronous generator round its attempts."""

    def __init__(self, *, retries: int = 3) -> None:
        self.events: list[Event] = []
        config = FallbackConfig(
            fallback_models_by_model={A: (B,)}, max_upstream_retry_attempts=retries
        )
        self.middleware = Sidestep(
            config, on_event=self.events.append, policy=RetryPolicy(first_wait=0.0)
        )

    async def stream(self) -> AsyncGenerator[int, None]:
        async for attempt in self.middleware.step(A, deadline=30):
            async with attempt:
                for number in range(9):
                    attempt.emitted()
                    yield number

    def ended(self) -> list[StepEnded]:
        return [event for event in self.events if isinstance(event, StepEnded)]


async def left(agent: Agent) -> AsyncGenerator[int, None] | None:
    """Leave the generator, and drop it."""
    async for _ in agent.stream():
        break
    return None


async def kept(agent: Agent) -> AsyncGenerator[int, None] | None:
    """Leave the generator, and keep it."""
    numbers = agent.stream()
    async for _ in numbers:
        break
    return numbers


async def closed(agent: Agent) -> AsyncGenerator[int, None] | None:
    async with aclosing(agent.stream()) as numbers:
        async for _ in numbers:
            break
    return None


async def closed_elsewhere(agent: Agent) -> AsyncGenerator[int, None] | None:
    numbers = agent.stream()
    await anext(numbers)
    await close_in_another_task(numbers)
    return None


async def collected(agent: Agent) -> AsyncGenerator[int, None] | None:
    """Leave the generator in a circle that only the collector finds."""
    numbers = agent.stream()
    circle: list[Any] = [numbers]
    circle.append(circle)
    await anext(numbers)
    del numbers, circle
    gc.collect()
    return None


async def raised(agent: Agent) -> AsyncGenerator[int, None] | None:
    async def read() -> None:
        async for _ in agent.stream():
            raise KeyError

    with pytest.raises(KeyError):
        await read()
    return None


async def passed_on(agent: Agent) -> AsyncGenerator[int, None] | None:
    """Leave a generator that iterates over the generator."""

    async def outer() -> AsyncIterator[int]:
        async for number in agent.stream():
            yield number

    async for _ in outer():
        break
    gc.collect()
    return None


LEAVES = [left, kept, closed, closed_elsewhere, collected, raised, passed_on]


def collect_on_pypy() -> None:
    """Let PyPy see what is dropped; elsewhere it is seen at once."""
    if sys.implementation.name == "pypy":
        for _ in range(3):
            gc.collect()


async def settle() -> None:
    """Let the event loop close what it has been handed to close."""
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("leave", LEAVES, ids=lambda leave: leave.__name__)
async def test_who_leaves_a_generator_round_an_attempt_is_never_cancelled(
    leave: Callable[[Agent], Awaitable[AsyncGenerator[int, None] | None]],
) -> None:
    agent = Agent()
    is_over = anyio.Event()

    async def consume() -> None:
        numbers = await leave(agent)
        collect_on_pypy()
        await settle()
        assert bool(agent.ended()) is (numbers is None)
        for _ in range(3):
            pass_time(31)
            await settle()
            await anyio.sleep(0.01)
        with anyio.move_on_after(0.01) as own:
            await anyio.sleep_forever()
        assert own.cancelled_caught
        if sniffio.current_async_library() == "asyncio":
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0
        if numbers is not None:
            await numbers.aclose()
        is_over.set()

    with anyio.fail_after(600):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(consume)

    assert is_over.is_set()
    (ended,) = agent.ended()
    assert ended.error is not None
    assert agent.middleware.degraded.snapshot() == {}


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_reader_who_takes_long_is_not_cancelled_but_what_it_reads_is() -> None:
    agent = Agent()
    seen: list[int] = []

    async def stream() -> AsyncIterator[int]:
        async for attempt in agent.middleware.step(A, deadline=30):
            async with attempt:
                yield 1
                await anyio.sleep_forever()

    async def read() -> None:
        async for number in stream():
            pass_time(31)
            await anyio.sleep(0.2)
            seen.append(number)

    with anyio.fail_after(600), pytest.raises(TimeoutError, match="the step's deadline has passed"):
        await read()

    assert seen == [1]
    assert agent.ended()[0].error == "TimeoutError: the step's deadline has passed"


async def in_a_stack(step: Any) -> None:
    async for attempt in step:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(attempt)
            await hang()


async def in_a_helper(step: Any) -> None:
    async def deep() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            await hang()

    async for attempt in step:
        async with attempt:
            await deep()


async def in_a_generator(step: Any) -> None:
    async def stream() -> AsyncIterator[int]:
        async for attempt in step:
            async with attempt:
                await hang()
                yield 1

    async for _ in stream():
        pass


async def awaited_by_a_generator(step: Any) -> None:
    async def call() -> None:
        await in_a_helper(step)

    async def stream() -> AsyncIterator[None]:
        await call()
        yield

    await anext(stream(), None)


async def in_a_child_task(step: Any) -> None:
    async for attempt in step:
        async with attempt:
            await asyncio.create_task(hang())


async def in_run(step: Any) -> None:
    await step.run(lambda _: hang())


async def hang() -> None:
    pass_time(31)
    await anyio.sleep_forever()


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.parametrize(
    "call",
    [
        in_a_stack, in_a_helper, in_a_generator, awaited_by_a_generator, in_a_child_task, in_run,
    ],
    ids=lambda call: call.__name__,
)  # fmt: skip
async def test_on_asyncio_the_deadline_cuts_off_what_the_attempt_awaits(
    call: Callable[[Any], Awaitable[None]],
) -> None:
    agent = Agent()
    task = asyncio.current_task()
    assert task is not None

    with anyio.fail_after(600), pytest.raises(TimeoutError, match="the step's deadline has passed"):
        await call(agent.middleware.step(A, deadline=30))

    assert task.cancelling() == 0
    await anyio.lowlevel.checkpoint()
    assert agent.ended()[0].error == "TimeoutError: the step's deadline has passed"
    assert agent.middleware.degraded.snapshot() == {}


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.parametrize("by", ["asyncio", "anyio"])
async def test_a_cancellation_beside_the_deadline_stays_one(by: str) -> None:
    agent = Agent()
    scope = anyio.CancelScope()

    async def call() -> None:
        with scope:
            async for attempt in agent.middleware.step(A, deadline=30):
                async with attempt:
                    loop.call_later(29, cancel)  # before the deadline, and seen with it
                    pass_time(31)
                    await anyio.sleep_forever()

    def cancel() -> None:
        task.cancel() if by == "asyncio" else scope.cancel()

    loop = asyncio.get_running_loop()
    task = asyncio.create_task(call())
    if by == "asyncio":
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        await task
        assert scope.cancelled_caught
    assert task.cancelling() == (by == "asyncio")


@pytest.mark.parametrize("anyio_backend", ["trio"], indirect=True)
async def test_on_trio_the_deadline_is_checked_between_attempts() -> None:
    clock, calls = VirtualClock(), []
    middleware = Sidestep(clock=clock, policy=RetryPolicy(retries=9))

    async def take() -> None:
        async for attempt in middleware.step(A, deadline=30):
            async with attempt:
                calls.append(attempt.seconds_left)
                clock.now += 31
                await anyio.lowlevel.checkpoint()
                raise Down

    with pytest.raises(TimeoutError, match="the step's deadline has passed") as caught:
        await take()

    assert calls == [30.0]
    assert isinstance(caught.value.__cause__, Down)


async def test_a_loop_that_is_left_ends_its_step_at_once() -> None:
    agent = Agent()
    step = agent.middleware.step(A)

    async for attempt in step:
        async with attempt:
            raise Down
        break
    collect_on_pypy()

    (ended,) = agent.ended()
    assert ended.error == "GeneratorExit: the loop over the attempts was left"
    assert len(step.attempts) == 1
    with pytest.raises(RuntimeError, match="this step has ended"):
        aiter(step)


async def test_a_loop_that_is_left_before_its_first_attempt_is_entered_ends_with_its_step() -> None:
    agent = Agent()

    async def leave() -> None:
        async for _ in agent.middleware.step(A):
            break

    await leave()
    gc.collect()

    (ended,) = agent.ended()
    assert ended.attempts == 0


async def test_a_step_that_never_began_ends_in_silence() -> None:
    agent = Agent()

    step = agent.middleware.step(A)
    aiter(step)
    del step
    gc.collect()

    assert agent.events == []


async def test_a_step_that_is_closed_ends_at_once() -> None:
    agent = Agent()

    async with aclosing(agent.middleware.step(A)) as attempts:
        async for _ in attempts:
            break
    ended = agent.ended()

    assert len(ended) == 1


async def test_an_attempt_that_is_never_left_ends_with_its_step() -> None:
    agent = Agent()
    agent.middleware.degraded.degrade(A, cooldown=1e-9)

    async def enter() -> None:
        attempt = await anext(agent.middleware.step(A))
        await attempt.__aenter__()

    await enter()
    gc.collect()
    await settle()

    assert len(agent.ended()) == 1
    kinds = [type(event) for event in agent.events]
    assert kinds.count(ProbeStarted) == kinds.count(ProbeEnded) == 1
    assert kinds.count(AttemptFailed) == 1
    assert agent.middleware.degraded.probe(A) is not None


async def test_attempts_can_be_taken_one_by_one() -> None:
    agent = Agent(retries=1)
    step = agent.middleware.step(A)

    attempt = await anext(aiter(step))
    async with attempt:
        raise Down
    attempt = await anext(aiter(step))
    async with attempt:
        pass

    (ended,) = agent.ended()
    assert (ended.error, ended.attempts) == (None, 2)


async def test_a_step_that_is_closed_in_an_attempt_leaves_the_call_alone() -> None:
    agent = Agent()
    step = agent.middleware.step(A)

    async def call() -> None:
        async for attempt in step:
            async with attempt:
                await step.aclose()
                raise Down

    with pytest.raises(Down):
        await call()

    assert len(agent.ended()) == 1


@asynccontextmanager
async def of_the_host(step: Any) -> AsyncIterator[Attempt]:
    async for attempt in step:
        async with attempt:
            yield attempt


async def test_a_context_manager_of_the_hosts_round_an_attempt_cancels_nobody() -> None:
    agent = Agent()

    with anyio.fail_after(600):
        async with of_the_host(agent.middleware.step(A, deadline=30)):
            pass_time(31)
            await settle()
            await anyio.sleep(0.1)

    (ended,) = agent.ended()
    assert ended.error is None


async def test_the_collector_may_end_a_step_while_the_health_map_is_in_use() -> None:
    agent = Agent()
    health = agent.middleware.degraded
    health.degrade(A, cooldown=1e-9)

    async def enter() -> None:
        attempt = await anext(agent.middleware.step(A))
        await attempt.__aenter__()

    gc.disable()
    try:
        await enter()
        with health._lock:
            gc.collect()
    finally:
        gc.enable()

    assert len(agent.ended()) == 1
    assert health.probe(A) is not None


async def test_a_client_may_be_watched_from_within_an_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(current_attempt, "is_wanted", False)
    step = Agent().middleware.step(A)

    async for attempt in step:
        async with attempt, httpx.AsyncClient() as client:
            watched(client)

    assert step.route == A
    assert current_attempt.is_wanted
    assert current_attempt.get() is None
