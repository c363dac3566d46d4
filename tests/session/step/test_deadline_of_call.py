"""A deadline around `Step.run` ends a call that is late, and changes nothing for another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest

from sidestep import Attempt, Event, FallbackConfig, RetryPolicy, Route, Sidestep, StepEnded

from ...virtual import pass_time, passing_backend

A, B = Route("openrouter/x"), Route("anthropic/x")

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return passing_backend(str(request.param))


class Down(Exception):
    status_code = 503


async def answer(_: Attempt) -> str:
    await anyio.lowlevel.checkpoint()
    return "ok"


async def answer_without_an_await(_: Attempt) -> str:
    return "ok"


async def answer_the_second_time(attempt: Attempt) -> str:
    if attempt.number == 1:
        raise Down
    return await answer(attempt)


async def answer_from_a_group(_: Attempt) -> str:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.lowlevel.checkpoint)
    return "ok"


async def answer_late_from_a_shield(_: Attempt) -> str:
    with anyio.CancelScope(shield=True):
        pass_time(31)
        await anyio.lowlevel.checkpoint()
    return "ok"


async def hang(_: Attempt) -> str:
    pass_time(31)
    await anyio.sleep_forever()
    return ""


async def fail_when_cancelled(attempt: Attempt) -> str:
    try:
        return await hang(attempt)
    finally:
        raise Down


async def fail_in_a_group(attempt: Attempt) -> str:
    async def fail() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise Down

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fail)
        tasks.start_soon(hang, attempt)
    return ""


async def fail_beside_a_cancellation(attempt: Attempt) -> str:
    try:
        return await hang(attempt)
    except BaseException as cancelled:  # noqa: BLE001 - of either loop
        raise BaseExceptionGroup("both", [cancelled, Down()]) from None


def agent() -> tuple[Sidestep, list[Event]]:
    events: list[Event] = []
    config = FallbackConfig(fallback_models_by_model={A: (B,)}, max_upstream_retry_attempts=1)
    policy = RetryPolicy(first_wait=0.0)
    return Sidestep(config, policy=policy, on_event=events.append), events


def ends(events: list[Event]) -> int:
    return sum(isinstance(event, StepEnded) for event in events)


Call = Callable[[Attempt], Awaitable[str]]


@pytest.mark.parametrize(
    "call",
    [
        answer,
        answer_without_an_await,
        answer_the_second_time,
        answer_from_a_group,
        answer_late_from_a_shield,
    ],
)
async def test_an_answer_is_returned(call: Call) -> None:
    middleware, events = agent()

    assert await middleware.step(A, deadline=30).run(call) == "ok"

    assert ends(events) == 1
    assert middleware.degraded.snapshot() == {}


@pytest.mark.parametrize(
    "call", [hang, fail_when_cancelled, fail_in_a_group, fail_beside_a_cancellation]
)
async def test_a_late_call_ends_the_step_and_degrades_no_route(call: Call) -> None:
    middleware, events = agent()

    with anyio.fail_after(60), pytest.raises(TimeoutError, match="the step's deadline has passed"):
        await middleware.step(A, deadline=30).run(call)

    assert ends(events) == 1
    assert middleware.degraded.snapshot() == {}
