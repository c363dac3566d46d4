"""A step that would fail waits for the first route to come back, for at most its patience."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import math
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from sidestep import (
    ContextOverflow,
    Failure,
    FailureKind,
    FallbackConfig,
    FallbackExhausted,
    FallbackUnsafe,
    MoveHistory,
    PatienceStarted,
    PatienceWaiting,
    ProviderError,
    RetryPolicy,
    Route,
    Sidestep,
    StreamInterrupted,
    SyncStep,
    UnavailableRoute,
)
from sidestep.provider.failure import Stage
from sidestep.session.event import AttemptStarted, Event, StepEnded
from sidestep.session.event_json import to_json
from sidestep.session.step.waiter import IN_LOOP, drive
from sidestep.session.step.wake_up import WakeUps

from ...virtual import CommonClock, VirtualClock, virtual_backend
from .form import each_form, run
from .test_step import Answer

A, B, C = Route("openrouter/x"), Route("anthropic/x"), Route("gemini/x")
START = 1000.0
HOUR = 3600


@dataclass
class Outage:
    """Routes that are down until an instant, and what they answer meanwhile."""

    clock: VirtualClock | CommonClock
    until: dict[Route, float]
    failure: Callable[[Route, float], Exception] = lambda _route, _left: Answer(503)

    def __post_init__(self) -> None:
        self.asked: list[tuple[Route, float]] = []

    async def call(self, attempt: Any) -> str:
        route, now = attempt.route, self.clock.now
        self.asked.append((route, now))
        left = self.until.get(route, 0.0) - now
        if left > 0:
            raise self.failure(route, left)
        return f"{route} answers"


class LoopClock:
    """The time of the event loop, which is virtual."""

    def time(self) -> float:
        return anyio.current_time()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class Bed:
    """A `Sidestep` in virtual time, with what it reported."""

    def __init__(self, *, policy: RetryPolicy | None = None, **settings: Any) -> None:
        self.clock = VirtualClock()
        self.events: list[Event] = []
        config: dict[str, Any] = {
            "fallback_models_by_model": {A: (B,), B: (A,)},
            "max_upstream_retry_attempts": 0,
            "patience_seconds": HOUR,
        } | settings
        self.middleware = Sidestep(
            FallbackConfig(**config),
            clock=self.clock,
            rng=random.Random(7),
            policy=policy or RetryPolicy(jitter=0.0),
            on_event=self.events.append,
        )

    def outage(self, *, failure: Any = None, **until: float) -> Outage:
        """Return an outage of the routes A, B and C for so many seconds from now on."""
        routes = {"a": A, "b": B, "c": C}
        ends = {routes[name]: START + seconds for name, seconds in until.items()}
        return Outage(self.clock, ends, **({} if failure is None else {"failure": failure}))

    def reported(self, *kinds: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def waited(self) -> float:
        return self.clock.now - START


def says(kind: FailureKind, **fields: Any) -> Callable[[Route, float], Exception]:
    return lambda _route, _left: ProviderError(Failure(kind=kind, message="no", **fields))


@each_form
@pytest.mark.asyncio
async def test_a_step_with_both_routes_down_is_answered_by_the_first_that_is_back() -> None:
    bed = Bed()
    outage = bed.outage(a=600.0, b=90.0)
    step = bed.middleware.step(A)

    assert await run(step, outage.call) == "anthropic/x answers"

    assert step.route == B
    assert [(str(route), at - START) for route, at in outage.asked] == [
        ("openrouter/x", 0.0), ("anthropic/x", 0.0), ("openrouter/x", 0.0),
        ("openrouter/x", 60.0), ("anthropic/x", 60.0), ("openrouter/x", 60.0),
        ("openrouter/x", 120.0), ("anthropic/x", 120.0),
    ]  # fmt: skip
    assert [attempt.waited for attempt in step.attempts] == [0, 0, 0, 60, 0, 0, 60, 0]


@each_form
@pytest.mark.asyncio
async def test_without_patience_nothing_waits() -> None:
    bed = Bed(patience_seconds=0)

    with pytest.raises(FallbackExhausted):
        await run(bed.middleware.step(A), bed.outage(a=HOUR, b=HOUR).call)

    assert bed.waited == 0
    assert bed.reported(PatienceStarted, PatienceWaiting) == []


QUOTA_RESETS = {"reset_at": datetime.now(UTC) + timedelta(minutes=30)}


KINDS = [
    pytest.param(FailureKind.RATE_LIMIT, {"status": 429}, True, id="rate limit"),
    pytest.param(
        FailureKind.RATE_LIMIT, {"status": 429, "should_retry": False}, True,
        id="rate limit, and the provider says not to retry",
    ),
    pytest.param(FailureKind.OVERLOADED, {"status": 529}, True, id="overloaded"),
    pytest.param(FailureKind.SERVER_ERROR, {"status": 503}, True, id="server error"),
    pytest.param(FailureKind.TIMEOUT, {}, True, id="timeout"),
    pytest.param(FailureKind.NETWORK, {}, True, id="network"),
    pytest.param(
        FailureKind.NETWORK, {"stage": Stage.CONNECT}, True, id="no connection"
    ),
    pytest.param(FailureKind.TRUNCATED, {}, True, id="truncated"),
    pytest.param(FailureKind.EMPTY_RESPONSE, {}, True, id="empty"),
    pytest.param(FailureKind.QUOTA, {"status": 402}, False, id="quota without a reset"),
    pytest.param(FailureKind.QUOTA, {"status": 429}, False, id="quota as 429, no reset"),
    pytest.param(
        FailureKind.QUOTA, {"status": 402, "retry_after": 900.0}, True, id="quota with a hint"
    ),
    pytest.param(
        FailureKind.QUOTA, {"status": 429} | QUOTA_RESETS, True, id="quota with a reset"
    ),
    pytest.param(FailureKind.AUTH, {"status": 401}, False, id="auth"),
    pytest.param(FailureKind.NOT_FOUND, {"status": 404}, False, id="not found"),
    pytest.param(FailureKind.TOOL_CALL_MALFORMED, {}, False, id="malformed"),
    pytest.param(FailureKind.REQUEST_TOO_LARGE, {"status": 413}, False, id="too large"),
    pytest.param(FailureKind.HISTORY_REJECTED, {"status": 400}, False, id="history"),
    pytest.param(FailureKind.BAD_REQUEST, {"status": 400}, False, id="bad request"),
    pytest.param(FailureKind.CONTEXT_OVERFLOW, {"status": 400}, False, id="overflow"),
    pytest.param(FailureKind.CONTENT_FILTER, {}, False, id="filter"),
    pytest.param(FailureKind.REFUSAL, {}, False, id="refusal"),
    pytest.param(FailureKind.CANCELLED, {}, False, id="cancelled"),
    pytest.param(FailureKind.UNKNOWN, {}, False, id="a bug of the agent"),
    pytest.param(FailureKind.UNKNOWN, {"status": 503}, True, id="unknown 503"),
    pytest.param(FailureKind.UNKNOWN, {"status": 418}, False, id="unknown 418"),
]  # fmt: skip


@each_form
@pytest.mark.parametrize(("kind", "fields", "waits"), KINDS)
@pytest.mark.parametrize("routes", ["one", "two"])
@pytest.mark.asyncio
async def test_a_step_waits_only_for_what_passes_with_time(
    kind: FailureKind, fields: dict[str, Any], *, waits: bool, routes: str
) -> None:
    """Both routes fail alike, or there is only one."""
    siblings = {A: (B,), B: (A,)} if routes == "two" else {C: (B,)}
    bed = Bed(fallback_models_by_model=siblings, fallback_on_errors=(402, 429, 503, 529, 401, 404))
    outage = bed.outage(a=30.0, b=30.0, failure=says(kind, **fields))
    step = bed.middleware.step(A)

    with suppress(Exception):  # which one is no matter here
        await run(step, outage.call)

    assert bool(bed.reported(PatienceStarted)) == (bed.waited > 0) == waits
    assert (step.attempts[-1].failure is None) == waits


def test_every_kind_of_failure_is_in_the_table() -> None:
    assert {row.values[0] for row in KINDS} == set(FailureKind)


MIXED = [
    pytest.param(Answer(503), Answer(401), False, id="the sibling's key is refused: unlisted"),
    pytest.param(Answer(503), Answer(400), False, id="the sibling refuses the request"),
    pytest.param(Answer(503), KeyError("bug"), False, id="a bug of the agent"),
    pytest.param(Answer(503), Answer(402), True, id="the sibling is out of credits for good"),
    pytest.param(Answer(402), Answer(503), True, id="the requested route is out for good"),
    pytest.param(Answer(402), Answer(402), False, id="both are out for good"),
    pytest.param(Answer(503), Answer(429, retry_after="40"), True, id="a limit beside an outage"),
    pytest.param(ConnectionRefusedError("no"), Answer(503), True, id="an unreachable route"),
]


@each_form
@pytest.mark.parametrize(("first", "second", "waits"), MIXED)
@pytest.mark.asyncio
async def test_a_step_waits_for_the_routes_that_come_back_if_it_could_move_there(
    first: Exception, second: Exception, *, waits: bool
) -> None:
    bed = Bed()
    failures = {A: first, B: second}
    outage = bed.outage(a=50.0, b=50.0, failure=lambda route, _left: failures[route])

    if waits:
        await run(bed.middleware.step(A), outage.call)
    else:
        with pytest.raises(Exception):  # noqa: B017, PT011
            await run(bed.middleware.step(A), outage.call)

    started = bed.reported(PatienceStarted)
    assert bool(started) == waits
    out_for_good = {route for route, each in failures.items() if str(each).startswith("402")}
    assert not any(out.route in out_for_good for event in started for out in event.routes)


@each_form
@pytest.mark.asyncio
async def test_the_first_event_says_until_when_for_which_routes_and_why() -> None:
    bed = Bed(cooldown_seconds=600)
    failures = {A: Answer(429, retry_after="900"), B: Answer(529)}
    outage = bed.outage(a=700.0, b=590.0, failure=lambda route, _left: failures[route])

    await run(bed.middleware.step(A), outage.call)

    (event,) = bed.reported(PatienceStarted)
    assert (event.step, event.attempt, event.seconds, event.patience) == (1, 4, 600.0, HOUR)
    assert event.routes == (
        UnavailableRoute(A, "rate_limit 429", 900.0), UnavailableRoute(B, "overloaded 529", 600.0),
    )  # fmt: skip
    assert event.failure.kind is FailureKind.RATE_LIMIT
    assert json.loads(json.dumps(to_json(event)))["routes"][1] == {
        "route": "anthropic/x", "reason": "overloaded 529", "seconds": 600.0, "api_key_env": None,
    }  # fmt: skip


@each_form
@pytest.mark.parametrize(
    ("cooldown", "left"),
    [
        pytest.param(59, [], id="less than a minute"),
        pytest.param(60, [], id="a minute"),
        pytest.param(61, [1.0], id="just more"),
        pytest.param(200, [140.0, 80.0, 20.0], id="over three minutes"),
    ],
)
@pytest.mark.asyncio
async def test_each_minute_that_a_step_still_waits_is_reported(
    cooldown: int, left: list[float]
) -> None:
    bed = Bed(cooldown_seconds=cooldown)
    at: list[float] = []

    def listen(event: Event) -> None:
        bed.events.append(event)
        if isinstance(event, PatienceWaiting):
            at.append(bed.waited)

    bed.middleware.on_event = listen

    await run(bed.middleware.step(A), bed.outage(a=cooldown, b=cooldown).call)

    assert [event.seconds for event in bed.reported(PatienceWaiting)] == left
    assert at == [60.0 * (1 + minute) for minute in range(len(left))]
    assert bed.waited == cooldown


@each_form
@pytest.mark.asyncio
async def test_the_waits_of_all_rounds_are_together_at_most_the_patience() -> None:
    bed = Bed(patience_seconds=200, cooldown_seconds=60)
    step = bed.middleware.step(A)

    with pytest.raises(FallbackExhausted, match="in the 20 s that are left of `patienceSeconds`"):
        await run(step, bed.outage(a=HOUR, b=HOUR).call)

    assert bed.waited == 180.0
    assert [event.patience for event in bed.reported(PatienceStarted)] == [200.0, 140.0, 80.0]
    assert len(step.attempts) == 4 * 3


class FewSleeps(VirtualClock):
    """A clock that a step must not ask for ever."""

    async def sleep(self, seconds: float) -> None:
        self.check()
        await super().sleep(seconds)

    def wait(self, seconds: float) -> None:
        self.check()
        super().wait(seconds)

    def check(self) -> None:
        assert len(self.slept) < 200, "the clock does not move any more"


@each_form
@pytest.mark.parametrize("start", [0.1, 99.9, 1000.0, 1000.1, 1000.3, 1e9 + 0.3])
@pytest.mark.parametrize("patience", [30.5, 33.3, 45.0, 59.7, 100.0, 130.1])
@pytest.mark.asyncio
async def test_a_wait_whose_end_nobody_knows_ends_with_the_patience(
    start: float, patience: float
) -> None:
    """Another step retries the route meanwhile. Sums of such seconds are rounded."""
    clock = FewSleeps(now=start)
    middleware = Sidestep(clock=clock, policy=RetryPolicy(retries=0, patience=patience))
    right = middleware.degraded.begin_retry(A)

    with pytest.raises(Answer, match="503"):
        await run(middleware.step(A), Outage(clock, {A: math.inf}).call)

    assert right is not None
    assert sum(clock.slept) == pytest.approx(patience)


@each_form
@pytest.mark.asyncio
async def test_retries_and_swaps_are_counted_anew_in_each_round() -> None:
    bed = Bed(max_upstream_retry_attempts=2, max_fallback_attempts=1, patience_seconds=130)
    outage = bed.outage(a=HOUR, b=HOUR)

    with pytest.raises(FallbackExhausted):
        await run(bed.middleware.step(A), outage.call)

    rounds = len(bed.reported(PatienceStarted)) + 1
    assert rounds >= 3
    assert [route for route, _ in outage.asked] == [A, A, A, B, B, B] * rounds


@each_form
@pytest.mark.parametrize(
    ("patience", "deadline", "says"),
    [
        pytest.param(59, None, "in the 59 s that are left of `patienceSeconds`", id="patience"),
        pytest.param(HOUR, 59.0, "in the 59 s until the deadline", id="deadline"),
        pytest.param(HOUR, 60.0, "in the 60 s until the deadline", id="deadline at the return"),
    ],
)
@pytest.mark.asyncio
async def test_a_step_does_not_wait_for_nothing(
    patience: int, deadline: float | None, says: str
) -> None:
    bed = Bed(patience_seconds=patience, cooldown_seconds=60)

    with pytest.raises(FallbackExhausted, match=f"no route is due back {says}"):
        await run(bed.middleware.step(A, deadline=deadline), bed.outage(a=HOUR, b=HOUR).call)

    assert bed.waited == 0
    assert bed.reported(PatienceStarted) == []


@each_form
@pytest.mark.parametrize(
    ("resets_in", "waited"),
    [
        pytest.param(3 * HOUR, 0, id="beyond the patience"),
        pytest.param(90 * 60, HOUR, id="within it; the probe after an hour is told the same again"),
    ],
)
@pytest.mark.asyncio
async def test_a_reset_beyond_the_patience_is_not_waited_for_although_a_probe_is_due(
    resets_in: int, waited: int
) -> None:
    bed = Bed(patience_seconds=2 * HOUR, max_cooldown_seconds=HOUR)
    answer = Answer(429, retry_after=str(resets_in))
    outage = bed.outage(a=9e9, b=9e9, failure=lambda _route, _left: answer)

    with pytest.raises(FallbackExhausted, match="no route is due back in the"):
        await run(bed.middleware.step(A), outage.call)

    assert bed.waited == waited


@each_form
@pytest.mark.asyncio
async def test_a_pinned_conversation_waits_for_its_own_route_only() -> None:
    bed = Bed(move_policy="first_call", cooldown_seconds=90)
    bed.middleware.degraded.degrade(B, cooldown=30)
    outage = bed.outage(a=80.0)
    history = MoveHistory(holds_calls=True, route=A)

    await run(bed.middleware.step(A, history=history), outage.call)

    assert [(route, at - START) for route, at in outage.asked] == [(A, 0.0), (A, 90.0)]
    (event,) = bed.reported(PatienceStarted)
    assert [out.route for out in event.routes] == [A]


@each_form
@pytest.mark.asyncio
async def test_a_status_that_may_not_swap_waits_for_its_own_route_only() -> None:
    bed = Bed(fallback_on_errors=(500,))
    outage = bed.outage(a=30.0)

    await run(bed.middleware.step(A), outage.call)

    assert [(route, at - START) for route, at in outage.asked] == [(A, 0.0), (A, 60.0)]


@each_form
@pytest.mark.asyncio
async def test_patience_of_the_policy_needs_no_configuration() -> None:
    clock = VirtualClock()
    middleware = Sidestep(clock=clock, policy=RetryPolicy(retries=0, jitter=0.0, patience=HOUR))
    outage = Outage(clock, {A: START + 150.0})

    await run(middleware.step(A), outage.call)

    assert [at - START for _, at in outage.asked] == [0.0, 60.0, 120.0, 180.0]


@each_form
@pytest.mark.asyncio
async def test_the_patience_of_the_policy_replaces_the_configured_one() -> None:
    bed = Bed(patience_seconds=HOUR, policy=RetryPolicy(jitter=0.0, patience=0.0))

    with pytest.raises(FallbackExhausted):
        await run(bed.middleware.step(A), bed.outage(a=90.0, b=90.0).call)

    assert bed.waited == 0


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({}, id="no configuration"),
        pytest.param({"SIDESTEP_HINT": "openrouter:x"}, id="a hint"),
        pytest.param(
            {"SIDESTEP_FALLBACK_CONFIG": json.dumps({"fallbackModelsByModel": {A: B}})},
            id="a map",
        ),
    ],
)
@pytest.mark.asyncio
async def test_the_patience_of_the_policy_is_not_named_as_a_key_that_somebody_could_raise(
    environ: dict[str, str],
) -> None:
    policy = RetryPolicy(retries=0, patience=59.0)
    environ = environ | {"OPENROUTER_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    middleware = Sidestep.from_env(environ, clock=VirtualClock(), policy=policy)

    async def call(_attempt: Any) -> None:
        raise Answer(429, retry_after="300")

    with pytest.raises(Exception, match="429") as caught:
        await middleware.step(A).run(call)

    told = "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "that are left of the step's patience" in told


@each_form
@pytest.mark.asyncio
async def test_without_cooldowns_the_rounds_are_ever_further_apart() -> None:
    bed = Bed(cooldown_seconds=0, patience_seconds=100)
    outage = bed.outage(a=HOUR, b=HOUR)

    with pytest.raises(FallbackExhausted):
        await run(bed.middleware.step(A), outage.call)

    starts = sorted({at - START for _, at in outage.asked})
    assert starts == [0.0, 2.0, 6.0, 14.0, 30.0, 60.0, 90.0]


@each_form
@pytest.mark.asyncio
async def test_a_healthy_sibling_beyond_the_swaps_is_asked_in_the_next_round() -> None:
    bed = Bed(fallback_models_by_model={A: (B, C)}, max_fallback_attempts=1)
    outage = bed.outage(a=HOUR, b=HOUR)

    assert await run(bed.middleware.step(A), outage.call) == "gemini/x answers"

    assert bed.waited == 2.0


@each_form
@pytest.mark.parametrize("how", ["unsafe", "interrupt"])
@pytest.mark.asyncio
async def test_what_must_not_happen_twice_does_not_happen_after_a_wait(how: str) -> None:
    bed = Bed(on_partial="interrupt")

    async def call(attempt: Any) -> str:
        if how == "unsafe":
            attempt.tool_started("rm")
        else:
            attempt.emitted("text")
        raise Answer(503)

    with pytest.raises(FallbackUnsafe if how == "unsafe" else StreamInterrupted):
        await run(bed.middleware.step(A), call)

    assert bed.waited == 0


@each_form
@pytest.mark.asyncio
async def test_a_conversation_that_is_too_long_for_a_sibling_is_compacted_at_once() -> None:
    bed = Bed()
    overflow = says(FailureKind.CONTEXT_OVERFLOW, status=400)
    failures = {A: Answer(503), B: overflow(B, 0.0)}

    outage = bed.outage(a=50.0, b=50.0, failure=lambda route, _left: failures[route])

    with pytest.raises(ContextOverflow):
        await run(bed.middleware.step(A), outage.call)

    assert bed.waited == 0


@each_form
@pytest.mark.asyncio
async def test_routes_are_back_at_once_after_another_step_was_answered_there() -> None:
    """A step in a loop notices at once, a synchronous one at the next minute."""
    bed = Bed(cooldown_seconds=600)
    outage = bed.outage(a=90.0, b=HOUR)

    def answer_elsewhere(event: Event) -> None:
        if isinstance(event, PatienceWaiting) and event.seconds == 480.0:
            bed.middleware.degraded.recover(A)

    bed.middleware.on_event = answer_elsewhere

    assert await run(bed.middleware.step(A), outage.call) == "openrouter/x answers"
    assert bed.waited == 120.0


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda degraded: degraded.recover(A), id="an answer"),
        pytest.param(lambda degraded: degraded.clear(), id="a cleared map"),
        pytest.param(lambda degraded: anyio.to_thread.run_sync(degraded.clear), id="a thread"),
    ],
)
def test_a_step_in_a_loop_is_woken_when_a_route_is_back(
    backend: str, change: Callable[[Any], Any]
) -> None:
    async def main() -> float:
        before = anyio.current_time()
        engine = Sidestep(
            FallbackConfig(
                fallback_models_by_model={A: (B,)}, max_upstream_retry_attempts=0,
                cooldown_seconds=HOUR, patience_seconds=2 * HOUR,
            ),
            clock=LoopClock(),
        )  # fmt: skip
        is_down = True
        started = anyio.Event()
        engine.on_event = lambda event: (
            started.set() if isinstance(event, PatienceStarted) else None
        )

        async def call(_attempt: Any) -> None:
            if is_down:
                raise Answer(503)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.step(A).run, call)
            await started.wait()
            await anyio.sleep(25.0)
            is_down = False
            returned = change(engine.degraded)
            if returned not in (True, None):
                await returned
        return anyio.current_time() - before

    name, options = virtual_backend(backend)
    assert anyio.run(main, backend=name, backend_options=options) == pytest.approx(25.0)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("after", [0.5, 59.9, 60.0, 61.0, 1800.0])
def test_a_cancellation_ends_the_wait_at_once(backend: str, after: float) -> None:
    async def main() -> None:
        events: list[Event] = []
        engine = Sidestep(
            FallbackConfig(
                fallback_models_by_model={A: (B,)}, max_upstream_retry_attempts=0,
                cooldown_seconds=HOUR, patience_seconds=2 * HOUR,
            ),
            clock=LoopClock(),
            on_event=events.append,
        )  # fmt: skip
        step = engine.step(A)

        async def call(_attempt: Any) -> None:
            raise Answer(503)

        before = anyio.current_time()
        with anyio.move_on_after(after) as scope:
            await step.run(call)
        assert scope.cancelled_caught
        assert anyio.current_time() - before == pytest.approx(after)
        assert step.is_over
        assert len(step.attempts) == 2
        assert not engine.degraded.wake_ups._wakers

    name, options = virtual_backend(backend)
    anyio.run(main, backend=name, backend_options=options)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_deadline_ends_a_wait_whose_end_nobody_knows(backend: str) -> None:
    """Another step retries the route, and its answer does not come."""

    async def main() -> None:
        engine = Sidestep(
            FallbackConfig(
                fallback_models_by_model={C: (B,)}, max_upstream_retry_attempts=0,
                cooldown_seconds=60, patience_seconds=2 * HOUR,
            ),
            clock=LoopClock(),
        )  # fmt: skip

        async def call(_attempt: Any) -> None:
            raise Answer(503)

        right = engine.degraded.begin_retry(A)
        before = anyio.current_time()
        with pytest.raises(TimeoutError, match="the step's deadline has passed"):
            await engine.step(A, deadline=300.0).run(call)
        assert anyio.current_time() - before == pytest.approx(300.0)
        assert right is not None

    name, options = virtual_backend(backend)
    anyio.run(main, backend=name, backend_options=options)


class ClockOfThreads(VirtualClock):
    """A clock that calls *act* once it has reached *at*, as another thread might."""

    def __init__(self, at: float, act: Callable[[], object]) -> None:
        super().__init__()
        self.at, self.act = at, act

    def wait(self, seconds: float) -> None:
        super().wait(seconds)
        if self.now >= self.at:
            self.act()


def test_a_step_without_an_event_loop_notices_that_another_step_was_answered() -> None:
    """Nothing wakes a thread that blocks, so that it looks again each second."""
    rights: list[Any] = []
    clock = ClockOfThreads(START + 65.0, rights.clear)
    engine = Sidestep(
        FallbackConfig(
            fallback_models_by_model={C: (B,)}, max_upstream_retry_attempts=0,
            cooldown_seconds=60, patience_seconds=2 * HOUR,
        ),
        clock=clock,
    )  # fmt: skip
    rights.append(engine.degraded.begin_retry(A))

    for attempt in engine.step_sync(A):
        with attempt:
            if rights:
                raise Answer(503)

    assert clock.now == pytest.approx(START + 65.0, abs=1.0)
    assert len(clock.slept) < 10


@pytest.mark.asyncio
async def test_of_many_steps_that_wait_one_asks_and_the_others_follow_its_answer() -> None:
    clock = CommonClock()
    middleware = Sidestep(
        FallbackConfig(
            fallback_models_by_model={A: (B,), B: (A,)}, max_upstream_retry_attempts=1,
            patience_seconds=HOUR,
        ),
        clock=clock, rng=random.Random(7),
    )  # fmt: skip
    outage = Outage(clock, {A: 300.0, B: HOUR})

    async def call(attempt: Any) -> str:
        try:
            return await outage.call(attempt)
        finally:
            await clock.sleep(0.5)

    async def talk() -> None:
        await middleware.step(A).run(call)

    await clock.play(*(talk for _ in range(20)))

    while_down = [at for _, at in outage.asked if 30.0 < at < 300.0]
    rounds, probing_steps, attempts_each = 4, 2, 6  # one step probes each route
    assert 0 < len(while_down) <= rounds * probing_steps * attempts_each
    assert len([at for route, at in outage.asked if at >= 300.0 and route == A]) == 20
    assert clock.now < 420.0


@pytest.mark.asyncio
async def test_a_configuration_that_changes_during_the_wait_ends_it() -> None:
    clock = VirtualClock()
    config = {
        "fallbackModelsByModel": {A: B}, "maxUpstreamRetryAttempts": 0, "cooldownSeconds": 600,
        "patienceSeconds": HOUR,
    }  # fmt: skip
    environ = {"SIDESTEP_FALLBACK_CONFIG": json.dumps(config)}
    middleware = Sidestep.from_env(environ, clock=clock)
    outage = Outage(clock, {A: START + 100.0, B: START + HOUR})

    def change(event: Event) -> None:
        if isinstance(event, PatienceWaiting) and clock.now == START + 120.0:
            environ["SIDESTEP_FALLBACK_CONFIG"] = json.dumps(config | {"cooldownSeconds": 30})

    await middleware.step(A, on_event=change).run(outage.call)

    assert clock.now - START == 120.0  # the step looks each minute
    assert [route for route, _ in outage.asked] == [A, B, A]


@each_form
@pytest.mark.asyncio
async def test_an_exception_of_a_listener_that_ends_the_program_ends_the_wait() -> None:
    bed = Bed(cooldown_seconds=HOUR, patience_seconds=2 * HOUR)

    def interrupt(event: Event) -> None:
        if isinstance(event, PatienceWaiting):
            raise KeyboardInterrupt

    bed.middleware.on_event = interrupt
    with pytest.raises(KeyboardInterrupt):
        await run(bed.middleware.step(A), bed.outage(a=9 * HOUR, b=9 * HOUR).call)

    assert bed.waited == 60.0


@each_form
@pytest.mark.asyncio
async def test_the_attempts_of_a_round_follow_the_event_of_the_wait() -> None:
    bed = Bed()

    await run(bed.middleware.step(A), bed.outage(a=30.0, b=30.0).call)

    names = [
        (type(event).__name__, event.attempt)
        for event in bed.reported(AttemptStarted, PatienceStarted)
    ]
    assert names == [
        ("AttemptStarted", 1), ("AttemptStarted", 2), ("AttemptStarted", 3),
        ("PatienceStarted", 4), ("AttemptStarted", 4),
    ]  # fmt: skip


@pytest.mark.parametrize("moment", range(40))
def test_a_cancellation_at_any_moment_leaves_nothing_behind(moment: int) -> None:
    """The task is cancelled after so many turns of its loop, wherever it is then."""
    bed = Bed(patience_seconds=400, cooldown_seconds=150, max_upstream_retry_attempts=1)
    outage = bed.outage(a=HOUR, b=HOUR)

    async def main() -> None:
        task = asyncio.create_task(bed.middleware.step(A).run(outage.call))
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError, FallbackExhausted):
            await task

    asyncio.run(main())

    degraded = bed.middleware.degraded
    gc.collect()
    assert not degraded.wake_ups._wakers
    assert not any(degraded.is_retried(route) for route in (A, B))
    assert {degraded.why_unavailable(route) for route in (A, B)} <= {None, "degraded"}
    ends = [type(event).__name__ for event in bed.events if isinstance(event, StepEnded)]
    assert ends == ["StepEnded"] * bool(bed.events)


@each_form
@pytest.mark.asyncio
async def test_a_loop_that_is_left_before_the_wait_does_not_wait() -> None:
    bed = Bed()
    step: Any = bed.middleware.step(A)
    call = bed.outage(a=HOUR, b=HOUR).call

    if isinstance(step, SyncStep):
        for attempt in step:
            with attempt:
                drive(call(attempt))
            if len(step.attempts) == 3:
                break
    else:
        async with contextlib.aclosing(step) as attempts:
            async for attempt in attempts:
                async with attempt:
                    await call(attempt)
                if len(step.attempts) == 3:
                    break
    del attempt
    gc.collect()

    assert bed.reported(PatienceStarted)
    assert bed.waited == 0
    assert step.is_over


class FastClock:
    """Real time, a thousand times as fast."""

    def time(self) -> float:
        return time.monotonic() * 1000

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("a thread blocks")

    def wait(self, seconds: float) -> None:
        time.sleep(seconds / 1000)


def test_threads_that_wait_for_the_same_routes_are_all_answered() -> None:
    clock = FastClock()
    middleware = Sidestep(
        FallbackConfig(
            fallback_models_by_model={A: (B,), B: (A,)}, max_upstream_retry_attempts=0,
            patience_seconds=100 * HOUR,
        ),
        clock=clock,
    )  # fmt: skip
    back_at = clock.time() + 150.0

    def call(_attempt: Any) -> str:
        if clock.time() < back_at:
            raise Answer(503)
        return "hello"

    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda _: middleware.step_sync(A).run(call), range(8)))

    assert replies == ["hello"] * 8


@each_form
@pytest.mark.parametrize(
    ("first", "second", "waits_for", "seconds"),
    [
        pytest.param(
            Answer(429, retry_after="300"), Answer(429, retry_after="100"), "KEY_2", 100.0,
            id="two limits: for the key that is back first",
        ),
        pytest.param(
            Answer(429, retry_after="90"), Answer(401), "KEY_1", 90.0, id="a limit, a refused key"
        ),
        pytest.param(
            Answer(401), Answer(429, retry_after="90"), "KEY_2", 90.0, id="a refused key, a limit"
        ),
        pytest.param(
            Answer(402), Answer(429, retry_after="90"), "KEY_2", 90.0, id="no credits, a limit"
        ),
        pytest.param(
            Answer(429, retry_after="90"), Answer(402), "KEY_1", 90.0, id="a limit, no credits"
        ),
        pytest.param(Answer(401), Answer(401), None, 0.0, id="two refused keys"),
        pytest.param(Answer(402), Answer(402), None, 0.0, id="no credits at all"),
        pytest.param(Answer(503), Answer(503), "KEY_1", 60.0, id="the route is down"),
        pytest.param(Answer(400), Answer(400), None, 0.0, id="the request is refused"),
    ],
)  # fmt: skip
@pytest.mark.asyncio
async def test_a_step_waits_for_the_first_key_that_comes_back(
    first: Exception, second: Exception, waits_for: str | None, seconds: float
) -> None:
    clock = VirtualClock()
    config = {
        "fallbackModelsByModel": {C: A}, "maxUpstreamRetryAttempts": 0, "patienceSeconds": HOUR,
        "maxWaitSeconds": 0,
        "providers": {
            "openrouter": {
                "wire": "openai-chat", "baseUrl": "http://x.test", "apiKeyEnv": ["KEY_1", "KEY_2"],
            }
        },
    }  # fmt: skip
    environ = {
        "SIDESTEP_FALLBACK_CONFIG": json.dumps(config), "KEY_1": "sk-1", "KEY_2": "sk-2",
    }  # fmt: skip
    events: list[Event] = []
    middleware = Sidestep.from_env(environ, clock=clock, on_event=events.append)

    async def call(attempt: Any) -> str:
        if clock.now > START and attempt.api_key_env == waits_for:
            return str(attempt.api_key_env)
        raise first if attempt.api_key_env == "KEY_1" else second

    answer = None
    with suppress(Answer, FallbackExhausted):
        answer = await run(middleware.step(A), call)

    assert answer == waits_for
    assert clock.now - START == seconds
    outs = [out for e in events if isinstance(e, PatienceStarted) for out in e.routes]
    assert [out.api_key_env for out in outs] == [waits_for] * (waits_for is not None)


@each_form
@pytest.mark.asyncio
async def test_the_error_after_hours_of_patience_counts_equal_failures() -> None:
    bed = Bed(patience_seconds=HOUR)
    outage = bed.outage(
        a=9 * HOUR, b=9 * HOUR,
        failure=lambda route, left: Answer(503 if route == A else 529, f"{left:.0f} s of wrath"),
    )  # fmt: skip
    step = bed.middleware.step(A)

    with pytest.raises(FallbackExhausted) as caught:
        await run(step, outage.call)

    message = str(caught.value)
    assert len(step.attempts) == len(caught.value.attempts) == 183
    assert "183 attempts failed (122 times, last 183. openrouter/x overloaded 503: " in message
    assert "; 61 times, last 182. anthropic/x overloaded 529: " in message
    assert len(message) < 500


@each_form
@pytest.mark.asyncio
async def test_a_conversation_pinned_to_a_sibling_does_not_wait_for_the_requested_route() -> None:
    bed = Bed(move_policy="first_call", fallback_models_by_model={B: (A,)})
    outage = bed.outage(a=30.0)
    history = MoveHistory(holds_calls=True, route=A)

    await run(bed.middleware.step(B, history=history), outage.call)

    assert [(route, at - START) for route, at in outage.asked] == [(A, 0.0), (A, 60.0)]


@each_form
@pytest.mark.parametrize(
    ("kind", "asked_at"),
    [
        pytest.param(FailureKind.AUTH, 60.0, id="a refused key, which another step met"),
        pytest.param(FailureKind.NOT_FOUND, 60.0, id="a model that is not there"),
        pytest.param(FailureKind.OVERLOADED, 30.0, id="an overload"),
        pytest.param(None, 30.0, id="nobody knows what"),
    ],
)
@pytest.mark.asyncio
async def test_what_keeps_an_untried_sibling_out_decides_whether_it_is_waited_for(
    kind: FailureKind | None, asked_at: float
) -> None:
    bed = Bed(fallback_models_by_model={A: (B, C)}, max_fallback_attempts=1)
    bed.middleware.degraded.degrade(C, cooldown=30, kind=kind)
    outage = bed.outage(a=30.0, b=HOUR)

    await run(bed.middleware.step(A), outage.call)

    assert [at - START for _, at in outage.asked] == [0.0, 0.0, asked_at]


@pytest.mark.asyncio
async def test_a_change_between_the_look_and_the_nap_is_not_missed() -> None:
    clock = VirtualClock()
    wake_ups = WakeUps()
    seen = wake_ups.count

    wake_ups.wake()
    await IN_LOOP.nap(clock, 60.0, wake_ups, seen=seen)
    assert clock.slept == []

    await IN_LOOP.nap(clock, 60.0, wake_ups, seen=wake_ups.count)
    assert clock.slept == [60.0]
