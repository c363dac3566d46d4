"""Steps that meet the same failing route together."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import pytest

from sidestep import (
    FallbackConfig,
    Needs,
    RetryPolicy,
    Route,
    Sidestep,
    StepFailed,
)
from sidestep.session.event import (
    CandidateSkipped,
    Event,
    RouteDegraded,
    StepEnded,
    Swapped,
)

from ...virtual import CommonClock
from .test_step import Answer

A, B, C = Route("openrouter/x"), Route("anthropic/x"), Route("gemini/x")

pytestmark = pytest.mark.asyncio

Task = Callable[[], Coroutine[Any, Any, None]]


class World:
    """Routes that are down at times, and the conversations that ask them."""

    def __init__(
        self, *, latency: float = 0.1, policy: RetryPolicy | None = None, **config: Any
    ) -> None:
        self.clock = CommonClock()
        self.latency = latency
        self.down: dict[Route, Callable[[], bool]] = {}
        self.failure: Callable[[], Exception] = lambda: Answer(503)
        self.asked: list[tuple[Route, float]] = []
        self.events: list[Event] = []
        settings = {"fallback_models_by_model": {A: (B,), B: (A,)}} | config
        self.middleware = Sidestep(
            FallbackConfig(**settings),
            clock=self.clock,
            rng=random.Random(7),
            on_event=self.events.append,
        )

    async def call(self, route: Route) -> str:
        self.asked.append((route, self.clock.now))
        await self.clock.sleep(self.latency)
        if self.down.get(route, lambda: False)():
            raise self.failure()
        return "hello"

    def conversation(self, steps: int = 1, *, start: float = 0.0) -> Task:
        async def talk() -> None:
            if start:
                await self.clock.sleep(start)
            for _ in range(steps):
                await self.middleware.step(A).run(lambda attempt: self.call(attempt.route))

        return talk

    def requests(self, route: Route) -> int:
        return sum(asked == route for asked, _ in self.asked)

    def reported(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("steps", [1, 30], ids=["one step each", "thirty steps each"])
async def test_twenty_conversations_send_a_dead_route_one_request_each_and_one_steps_retries(
    seed: int, steps: int
) -> None:
    rng = random.Random(seed)
    world = World()
    world.down[A] = lambda: True

    await world.clock.play(
        *(world.conversation(steps, start=rng.uniform(0, 0.05)) for _ in range(20))
    )

    assert world.requests(A) <= 22
    assert len(world.reported(StepEnded)) == 20 * steps
    degraded_at = max(at for route, at in world.asked if route == A)
    assert degraded_at <= 8.0
    assert world.middleware.degraded.is_degraded(A)


async def test_a_retry_that_is_answered_brings_everybody_back_and_nothing_was_degraded() -> None:
    world = World()
    world.down[A] = lambda: world.clock.now < 1.5

    await world.clock.play(*(world.conversation(40) for _ in range(5)))

    assert world.requests(A) > 100
    assert [at for route, at in world.asked if route == A and 0.05 < at < 2.0] == []
    assert len(world.reported(Swapped)) == 4
    assert world.reported(RouteDegraded) == []
    assert world.middleware.degraded.snapshot() == {}


async def test_a_route_whose_retry_is_cancelled_is_asked_again() -> None:
    world = World(latency=0.0)
    world.down[A] = lambda: world.clock.now < 0.5
    caller = anyio.CancelScope()

    async def cancelled() -> None:
        with caller:
            await world.conversation()()

    async def others() -> None:
        await world.clock.sleep(0.1)
        await world.conversation()()  # swaps, because another step retries the route
        await world.conversation()()  # starts on the sibling for the same reason
        await world.clock.sleep(0.9)
        caller.cancel()
        await world.clock.sleep(0.1)
        await world.conversation()()

    await world.clock.play(cancelled, others)

    assert [route for route, _ in world.asked] == [A, A, B, B, A]


async def test_a_conversation_that_cannot_move_retries_beside_another_that_retries() -> None:
    world = World(latency=0.0)
    world.down[A] = lambda: world.clock.now < 1.0

    async def refuse() -> str:
        return "its store cannot be read"

    async def pinned() -> None:
        await world.clock.sleep(0.1)
        step = world.middleware.step(A, check_move=refuse)
        await step.run(lambda attempt: world.call(attempt.route))

    await world.clock.play(world.conversation(), pinned)

    assert [route for route, _ in world.asked] == [A, A, A, A]


async def test_a_route_that_was_degraded_during_a_request_is_not_retried_there() -> None:
    world = World()

    async def slow() -> None:
        async def call(route: Route) -> str:
            if route == A:
                world.asked.append((A, world.clock.now))
                await world.clock.sleep(2.0)
                raise Answer(503)
            return await world.call(route)

        await world.middleware.step(A).run(lambda attempt: call(attempt.route))

    async def quick() -> None:
        await world.clock.sleep(1.0)
        world.down[A] = lambda: True
        world.failure = lambda: Answer(402)
        await world.conversation()()

    await world.clock.play(slow, quick)

    assert [route for route, _ in world.asked] == [A, A, B, B]


@pytest.mark.parametrize(
    ("sibling_is_down", "asked"),
    [
        pytest.param(False, B, id="a healthy sibling"),
        pytest.param(True, A, id="no healthy sibling"),
    ],
)
async def test_a_step_that_waits_does_not_ask_a_route_that_another_step_degraded(
    asked: Route, *, sibling_is_down: bool
) -> None:
    world = World(latency=0.0, max_upstream_retry_attempts=1)
    world.down = {A: lambda: True, B: lambda: sibling_is_down}
    world.failure = lambda: Answer(402 if world.clock.now == 1.0 else 503)
    if sibling_is_down:
        world.middleware.degraded.degrade(B, cooldown=100.0)

    async def talk() -> None:
        with suppress(StepFailed):
            await world.conversation()()

    async def talk_later() -> None:
        await world.clock.sleep(1.0)
        await talk()

    await world.clock.play(talk, talk_later)

    after_the_wait = next(route for route, now in world.asked if now >= 2.0)
    assert after_the_wait == asked


async def test_an_answer_to_an_older_request_forgets_no_younger_failure() -> None:
    world = World(max_cooldown_seconds=5000)
    slow = anyio.Event()

    async def old(route: Route) -> str:
        await slow.wait()
        return "late"

    async def older() -> None:
        await world.middleware.step(A).run(lambda attempt: old(attempt.route))

    async def younger() -> None:
        await world.clock.sleep(1.0)
        world.down[A] = lambda: True
        world.failure = lambda: Answer(402, retry_after="3000")
        await world.conversation()()
        slow.set()

    await world.clock.play(older, younger)

    left = world.middleware.degraded.snapshot()[A]
    assert left == pytest.approx(3000.0, abs=1.0)


async def test_a_route_that_is_passed_over_for_one_reason_is_told_once() -> None:
    world = World(
        fallback_models_by_model={A: (B, C), B: (A, C)}, max_upstream_retry_attempts=0, latency=0.0
    )
    world.middleware.degraded.degrade(A, cooldown=60.0)
    world.down[B] = lambda: True

    await world.clock.play(world.conversation())

    assert [route for route, _ in world.asked] == [B, C]
    told = [(e.route, e.reason) for e in world.events if isinstance(e, CandidateSkipped)]
    assert told == [(A, "degraded")]


CHAINS = [
    pytest.param("openrouter/x", {"SIDESTEP_HINT": "openrouter:x,anthropic:x"}, id="a hint"),
    pytest.param(
        "coding",
        {
            "SIDESTEP_ROUTING_RULES": """
[[rules]]
task_class = "coding"
[[rules.candidates]]
provider = "openrouter"
model = "x"
capabilities = { context_window_tokens = 10000 }
[[rules.candidates]]
provider = "anthropic"
model = "x"
capabilities = { context_window_tokens = 10000 }
"""
        },
        id="rules",
    ),
]
COUNTED = {
    "SIDESTEP_PROVIDERS": '{"openrouter": {"contextWindow": 10000}, '
    '"anthropic": {"contextWindow": 10000}}',
    "OPENROUTER_API_KEY": "k",
    "ANTHROPIC_API_KEY": "k",
}


@pytest.mark.parametrize(
    "waited",
    [
        pytest.param(0.0, id="an outage begins meanwhile"),
        pytest.param(61.0, id="the route is due for a probe"),
    ],
)
@pytest.mark.parametrize(("asked", "environ"), CHAINS)
async def test_steps_that_count_their_tokens_first_do_not_all_ask_a_dead_route(
    asked: str, environ: dict[str, str], waited: float
) -> None:
    world = World()
    world.down[A] = lambda: True
    policy = RetryPolicy(retries=0)
    middleware = Sidestep.from_env(COUNTED | environ, clock=world.clock, policy=policy)

    async def count(route: Route) -> int:
        await world.clock.sleep(1.0)
        return 6_000

    async def step(**options: Any) -> None:
        await middleware.step(asked, **options).run(lambda attempt: world.call(attempt.route))

    async def talk() -> None:
        await step(needs=Needs(tokens=8_000), count=count)

    if waited:
        await world.clock.play(step)
        world.asked.clear()
        await world.clock.play(partial(world.clock.sleep, waited))
        await world.clock.play(*(talk for _ in range(20)))
    else:
        await world.clock.play(step, *(talk for _ in range(20)))

    assert world.requests(A) == 1
    assert world.requests(B) == 20 + (not waited)


async def test_steps_that_await_something_before_the_request_do_not_all_probe_a_route() -> None:
    world = World(max_upstream_retry_attempts=0)
    world.down[A] = lambda: True
    await world.clock.play(world.conversation())
    world.asked.clear()

    async def talk() -> None:
        async for attempt in world.middleware.step(A):
            await world.clock.sleep(1.0)  # as a message is built, or a client is made
            async with attempt:
                await world.call(attempt.route)

    await world.clock.play(partial(world.clock.sleep, 61.0))
    await world.clock.play(*(talk for _ in range(20)))

    assert (world.requests(A), world.requests(B)) == (1, 20)


async def _with_a_probe_due() -> World:
    """Return a world in which the next step probes A, which has failed and is healthy again."""
    world = World(max_upstream_retry_attempts=0)
    world.down[A] = lambda: world.clock.now < 60.0
    await world.clock.play(world.conversation(), partial(world.clock.sleep, 61.0))
    world.asked.clear()
    return world


@pytest.mark.parametrize("is_entered", [False, True], ids=["not entered", "cancelled"])
async def test_a_step_that_is_left_before_its_probe_is_answered_gives_the_probe_back(
    *, is_entered: bool
) -> None:
    world = await _with_a_probe_due()

    step = world.middleware.step(A)
    attempt = await anext(aiter(step))
    with suppress(asyncio.CancelledError):
        if is_entered:
            async with attempt:
                raise asyncio.CancelledError
    await step.aclose()
    await world.clock.play(world.conversation())

    assert [route for route, _ in world.asked] == [A]
    assert attempt.route == A  # it is still referred to


@pytest.mark.parametrize("is_raised", [False, True], ids=["by break", "by an exception"])
async def test_a_loop_that_is_left_before_its_probe_is_entered_gives_the_probe_back(
    *, is_raised: bool
) -> None:
    world = await _with_a_probe_due()
    step = world.middleware.step(A)
    left: list[AssertionError] = []

    try:
        async for attempt in step:
            assert attempt.route == A
            assert not is_raised, "before the attempt is entered"
            break
    except AssertionError as error:
        left.append(error)  # its traceback refers to the step
    await world.clock.play(world.conversation())

    assert [route for route, _ in world.asked] == [A]
    assert bool(left) is is_raised
    async with attempt:  # it can be entered all the same
        pass
    assert step.is_over
