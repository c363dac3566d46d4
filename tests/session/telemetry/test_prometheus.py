"""What a registry of Prometheus gets."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from sidestep import (
    AttemptCost,
    Event,
    FallbackConfig,
    FallbackExhausted,
    RetryPolicy,
    Route,
    Sidestep,
)
from sidestep.prometheus import collector
from sidestep.session.step.degraded import DegradedRoutes
from sidestep.session.telemetry.counts import FAMILIES

from ...virtual import VirtualClock
from ..turn.outage import A as PRIMARY
from ..turn.outage import B as SIBLING
from ..turn.outage import Outage

A, B = Route("a/m"), Route("b/m")
MAP = FallbackConfig.model_validate(
    {"fallbackModelsByModel": {A: B}, "maxUpstreamRetryAttempts": 1, "cooldownSeconds": 60}
)


class Down(Exception):
    status_code = 503


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def middleware(clock: VirtualClock) -> Sidestep:
    return made(clock)


def made(clock: VirtualClock, **options: Any) -> Sidestep:
    return Sidestep(MAP, clock=clock, policy=RetryPolicy(jitter=0.0), **options)


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def take(middleware: Sidestep, *failing: Route, route: Route = A) -> None:
    for attempt in middleware.step_sync(route):
        with attempt:
            if attempt.route in failing:
                raise Down("down")


def values(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    """Return the values of a metric by the values of its labels, in the order of their names."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == name
    }


def test_attempts_are_counted_by_route_and_outcome(
    middleware: Sidestep, registry: CollectorRegistry
) -> None:
    registry.register(collector(middleware))

    with pytest.raises(FallbackExhausted):
        take(middleware, A, B)
    middleware.degraded.clear()
    take(middleware)
    take(middleware, A)

    assert values(registry, "sidestep_attempts_total") == {
        ("answered", A): 1,
        ("overloaded", A): 4,
        ("answered", B): 1,
        ("overloaded", B): 2,
    }
    assert values(registry, "sidestep_steps_total") == {("answered",): 2, ("failed",): 1}
    assert values(registry, "sidestep_steps_saved_total") == {(): 1}
    assert values(registry, "sidestep_swaps_total") == {(A, B): 2}


def test_waits_are_counted_with_their_seconds(
    middleware: Sidestep, registry: CollectorRegistry
) -> None:
    registry.register(collector(middleware))

    take(middleware, A)

    assert values(registry, "sidestep_waits_total") == {(A,): 1}
    assert values(registry, "sidestep_wait_seconds_total") == {(A,): 2.0}


@pytest.mark.parametrize(
    ("waited", "seconds", "left"),
    [
        pytest.param(0.0, 0.0, {(A,): 60.0}, id="at once"),
        pytest.param(20.0, 20.0, {(A,): 40.0}, id="in the cooldown"),
        pytest.param(60.0, 60.0, {}, id="at its end"),
        pytest.param(999.0, 60.0, {}, id="long after"),
    ],
)
def test_a_degraded_second_is_counted_once_it_has_passed(
    middleware: Sidestep, registry: CollectorRegistry, clock: VirtualClock,
    waited: float, seconds: float, left: dict[tuple[str, ...], float],
) -> None:  # fmt: skip
    registry.register(collector(middleware))
    take(middleware, A)

    clock.now += waited

    assert values(registry, "sidestep_degraded_seconds_total") == {("", A): seconds}
    assert values(registry, "sidestep_cooldown_seconds_left") == left


def test_a_cooldown_in_a_cooldown_counts_no_second_twice(
    middleware: Sidestep, registry: CollectorRegistry, clock: VirtualClock
) -> None:
    registry.register(collector(middleware))
    for attempt in middleware.step_sync(A):
        with attempt:
            if attempt.number == 1:
                take(middleware, A)  # another step degrades the route meanwhile
                clock.now += 30
                raise Down
    clock.now += 999

    assert values(registry, "sidestep_degraded_seconds_total") == {("", A): 90.0}


@pytest.mark.parametrize(
    ("end", "seconds"),
    [
        pytest.param(lambda _: None, 60, id="by itself"),
        pytest.param(lambda health: health.recover(B), 60, id="another route recovers"),
        pytest.param(lambda health: health.recover(A), 10, id="an answer"),
        pytest.param(lambda health: health.clear(), 10, id="all is forgotten"),
    ],
)
def test_a_cooldown_that_ends_early_counts_no_longer(
    end: Callable[[DegradedRoutes], object],
    seconds: float,
    middleware: Sidestep,
    clock: VirtualClock,
    registry: CollectorRegistry,
) -> None:
    registry.register(collector(middleware))
    take(middleware, A)
    began, shown = clock.time(), []

    clock.now = began + 10
    end(middleware.degraded)
    for now in (10, 10, 30, 90):
        clock.now = began + now
        shown.append(values(registry, "sidestep_degraded_seconds_total")[("", A)])

    assert shown[0] == shown[1] == pytest.approx(10)
    assert shown == sorted(shown)
    assert shown[-1] == pytest.approx(seconds)


def test_a_cooldown_after_one_that_ended_early_is_counted(
    middleware: Sidestep, clock: VirtualClock, registry: CollectorRegistry
) -> None:
    registry.register(collector(middleware))
    take(middleware, A)
    middleware.degraded.clear()
    assert values(registry, "sidestep_degraded_seconds_total") == {("", A): 0}

    take(middleware, A)
    clock.now += 90

    assert values(registry, "sidestep_degraded_seconds_total") == {("", A): pytest.approx(60)}


def test_a_wait_for_a_route_to_come_back_is_counted_with_its_seconds(
    clock: VirtualClock, registry: CollectorRegistry
) -> None:
    config = {"fallbackModelsByModel": {A: B}, "maxUpstreamRetryAttempts": 0, "patienceSeconds": 99}
    middleware = Sidestep(FallbackConfig.model_validate(config), clock=clock)
    registry.register(collector(middleware))

    for attempt in middleware.step_sync(A):
        with attempt:
            if attempt.number <= 2:
                raise Down

    assert values(registry, "sidestep_patience_waits_total") == {(): 1}
    assert values(registry, "sidestep_patience_wait_seconds_total") == {(): sum(clock.slept)}


def test_the_listener_of_the_agent_stays(clock: VirtualClock, registry: CollectorRegistry) -> None:
    events: list[Event] = []
    middleware = made(clock, on_event=events.append)

    registry.register(collector(middleware))
    take(middleware)

    assert len(events) == 3
    assert values(registry, "sidestep_steps_total") == {("answered",): 1}


def test_several_middlewares_are_counted_together(
    clock: VirtualClock, registry: CollectorRegistry
) -> None:
    first, second, third = made(clock), made(clock), made(clock)
    both = collector(first, second)
    registry.register(both)
    both.add(third)
    both.add(third)

    for middleware in (first, second, third):
        take(middleware)

    assert values(registry, "sidestep_steps_total") == {("answered",): 3}


def test_middlewares_of_several_places_may_register_in_one_registry(
    clock: VirtualClock, registry: CollectorRegistry
) -> None:
    first, second, elsewhere = made(clock), made(clock), made(clock)
    collector(first, registry=registry)
    collector(second, registry=registry)
    collector(elsewhere, registry=CollectorRegistry())

    for middleware in (first, second, elsewhere):
        take(middleware)

    assert values(registry, "sidestep_steps_total") == {("answered",): 2}


def test_a_collector_that_was_taken_out_is_registered_again(
    middleware: Sidestep, registry: CollectorRegistry
) -> None:
    registry.unregister(collector(middleware, registry=registry))

    for _ in range(2):
        collector(middleware, registry=registry)
    take(middleware)

    assert values(registry, "sidestep_steps_total") == {("answered",): 1}


def test_a_registry_refuses_a_second_collector(
    middleware: Sidestep, clock: VirtualClock, registry: CollectorRegistry
) -> None:
    registry.register(collector(middleware))

    with pytest.raises(ValueError, match="Duplicated"):
        registry.register(collector(made(clock)))


def test_two_registries_may_show_the_same_middleware(
    middleware: Sidestep, registry: CollectorRegistry
) -> None:
    other = CollectorRegistry()
    registry.register(collector(middleware))
    other.register(collector(middleware))

    take(middleware)

    for each in (registry, other):
        assert values(each, "sidestep_steps_total") == {("answered",): 1}


def test_a_collector_needs_a_middleware() -> None:
    with pytest.raises(TypeError, match="needs a `Sidestep`"):
        collector()


def test_further_routes_are_counted_as_others(
    middleware: Sidestep, registry: CollectorRegistry
) -> None:
    registry.register(collector(middleware, most_routes=2))

    for number in range(5):
        take(middleware, route=Route(f"p/{number}"))

    assert values(registry, "sidestep_attempts_total") == {
        ("answered", "p/0"): 1,
        ("answered", "p/1"): 1,
        ("answered", "other"): 3,
    }


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        pytest.param("m", "m", id="plain"),
        pytest.param('"}\\\x00{', '"}\\\x00{', id="quotes"),
        pytest.param("模型-é😀", "模型-é😀", id="unicode"),
        pytest.param("half \ud83d".replace(" ", "-"), "half-?", id="half an emoji"),
        pytest.param("m" * 10_000, "m" * 197 + "…", id="10 kB"),
        pytest.param("sk-ant-api03-" + "A" * 32, "[key]", id="a key"),
    ],
)
def test_any_name_of_a_model_can_be_read(
    model: str, shown: str, middleware: Sidestep, registry: CollectorRegistry
) -> None:
    registry.register(collector(middleware))

    take(middleware, route=Route(f"c/{model}"))

    text = generate_latest(registry).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    (attempts,) = families["sidestep_attempts"].samples
    assert attempts.labels == {"outcome": "answered", "route": f"c/{shown}"}


def test_what_it_shows_can_be_read(middleware: Sidestep, registry: CollectorRegistry) -> None:
    registry.register(collector(middleware))
    take(middleware, A)

    lines = generate_latest(registry).decode().splitlines()
    types = [line for line in lines if line.startswith("# TYPE")]

    assert 'sidestep_attempts_total{outcome="overloaded",route="a/m"} 2.0' in lines
    assert len(types) == len(set(types)) == len(FAMILIES) + 1


def test_no_count_is_lost_between_threads(
    middleware: Sidestep, registry: CollectorRegistry
) -> None:
    registry.register(collector(middleware))

    def work() -> None:
        for _ in range(100):
            take(middleware)
            generate_latest(registry)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()

    assert values(registry, "sidestep_steps_total") == {("answered",): 400}


@pytest.mark.asyncio
async def test_a_turn_that_a_swap_saved_is_counted_and_what_its_failures_cost(
    registry: CollectorRegistry,
) -> None:
    cut = {"text": "half an answer", "cut": True}
    async with Outage({PRIMARY: [cut, {"text": "back"}], SIBLING: {"text": "hello"}}) as outage:
        registry.register(collector(outage.middleware))
        await outage.session.turn("hi")
        outage.middleware.degraded.clear()
        await outage.session.turn("again")

    costs = [event for event in outage.events if isinstance(event, AttemptCost)]
    assert values(registry, "sidestep_turns_total") == {("answered",): 2}
    assert values(registry, "sidestep_turns_saved_total") == {(): 1}
    assert values(registry, "sidestep_failed_attempt_tokens_total") == {
        ("input", PRIMARY): costs[0].input,
        ("output", PRIMARY): costs[0].output,
    }


@pytest.mark.asyncio
async def test_the_money_of_failed_attempts_is_counted(registry: CollectorRegistry) -> None:
    cut = {"text": "half an answer", "cut": True}
    priced = {"price": lambda _route, _usage: 0.25}
    answers: dict[Any, Any] = {PRIMARY: cut, SIBLING: {"text": "hello"}}
    async with Outage(answers, session=priced) as outage:
        registry.register(collector(outage.middleware))
        await outage.session.turn("hi")

    assert values(registry, "sidestep_failed_attempt_dollars_total") == {(PRIMARY,): 0.25}


@pytest.mark.asyncio
async def test_a_swap_of_another_sidestep_in_a_tool_saves_no_turn(
    middleware: Sidestep, registry: CollectorRegistry
) -> None:
    def look() -> str:
        """Ask another model."""
        take(middleware, A)
        return "seen"

    call = {"tool_calls": [{"name": "look", "input": {}}]}
    answers: dict[Any, Any] = {PRIMARY: [call, {"text": "done"}]}
    async with Outage(answers, session={"tools": [look]}) as outage:
        registry.register(collector(outage.middleware, middleware))
        await outage.session.turn("hi")

    assert values(registry, "sidestep_steps_saved_total") == {(): 1}
    assert values(registry, "sidestep_turns_total") == {("answered",): 1}
    assert values(registry, "sidestep_turns_saved_total") == {(): 0}


@pytest.mark.asyncio
async def test_a_turn_that_fails_is_not_saved(registry: CollectorRegistry) -> None:
    async with Outage({PRIMARY: {"status": 503}, SIBLING: {"status": 503}}) as outage:
        registry.register(collector(outage.middleware))
        with pytest.raises(FallbackExhausted):
            await outage.session.turn("hi")

    assert values(registry, "sidestep_turns_total") == {("failed",): 1}
    assert values(registry, "sidestep_turns_saved_total") == {(): 0}
