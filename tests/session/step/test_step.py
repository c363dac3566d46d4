"""One step, from the agent's side: what it is handed, what it waits for, what it catches."""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

import sidestep
from sidestep import (
    ContextOverflow,
    Failure,
    FailureKind,
    FallbackConfig,
    FallbackExhausted,
    FallbackUnsafe,
    ProviderError,
    RetryPolicy,
    Route,
    Sidestep,
    StreamInterrupted,
)
from sidestep.session.event import Event, RouteDegraded
from sidestep.session.event_json import to_json
from sidestep.session.plan.needs import Needs
from sidestep.session.plan.plan import Plan, RouteOptions

from ...virtual import VirtualClock, pass_time
from .form import each_form, run

A, B, C = Route("openrouter/x"), Route("anthropic/x"), Route("gemini/x")
TWO_WAY = {A: (B,), B: (A,)}

pytestmark = pytest.mark.asyncio


class Answer(Exception):
    """What a provider's SDK might raise."""

    def __init__(self, status: int, text: str = "no", **headers: str) -> None:
        super().__init__(f"{status} {text}")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response = SimpleNamespace(status_code=status, headers=named)


Reply = Exception | str
Handler = Callable[[Route], Awaitable[str]]


class Agent:
    """An agent with a loop of its own, which plays what each route answers."""

    def __init__(self, replies: dict[Route, Iterable[Reply]]) -> None:
        self.replies = {route: list(given) for route, given in replies.items()}
        self.asked: list[Route] = []

    async def call(self, route: Route) -> str:
        self.asked.append(route)
        given = self.replies[route]
        reply = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(reply, Exception):
            raise reply
        return reply


def middleware(clock: VirtualClock, **settings: Any) -> Sidestep:
    config: dict[str, Any] = {
        "fallback_models_by_model": TWO_WAY, "max_upstream_retry_attempts": 3,
    }  # fmt: skip
    return Sidestep(
        FallbackConfig(**config | settings), clock=clock, policy=RetryPolicy(jitter=0.0)
    )


async def take(step: sidestep.Step | sidestep.SyncStep, call: Handler) -> str:
    text: str = await run(step, lambda attempt: call(attempt.route))
    return text


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@each_form
async def test_an_answer_at_once_is_one_attempt(clock: VirtualClock) -> None:
    agent = Agent({A: ["hello"]})
    step = middleware(clock).step("openrouter/x")

    assert await take(step, agent.call) == "hello"
    assert step.route == A
    assert agent.asked == [A]
    assert [(a.route, a.number, a.failure, a.waited) for a in step.attempts] == [(A, 1, None, 0.0)]
    assert clock.slept == []


@each_form
async def test_a_failing_route_is_retried_then_left_for_its_sibling_without_a_wait(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    agent = Agent({A: [Answer(500)], B: ["hello"]})
    engine = middleware(clock)
    step = engine.step(A)

    assert await take(step, agent.call) == "hello"
    assert agent.asked == [A, A, A, A, B]
    assert clock.slept == [2.0, 4.0, 8.0]
    assert [a.waited for a in step.attempts] == [0.0, 2.0, 4.0, 8.0, 0.0]
    assert (step.route, step.requested) == (B, A)
    assert engine.degraded.snapshot() == {A: 60.0}
    assert (
        f"[model-fallback] switched model from={A} to={B} reason=server_error status=500 swaps=1/2"
        in caplog.text
    )


@each_form
async def test_later_steps_start_on_the_sibling_until_the_cooldown_ends(
    clock: VirtualClock,
) -> None:
    agent = Agent({A: [Answer(503)] * 4 + ["back"], B: ["hello"]})
    engine = middleware(clock)
    await take(engine.step(A), agent.call)
    agent.asked.clear()

    await take(engine.step(A), agent.call)
    clock.now += 60
    await take(engine.step(A), agent.call)
    await take(engine.step(A), agent.call)

    assert agent.asked == [B, A, A]
    assert engine.degraded.snapshot() == {}


@each_form
@pytest.mark.parametrize(
    ("settings", "asked", "slept"),
    [
        pytest.param({}, [A] * 4 + [B] * 4 + [A] * 4, [2.0, 4.0, 8.0] * 3, id="two swaps"),
        pytest.param(
            {"max_fallback_attempts": 1}, [A] * 4 + [B] * 4, [2.0, 4.0, 8.0] * 2, id="one swap"
        ),
        pytest.param(
            {"max_upstream_retry_attempts": 0}, [A, B, A], [], id="no retries, both swaps"
        ),
        pytest.param(
            {"fallback_models_by_model": {A: (B, C)}, "max_upstream_retry_attempts": 0},
            [A, B, C], [], id="a list, and its first has no siblings of its own",
        ),
        pytest.param(
            {"fallback_models_by_model": {A: (B,), C: (A,)}, "max_upstream_retry_attempts": 0},
            [A, B], [], id="nothing leads on from the only sibling, nor back",
        ),
        pytest.param(
            {"fallback_models_by_model": {A: (B,), B: (A, C)}, "max_upstream_retry_attempts": 0},
            [A, B, C], [], id="a healthy third before the bounce",
        ),
    ],
)  # fmt: skip
async def test_with_every_route_down_the_step_fails_naming_every_attempt(
    clock: VirtualClock, settings: dict[str, Any], asked: list[Route], slept: list[float]
) -> None:
    agent = Agent({A: [Answer(503)], B: [Answer(529)], C: [Answer(500)]})
    step = middleware(clock, **settings).step(A)

    with pytest.raises(FallbackExhausted) as caught:
        await take(step, agent.call)

    assert agent.asked == asked
    assert clock.slept == slept
    assert [attempt.route for attempt in caught.value.attempts] == asked
    for attempt in caught.value.attempts:
        assert f"{attempt.route} {attempt.failure}" in str(caught.value)
    assert isinstance(caught.value.__cause__, Answer)
    assert (step.route, caught.value.requested) == (A, A)


@each_form
@pytest.mark.parametrize(
    ("refusal", "raised"),
    [
        pytest.param(Answer(400, "unknown variant `image_url`"), FallbackExhausted, id="400"),
        pytest.param(Answer(403, "no such model on this key"), FallbackExhausted, id="403"),
        pytest.param(Answer(404, "model not found"), FallbackExhausted, id="404"),
        pytest.param(
            ProviderError(
                sidestep.Failure(
                    kind=sidestep.FailureKind.CONTEXT_OVERFLOW, message="too long", status=400
                )
            ),
            ContextOverflow, id="too long",
        ),
    ],
)  # fmt: skip
async def test_what_a_sibling_refuses_does_not_hide_why_the_step_came_to_it(
    clock: VirtualClock, refusal: Exception, raised: type[sidestep.StepFailed]
) -> None:
    """Hermes #51220: a text-only sibling's 400 was reported in place of the quota error."""
    agent = Agent({A: [Answer(402, "quota used up")], B: [refusal]})
    engine = middleware(clock)

    with pytest.raises(raised) as caught:
        await take(engine.step(A), agent.call)

    assert agent.asked == [A, B]
    second = caught.value.attempts[-1]
    assert f"1. {A} quota 402" in str(caught.value)
    assert "quota used up" in str(caught.value)
    assert f"2. {B} {second.failure}" in str(caught.value)
    assert list(engine.degraded.snapshot()) == [A]


@each_form
@pytest.mark.parametrize(
    ("listed", "status", "asked"),
    [
        pytest.param([429], 429, [A, B], id="listed"),
        pytest.param([429], 503, [A], id="not listed, though it is without a list"),
        pytest.param([403], 403, [A, B], id="a model that the key may not use"),
    ],
)
async def test_the_statuses_of_the_configuration_move_a_step_and_no_others_do(
    clock: VirtualClock, listed: list[int], status: int, asked: list[Route]
) -> None:
    """Portkey #855 fell back despite its filter; Bifrost #3261 did not for a key's 403."""
    agent = Agent({A: [Answer(status)], B: ["hello"]})
    engine = middleware(clock, fallback_on_errors=listed, max_upstream_retry_attempts=0)

    if B in asked:
        assert await take(engine.step(A), agent.call) == "hello"
    else:
        with pytest.raises(Answer):
            await take(engine.step(A), agent.call)

    assert agent.asked == asked


@each_form
async def test_a_route_is_degraded_before_the_cap_is_looked_at(clock: VirtualClock) -> None:
    agent = Agent({A: [Answer(503)], B: [Answer(503)]})
    engine = middleware(clock, max_fallback_attempts=1, max_upstream_retry_attempts=0)

    with pytest.raises(FallbackExhausted, match="1 of 1 swaps are made"):
        await take(engine.step(A), agent.call)

    assert engine.degraded.snapshot() == {A: 60.0, B: 60.0}


@each_form
async def test_without_a_swap_the_agents_own_exception_is_unchanged(clock: VirtualClock) -> None:
    agent = Agent({A: [error := Answer(401, "bad key")]})

    with pytest.raises(Answer) as caught:
        await take(middleware(clock).step(A), agent.call)

    assert caught.value is error
    assert caught.value.__cause__ is None
    (note,) = caught.value.__notes__
    assert note.startswith(f"sidestep: 1 attempt failed (1. {A} auth 401")


@each_form
async def test_without_a_configuration_there_are_only_the_policys_retries(
    clock: VirtualClock,
) -> None:
    agent = Agent({A: [Answer(503)]})
    engine = Sidestep(clock=clock, policy=RetryPolicy(jitter=0.0))

    with pytest.raises(Answer):
        await take(engine.step(A), agent.call)

    assert agent.asked == [A] * 6
    assert clock.slept == [2.0, 4.0, 8.0, 16.0, 30.0]
    assert engine.degraded.snapshot() == {}


@each_form
async def test_jitter_comes_from_the_given_source(clock: VirtualClock) -> None:
    expected = random.Random(7)
    agent = Agent({A: [Answer(503), "hello"]})
    engine = Sidestep(clock=clock, rng=random.Random(7))

    await take(engine.step(A), agent.call)

    assert clock.slept == [2.0 * (1 + 0.25 * expected.random())]


@each_form
async def test_overflow_after_a_swap_is_raised_for_the_agents_compaction(
    clock: VirtualClock,
) -> None:
    too_long = sidestep.Failure(
        kind=sidestep.FailureKind.CONTEXT_OVERFLOW, message="prompt is too long", status=400
    )
    agent = Agent({A: [Answer(503)], B: [ProviderError(too_long)]})
    engine = middleware(clock, max_upstream_retry_attempts=0)

    with pytest.raises(ContextOverflow, match="compact it") as caught:
        await take(engine.step(A), agent.call)

    assert caught.value.failure is not None
    assert caught.value.failure.route == B
    assert engine.degraded.snapshot() == {A: 60.0}


@each_form
async def test_a_classifier_of_the_agents_own_comes_first(clock: VirtualClock) -> None:
    class Busy(Exception):
        pass

    agent = Agent({A: [Busy()], B: ["hello"]})
    engine = Sidestep(
        FallbackConfig(fallback_models_by_model={A: (B,)}, max_upstream_retry_attempts=1),
        clock=clock,
        classify=lambda exc: sidestep.FailureKind.OVERLOADED if isinstance(exc, Busy) else None,
    )
    step = engine.step(A)

    assert await take(step, agent.call) == "hello"
    assert [a.failure and a.failure.kind for a in step.attempts] == ["overloaded"] * 2 + [None]


@each_form
async def test_a_classifier_that_raises_is_logged_and_hides_no_failure(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_exc: Exception) -> None:
        raise ZeroDivisionError

    engine = Sidestep(
        FallbackConfig(fallback_models_by_model={A: (B,)}, max_upstream_retry_attempts=0),
        clock=clock,
        classify=broken,
    )

    assert await take(engine.step(A), Agent({A: [Answer(503)], B: ["hello"]}).call) == "hello"
    assert "`classify` raised on Answer" in caplog.text


async def test_a_bug_after_output_was_shown_stays_the_agents_own(clock: VirtualClock) -> None:
    engine = middleware(clock, on_partial="interrupt")

    async def call() -> None:
        async for attempt in engine.step(A):
            async with attempt:
                attempt.emitted("The answer is")
                raise KeyError("messages")

    with pytest.raises(KeyError):
        await call()

    assert engine.degraded.snapshot() == {}


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        pytest.param(Answer(503), StreamInterrupted, id="the route failed"),
        pytest.param(KeyError("messages"), KeyError, id="a bug"),
    ],
)
async def test_output_that_nobody_can_take_back_ends_the_step_whatever_is_configured(
    error: Exception, raised: type[Exception], clock: VirtualClock
) -> None:
    engine = middleware(clock, on_partial="retract")

    async def call() -> None:
        async for attempt in engine.step(A):
            async with attempt:
                attempt.emitted("The answer", can_retract=False)
                attempt.emitted("The answer is")
                raise error

    with pytest.raises(raised) as caught:
        await call()

    assert set(engine.degraded.snapshot()) == ({A} if raised is StreamInterrupted else set())
    if isinstance(caught.value, StreamInterrupted):
        assert caught.value.emitted == "The answer is"
        assert "cannot be taken back" in str(caught.value)


@each_form
async def test_an_error_nobody_can_name_is_the_agents_own_business(clock: VirtualClock) -> None:
    """OmniRoute PR 4870: a local bug was counted as a fault of the provider."""
    agent = Agent({A: [KeyError("messages")], B: ["hello"]})
    engine = middleware(clock)

    with pytest.raises(KeyError):
        await take(engine.step(A), agent.call)

    assert agent.asked == [A]
    assert engine.degraded.snapshot() == {}


@each_form
async def test_a_hint_longer_than_the_longest_wait_swaps_at_once_and_cools_until_it(
    clock: VirtualClock,
) -> None:
    """Opencode #36398: retry-after 3600 was slept on for an hour."""
    agent = Agent({A: [Answer(429, retry_after="3600")], B: ["hello"]})
    engine = middleware(clock)

    await take(engine.step(A), agent.call)

    assert agent.asked == [A, B]
    assert clock.slept == []
    assert engine.degraded.snapshot() == {A: 3600.0}


@each_form
async def test_without_a_sibling_a_long_hint_fails_the_step_and_says_when_to_come_back(
    clock: VirtualClock,
) -> None:
    engine = middleware(clock, fallback_models_by_model={B: (A,)})

    with pytest.raises(Answer) as caught:
        await take(engine.step(A), Agent({A: [Answer(429, retry_after="600")]}).call)

    assert f"{A} is due back in 600 s" in caught.value.__notes__[0]


@each_form
async def test_a_sibling_that_the_agent_does_not_serve_is_skipped(clock: VirtualClock) -> None:
    agent = Agent({A: [Answer(503)], C: ["hello"]})
    events: list[Event] = []
    engine = middleware(clock, fallback_models_by_model={A: (B, C)}, max_upstream_retry_attempts=0)
    step = engine.step(A, serves=lambda route: route != B, on_event=events.append)

    assert await take(step, agent.call) == "hello"
    assert sidestep.CandidateSkipped(1, B, "not served") in events


async def test_of_fifty_steps_at_the_end_of_a_cooldown_one_request_reaches_the_route(
    clock: VirtualClock,
) -> None:
    agent = Agent({A: [Answer(503)], B: ["hello"]})
    engine = middleware(clock)
    engine.degraded.degrade(A, cooldown=60)
    clock.now += 60

    async def slow(route: Route) -> str:
        await anyio.lowlevel.checkpoint()
        return await agent.call(route)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(take, engine.step(A), slow)

    assert agent.asked.count(A) == 1
    assert agent.asked.count(B) == 50
    assert engine.degraded.is_degraded(A)


async def test_a_cancelled_probe_gives_its_place_back(clock: VirtualClock) -> None:
    engine = middleware(clock)
    engine.degraded.degrade(A, cooldown=60)
    clock.now += 60
    asked: list[Route] = []

    async def hang(route: Route) -> str:
        asked.append(route)
        await anyio.sleep_forever()
        return ""

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(take, engine.step(A), hang)
            await anyio.wait_all_tasks_blocked()
            assert engine.healthy(A) == B
            tasks.cancel_scope.cancel()

    assert asked == [A]
    assert engine.healthy(A) == A
    assert engine.degraded.probe(A) is not None


@each_form
async def test_an_answer_forgets_every_failure_of_its_own_route_only(clock: VirtualClock) -> None:
    """With both routes degraded a step starts on A as if there were no cooldown."""
    engine = middleware(clock)
    engine.degraded.degrade(A, cooldown=60)
    engine.degraded.degrade(B, cooldown=60)

    await take(engine.step(A), Agent({A: ["hello"]}).call)

    assert engine.degraded.snapshot() == {B: 60.0}


@pytest.mark.parametrize("where", ["wait", "request"])
async def test_a_cancellation_ends_a_step_at_once_and_degrades_nothing(where: str) -> None:
    """With the real clock: the wait of 2 s would outlast the test's own limit of 1 s."""
    engine = Sidestep(FallbackConfig(fallback_models_by_model=TWO_WAY))
    step = engine.step(A)
    asked: list[Route] = []

    async def call(route: Route) -> str:
        asked.append(route)
        if where == "request":
            await anyio.sleep_forever()
        raise Answer(503)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(take, step, call)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

    assert asked == [A]
    assert engine.degraded.snapshot() == {}


async def test_a_cancellation_is_noticed_between_two_routes(clock: VirtualClock) -> None:
    engine = middleware(clock, max_upstream_retry_attempts=0)
    asked: list[Route] = []

    with anyio.CancelScope() as scope:

        async def call(route: Route) -> str:
            asked.append(route)
            scope.cancel()
            raise Answer(503)

        await take(engine.step(A), call)

    assert scope.cancelled_caught
    assert asked == [A]


async def test_the_callers_deadline_ends_a_request_and_is_no_fault_of_the_route() -> None:
    """LiteLLM #41223: a caller's timeout of 0.1 s cooled the route for everybody."""
    engine = Sidestep(FallbackConfig(fallback_models_by_model=TWO_WAY))
    step = engine.step(A, deadline=30)

    async def hang(_route: Route) -> str:
        pass_time(31)
        await anyio.sleep_forever()
        return ""

    with anyio.fail_after(60), pytest.raises(TimeoutError, match="the step's deadline has passed"):
        await take(step, hang)

    assert engine.degraded.snapshot() == {}
    assert [a.failure and a.failure.kind for a in step.attempts] == ["cancelled"]


@each_form
async def test_the_callers_deadline_ends_a_wait(clock: VirtualClock) -> None:
    agent = Agent({A: [error := Answer(503)]})
    engine = middleware(clock)

    with pytest.raises(TimeoutError, match="503") as caught:
        await take(engine.step(A, deadline=3.0), agent.call)

    assert clock.slept == [2.0, 1.0]
    assert caught.value.__cause__ is error
    assert engine.degraded.snapshot() == {}


async def test_the_callers_deadline_ends_the_check_before_a_swap() -> None:
    agent = Agent({A: [error := Answer(401)]})
    engine = Sidestep(FallbackConfig(fallback_models_by_model=TWO_WAY, fallback_on_errors=(401,)))

    async def hang() -> str | None:
        pass_time(31)
        await anyio.sleep_forever()
        return None

    with anyio.fail_after(60), pytest.raises(TimeoutError, match="the step's deadline") as caught:
        await take(engine.step(A, deadline=30, check_move=hang), agent.call)

    assert caught.value.__cause__ is error
    assert agent.asked == [A]


async def test_a_tool_that_ran_ends_the_step_and_is_named(clock: VirtualClock) -> None:
    engine = middleware(clock)
    step = engine.step(A)

    async def call() -> None:
        async for attempt in step:
            async with attempt:
                attempt.tool_started("write_file")
                raise Answer(503)

    with pytest.raises(FallbackUnsafe, match="the tool 'write_file' had run; ") as caught:
        await call()

    assert "spent" not in str(caught.value)
    assert caught.value.tool == "write_file"
    assert len(step.attempts) == 1
    assert engine.degraded.snapshot() == {A: 60.0}


async def test_what_a_failed_attempt_showed_is_retracted_before_the_next_begins(
    clock: VirtualClock,
) -> None:
    events: list[Event] = []
    engine = middleware(clock, max_upstream_retry_attempts=1)
    engine.on_event = events.append

    async for attempt in engine.step(A):
        async with attempt:
            attempt.emitted()
            if attempt.route == A:
                raise Answer(503)

    names = [type(event).__name__ for event in events]
    assert names == [
        "StepStarted",
        "AttemptStarted", "AttemptFailed", "PartsRetracted", "Waiting",
        "AttemptStarted", "AttemptFailed", "PartsRetracted", "RouteDegraded", "Swapped",
        "AttemptStarted", "StepEnded",
    ]  # fmt: skip


@each_form
async def test_an_attempt_that_showed_nothing_has_nothing_retracted(clock: VirtualClock) -> None:
    events: list[Event] = []
    engine = middleware(clock)
    agent = Agent({A: [Answer(503), "hello"]})

    await take(engine.step(A, on_event=events.append), agent.call)

    assert not [event for event in events if isinstance(event, sidestep.PartsRetracted)]


@pytest.mark.parametrize("has_shown", [True, False], ids=["output shown", "nothing shown"])
async def test_a_host_that_cannot_take_text_back_decides_itself(
    clock: VirtualClock, *, has_shown: bool
) -> None:
    events: list[Event] = []
    engine = middleware(clock, on_partial="interrupt", max_upstream_retry_attempts=0)
    engine.on_event = events.append

    async def call() -> None:
        async for attempt in engine.step(A):
            async with attempt:
                if has_shown:
                    attempt.emitted("The answer is")
                if attempt.route == A:
                    raise Answer(503)

    if not has_shown:
        await call()
        return
    with pytest.raises(StreamInterrupted) as caught:
        await call()

    assert caught.value.emitted == "The answer is"
    assert engine.degraded.snapshot() == {A: 60.0}
    assert not [event for event in events if isinstance(event, sidestep.PartsRetracted)]


async def test_a_late_word_of_an_old_attempt_changes_nothing(clock: VirtualClock) -> None:
    events: list[Event] = []
    engine = middleware(clock, max_upstream_retry_attempts=1)
    old: sidestep.Attempt | None = None

    async for attempt in engine.step(A, on_event=events.append):
        async with attempt:
            if old is None:
                old = attempt
                raise Answer(503)
            old.emitted("late")
            old.tool_started("late")

    assert not [event for event in events if isinstance(event, sidestep.PartsRetracted)]


@each_form
async def test_the_events_of_a_step_tell_its_story_in_order(clock: VirtualClock) -> None:
    events: list[Event] = []
    engine = middleware(clock, max_upstream_retry_attempts=0)
    engine.degraded.degrade(A, cooldown=60)
    clock.now += 60

    await take(engine.step(A, on_event=events.append), Agent({A: [Answer(503)], B: ["hello"]}).call)

    failure = next(e.failure for e in events if isinstance(e, sidestep.AttemptFailed))
    assert events == [
        sidestep.StepStarted(1, A, A),
        sidestep.AttemptStarted(1, 1, A),
        sidestep.ProbeStarted(1, 1, A),
        sidestep.AttemptFailed(1, 1, A, failure, 0.0),
        sidestep.ProbeEnded(1, 1, A, "degraded"),
        sidestep.RouteDegraded(1, A, 60.0, failure),
        sidestep.Swapped(1, A, B, failure, 1, 2),
        sidestep.AttemptStarted(1, 2, B),
        sidestep.StepEnded(1, A, B, 2, 1, None),
    ]


@each_form
async def test_a_listener_that_raises_is_logged_and_ends_no_turn(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_event: Event) -> None:
        raise ZeroDivisionError

    step = middleware(clock).step(A, on_event=broken)

    assert await take(step, Agent({A: ["hello"]}).call) == "hello"
    assert "`on_event` raised on StepStarted" in caplog.text


async def test_a_changed_configuration_holds_from_the_next_step_on(clock: VirtualClock) -> None:
    environment = {
        "SIDESTEP_FALLBACK_CONFIG": '{"fallbackModelsByModel": {"openrouter/x": "anthropic/x"}, '
        '"maxUpstreamRetryAttempts": 0}'
    }
    engine = Sidestep.from_env(environment, clock=clock)
    agent = Agent({A: [Answer(503)], B: ["hello"]})
    running = engine.step(A)
    async for attempt in running:
        async with attempt:
            environment.clear()
            await agent.call(attempt.route)

    with pytest.raises(Answer):
        await take(engine.step(A), agent.call)

    assert running.route == B
    assert agent.asked[:2] == [A, B]


@pytest.mark.parametrize("route", ["gpt-5", "", "/x", "x/", "a b/c", None, 5])
async def test_a_route_without_provider_or_model_is_refused(route: Any) -> None:
    with pytest.raises(ValueError, match='a route is written "provider/model", got'):
        Sidestep().step(route)


@pytest.mark.parametrize(
    ("deadline", "told"),
    [
        pytest.param(0, "0", id="none"),
        pytest.param(-1.0, r"-1\.0", id="negative"),
        pytest.param(float("nan"), "nan", id="not a number"),
        pytest.param(10**400, r"a number above 1\.8e\+308", id="beyond any float"),
        pytest.param("5", "'5'", id="text"),
        pytest.param(True, "True", id="a boolean"),
    ],
)
async def test_a_deadline_is_a_number_above_0(deadline: Any, told: str) -> None:
    says = f"^`deadline` must be a number of seconds above 0, got {told}$"
    with pytest.raises(ValueError, match=says):
        Sidestep().step(A, deadline=deadline)


async def test_a_step_within_an_attempt_does_not_multiply_its_attempts(
    clock: VirtualClock,
) -> None:
    agent = Agent({A: [Answer(503)], B: [Answer(503)]})
    engine = middleware(clock, max_upstream_retry_attempts=0)

    with pytest.raises(FallbackExhausted):
        await take(engine.step(A), lambda _route: take(engine.step(A), agent.call))

    assert agent.asked == [A, B, A]


async def test_an_attempt_that_is_not_entered_is_a_mistake_that_is_named() -> None:
    with pytest.raises(RuntimeError, match="async with attempt"):
        async for _attempt in Sidestep().step(A):
            pass


async def test_an_attempt_is_entered_once() -> None:
    async for attempt in Sidestep().step(A):
        async with attempt:
            pass
        with pytest.raises(RuntimeError, match="entered once"):
            await attempt.__aenter__()


@each_form
async def test_a_step_that_has_ended_is_not_iterated_again(clock: VirtualClock) -> None:
    """An agent that takes the step out of its loop would run its tools again for a stale reply."""
    step = middleware(clock).step(A)
    await take(step, Agent({A: ["hello"]}).call)

    with pytest.raises(RuntimeError, match="this step has ended: take a new one"):
        await take(step, Agent({A: ["hello"]}).call)


@each_form
async def test_a_route_that_left_the_map_is_not_asked_again(clock: VirtualClock) -> None:
    """Its model was deleted: a stale candidate must neither be asked nor weigh on the others."""

    def siblings(*routes: Route) -> dict[str, str]:
        config = {"fallbackModelsByModel": {A: routes}, "maxUpstreamRetryAttempts": 0}
        return {"SIDESTEP_FALLBACK_CONFIG": json.dumps(config)}

    environment = siblings(B, C)
    engine = Sidestep.from_env(environment, clock=clock)
    agent = Agent({A: [Answer(503)], B: [Answer(404)], C: ["hello"]})
    with pytest.raises(FallbackExhausted):
        await take(engine.step(A), agent.call)
    agent.asked.clear()

    environment.update(siblings(C))
    await take(engine.step(A), agent.call)
    await take(engine.step(A), agent.call)

    assert agent.asked == [A, C, C]
    assert list(engine.degraded.snapshot()) == [A]


async def test_a_step_can_be_run_as_one_expression(clock: VirtualClock) -> None:
    agent = Agent({A: [Answer(503)], B: ["hello"]})
    step = middleware(clock, max_upstream_retry_attempts=0).step(A)

    assert await step.run(lambda attempt: agent.call(attempt.route)) == "hello"
    assert step.route == B


# What an agent's own code must not be able to break.


class Wordless(Exception):
    """An exception that cannot tell itself."""

    def __str__(self) -> str:
        raise ZeroDivisionError


@each_form
async def test_an_exception_that_cannot_tell_itself_ends_a_step_as_any_other(
    clock: VirtualClock,
) -> None:
    events: list[Event] = []
    step = middleware(clock).step(A, on_event=events.append)

    with pytest.raises(Wordless):
        await take(step, Agent({A: [Wordless()]}).call)

    assert isinstance(events[-1], sidestep.StepEnded)
    assert events[-1].error == "Wordless"


@each_form
async def test_an_instant_without_a_time_zone_is_taken_as_utc(clock: VirtualClock) -> None:
    later = datetime.now(UTC).replace(tzinfo=None) + timedelta(seconds=600)
    failure = Failure(kind=FailureKind.QUOTA, message="", status=402, reset_at=later)
    engine = Sidestep(
        FallbackConfig(fallback_models_by_model=TWO_WAY), clock=clock, classify=lambda _: failure
    )

    with pytest.raises(FallbackExhausted):
        await take(engine.step(A), Agent({A: [Answer(1)], B: [Answer(1)]}).call)

    assert all(540 < seconds <= 600 for seconds in engine.degraded.snapshot().values())


@each_form
async def test_a_failure_that_is_named_twice_is_one_of_each_route(clock: VirtualClock) -> None:
    busy = Failure(kind=FailureKind.QUOTA, message="", status=402)
    engine = Sidestep(
        FallbackConfig(fallback_models_by_model={A: (B,)}), clock=clock, classify=lambda _: busy
    )
    step = engine.step(A)

    with pytest.raises(FallbackExhausted):
        await take(step, Agent({A: [Answer(1)], B: [Answer(1)]}).call)

    assert [attempt.failure and attempt.failure.route for attempt in step.attempts] == [A, B]
    assert busy.route is None


class Cancelled(Exception):
    """What an SDK may make of a cancellation."""


async def sdk_call(_: object) -> str:
    pass_time(31)
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        raise Cancelled from None
    return "never"


async def test_an_error_that_an_sdk_makes_of_the_deadline_is_no_fault_of_the_route() -> None:
    engine = Sidestep(FallbackConfig(fallback_models_by_model=TWO_WAY))
    step = engine.step(A, deadline=30)

    with pytest.raises(TimeoutError, match="deadline") as caught:
        await take(step, sdk_call)

    assert isinstance(caught.value.__cause__, Cancelled)
    assert [attempt.route for attempt in step.attempts] == [A]
    assert engine.degraded.snapshot() == {}


async def test_an_error_that_an_sdk_makes_of_a_cancellation_is_no_fault_of_the_route() -> None:
    engine = Sidestep(FallbackConfig(fallback_models_by_model=TWO_WAY), classify=as_overloaded)
    step = engine.step(A)

    with anyio.move_on_after(30) as scope:
        await take(step, sdk_call)

    assert scope.cancelled_caught
    assert [attempt.route for attempt in step.attempts] == [A]
    assert engine.degraded.snapshot() == {}


def as_overloaded(_: Exception) -> FailureKind:
    return FailureKind.OVERLOADED


async def test_a_probe_that_its_step_leaves_open_is_given_back(clock: VirtualClock) -> None:
    engine = middleware(clock, max_upstream_retry_attempts=0)
    engine.degraded.degrade(A, cooldown=60)
    clock.now += 60

    async def check_move() -> None:
        raise KeyError("the store")

    step = engine.step(A, check_move=check_move)
    with pytest.raises(KeyError):
        await take(step, Agent({A: [Answer(503)]}).call)
    clock.now += 60

    assert engine.degraded.is_available(A)
    assert step.attempts, "the agent keeps it"


async def test_providers_of_a_configuration_that_switches_itself_off_are_still_known() -> None:
    config = {
        "fallbackModelsByModel": {A: B},
        "maxFallbackAttempts": 0,
        "providers": {"anthropic": {"baseUrl": "http://proxy.internal"}},
    }
    engine = Sidestep.from_env({"SIDESTEP_FALLBACK_CONFIG": json.dumps(config)})

    assert engine.config is None
    assert engine.providers["anthropic"].base_url == "http://proxy.internal"


async def test_a_step_never_mixes_two_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread takes over a new configuration while this one finds the siblings."""
    old = {"fallbackModelsByModel": {A: B}, "fallbackOnErrors": [503], "maxWaitSeconds": 5}
    new = {"fallbackModelsByModel": {A: C}, "fallbackOnErrors": [429], "maxWaitSeconds": 50}
    environ = {"SIDESTEP_FALLBACK_CONFIG": json.dumps(old)}
    engine = Sidestep.from_env(environ)
    find_options = Plan.options_for

    def slowly(plan: Plan, asked: str, needs: Needs | None = None, **pinned: Any) -> RouteOptions:
        environ["SIDESTEP_FALLBACK_CONFIG"] = json.dumps(new)
        assert engine.config is not None
        return find_options(plan, asked, needs, **pinned)

    monkeypatch.setattr(Plan, "options_for", slowly)
    torn, whole = engine.step(A), engine.step(A)

    assert torn.walk.swap_target().route == B
    assert (torn.limits.statuses, torn.limits.max_wait) == ({503}, 5)
    assert torn.active.config is not None
    assert torn.active.config.fallback_models_by_model == {A: (B,)}
    assert whole.walk.swap_target().route == C
    assert (whole.limits.statuses, whole.limits.max_wait) == ({429}, 50)


async def test_a_call_that_is_not_asynchronous_is_named() -> None:
    def call(_attempt: sidestep.Attempt) -> int:
        return 1

    with pytest.raises(TypeError, match="`call` must be asynchronous, but it returned int"):
        await Sidestep().step(A).run(call)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "has_note"),
    [
        pytest.param(sidestep.ConfigError("one client for each loop"), False, id="ours"),
        pytest.param(RuntimeError("a bug"), True, id="the agent's own"),
    ],
)
async def test_a_note_lists_the_attempts_unless_the_error_is_ours(
    error: Exception, has_note: bool
) -> None:
    async def call(_attempt: sidestep.Attempt) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await Sidestep().step(A).run(call)

    assert bool(getattr(caught.value, "__notes__", [])) is has_note


@each_form
async def test_a_known_reset_beyond_the_longest_cooldown_is_told(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    events: list[Event] = []
    agent = Agent({A: [Answer(429, retry_after="18000")], B: ["hello"]})
    engine = middleware(clock)
    before = datetime.now(UTC)
    await take(engine.step(A, on_event=events.append), agent.call)

    (degraded,) = [each for each in events if isinstance(each, RouteDegraded)]
    outage = engine.degraded.outage_of(A)
    assert degraded.reset_at is not None
    assert timedelta(0) <= degraded.reset_at - before - timedelta(hours=5) < timedelta(minutes=1)
    assert (degraded.seconds, to_json(degraded)["reset_at"]) == (
        3600.0,
        degraded.reset_at.isoformat(),
    )
    assert (outage and outage.resets_in) == 18000.0
    until = degraded.reset_at.isoformat(timespec="seconds")
    assert f"degraded until={until} route={A} reason=rate_limit probe_in=3600s" in caplog.text


@each_form
async def test_a_reset_within_a_cooldown_is_no_later_instant_to_tell(clock: VirtualClock) -> None:
    events: list[Event] = []
    agent = Agent({A: [Answer(429, retry_after="1800")], B: ["hello"]})
    await take(middleware(clock).step(A, on_event=events.append), agent.call)

    assert [
        (each.seconds, each.reset_at) for each in events if isinstance(each, RouteDegraded)
    ] == [(1800.0, None)]
