"""`Sidestep.status()`: what it says of each route, and what it costs to keep."""

from __future__ import annotations

import json
import threading
from itertools import count

import pytest

from sidestep import FailureKind, FallbackConfig, ProviderError, Route, Scope, Sidestep
from sidestep.provider.failure import Failure
from sidestep.session.step.status import RouteStatus, Status
from sidestep.session.step.tally import FULL, AttemptTally, redact_failure

from ...virtual import VirtualClock

A, B = Route("a/m"), Route("b/m")
MAP = FallbackConfig.model_validate(
    {"fallbackModelsByModel": {A: B}, "maxUpstreamRetryAttempts": 0, "cooldownSeconds": 60}
)
SECRET = "sk-" + "abcdefghijklmnopqrstuvwxyz"


class Down(Exception):
    """What an agent's own client raises."""

    status_code = 503


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def middleware(clock: VirtualClock) -> Sidestep:
    return Sidestep(MAP, clock=clock)


def take(
    middleware: Sidestep, *, failing: tuple[Route, ...] = (), raised: BaseException | None = None
) -> None:
    """Take a step in which the routes *failing* are down, and every other raises *raised*."""
    for attempt in middleware.step_sync(A):
        with attempt:
            if attempt.route in failing:
                raise Down("down")
            if raised is not None:
                raise raised


def of(status: Status, route: Route) -> RouteStatus:
    (found,) = [each for each in status.routes if each.route == route]
    return found


def test_before_any_step_the_routes_of_the_map_are_healthy(middleware: Sidestep) -> None:
    assert middleware.status() == Status((RouteStatus(route=A), RouteStatus(route=B)))


def test_attempts_and_their_answers_are_counted_for_each_route(middleware: Sidestep) -> None:
    take(middleware)
    take(middleware, failing=(A,))

    status = middleware.status()

    assert (of(status, A).attempts, of(status, A).successes) == (2, 1)
    assert (of(status, B).attempts, of(status, B).successes) == (1, 1)


@pytest.mark.parametrize(
    ("waited", "state", "seconds_left"),
    [
        pytest.param(0.0, "degraded", 60.0, id="at once"),
        pytest.param(59.0, "degraded", 1.0, id="in the cooldown"),
        pytest.param(60.0, "due for a probe", 0.0, id="after the cooldown"),
        pytest.param(4000.0, "healthy", 0.0, id="long after"),
    ],
)
def test_a_route_that_failed_goes_through_its_states(
    middleware: Sidestep, clock: VirtualClock, waited: float, state: str, seconds_left: float
) -> None:
    take(middleware, failing=(A,))

    clock.now += waited

    found = of(middleware.status(), A)
    assert (found.state, found.seconds_left) == (state, seconds_left)


def test_a_route_is_probed_while_an_attempt_probes_it(
    middleware: Sidestep, clock: VirtualClock
) -> None:
    take(middleware, failing=(A,))
    clock.now += 60

    for attempt in middleware.step_sync(A):
        with attempt:
            assert of(middleware.status(), A).state == "probed"

    assert of(middleware.status(), A).state == "healthy"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        pytest.param("overloaded", "overloaded", id="as it is"),
        pytest.param(f"no such key {SECRET}", "no such key [key]", id="the shape of a key"),
        pytest.param("the-house-secret is wrong", "[key] is wrong", id="the value of a variable"),
        pytest.param("x" * 500, "x" * 199 + "…", id="shortened"),
    ],
)
def test_the_last_failure_is_shown_in_a_few_words_without_keys(said: str, shown: str) -> None:
    tally = AttemptTally()
    failure = Failure(kind=FailureKind.OVERLOADED, message=said, status=503)

    tally.failed(A, failure)

    kept_failure = tally.snapshot()[A].last_failure
    assert kept_failure is not None
    last = redact_failure(kept_failure, {"HOUSE_KEY": "the-house-secret"})
    assert (last.kind, last.status, last.message) == ("overloaded", 503, shown)


def test_a_bug_of_the_agent_is_kept_without_its_message(middleware: Sidestep) -> None:
    with pytest.raises(LookupError):
        take(middleware, raised=LookupError("the whole prompt"))

    last = of(middleware.status(), A).last_failure
    assert last is not None
    assert (last.kind, last.message) == ("unknown", "LookupError")


def test_a_cancelled_attempt_counts_and_is_no_failure(middleware: Sidestep) -> None:
    with pytest.raises(KeyboardInterrupt):
        take(middleware, raised=KeyboardInterrupt())

    found = of(middleware.status(), A)
    assert (found.attempts, found.successes, found.last_failure) == (1, 0, None)


def test_the_json_is_plain_data(middleware: Sidestep) -> None:
    take(middleware, failing=(A,))

    (first, second) = json.loads(json.dumps(middleware.status().to_json()))["routes"]

    assert first == {
        "route": "a/m",
        "api_key_env": None,
        "state": "degraded",
        "seconds_left": 60.0,
        "attempts": 1,
        "successes": 0,
        "last_failure": {"kind": "overloaded", "status": 503, "message": "Down: down"},
    }
    assert second["route"] == "b/m"


def test_one_line_says_what_a_person_wants_to_know(middleware: Sidestep) -> None:
    take(middleware, failing=(A,))

    assert str(middleware.status()) == (
        "a/m degraded 60 s, 0 of 1 answered, last overloaded 503; b/m healthy, 1 of 1 answered"
    )


def test_the_counts_are_bounded() -> None:
    tally, routes = AttemptTally(most=3), [Route(f"p/{number}") for number in range(5)]
    for route in routes:
        tally.answered(route)

    assert list(tally.snapshot()) == routes[2:]


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        pytest.param("", ["p/3", "p/4", "p/5"], id="none has to be kept"),
        pytest.param("p/0 p/1", ["p/0", "p/1", "p/5"], id="two have to be"),
        pytest.param("p/0 p/1 p/2 p/3", ["p/1", "p/2", "p/3", "p/5"][1:], id="more than fit"),
    ],
)
def test_the_counts_of_what_is_planned_are_kept(kept: str, left: list[str]) -> None:
    tally = AttemptTally(most=3, is_kept=lambda place: place in kept.split())
    for number in range(6):
        tally.cancelled(Route(f"p/{number}"))

    assert list(tally.snapshot()) == left


def test_the_counts_of_a_route_that_answers_now_and_then_are_kept() -> None:
    tally = AttemptTally(most=3)
    for number in range(9):
        tally.answered(A)
        tally.fold()
        tally.cancelled(Route(f"p/{number}"))

    assert tally.snapshot()[A].successes == 9


def test_answers_do_not_pile_up_while_nobody_asks(middleware: Sidestep) -> None:
    for _ in range(2 * FULL):
        take(middleware)

    assert len(middleware.tally._answers) < FULL


def test_no_count_is_lost_between_threads(middleware: Sidestep) -> None:
    turns, is_over = count(), threading.Event()

    def work() -> None:
        while next(turns) < 400:
            take(middleware, failing=(A,))

    def ask() -> None:
        while not is_over.is_set():
            middleware.status()

    asking = threading.Thread(target=ask)
    workers = [threading.Thread(target=work) for _ in range(4)]
    asking.start()
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    is_over.set()
    asking.join()

    assert of(middleware.status(), B).successes == 400


def test_a_failure_that_was_raised_by_a_provider_is_named(middleware: Sidestep) -> None:
    refused = Failure(kind=FailureKind.AUTH, message="no", status=401)
    with pytest.raises(ProviderError):
        take(middleware, raised=ProviderError(refused))

    last = of(middleware.status(), A).last_failure
    assert last is not None
    assert (last.kind, last.status) == ("auth", 401)


def test_each_key_of_a_route_has_its_own_state(clock: VirtualClock) -> None:
    middleware = keyed(clock)

    for attempt in middleware.step_sync("house/m"):
        with attempt:
            if attempt.api_key_env == "K1":
                raise ProviderError(Failure(kind=FailureKind.RATE_LIMIT, message="no", status=429))

    first, second = (each for each in middleware.status().routes if each.route == "house/m")
    assert (first.api_key_env, first.state, first.attempts, first.successes) == (
        ("K1", "degraded", 1, 0)
    )
    assert first.last_failure is not None
    assert (second.api_key_env, second.state, second.attempts, second.successes) == (
        ("K2", "healthy", 1, 1)
    )
    assert "house/m K1 degraded 60 s, 0 of 1 answered, last rate_limit 429" in str(
        middleware.status()
    )


def test_a_key_that_is_out_is_out_on_every_route_of_its_provider(clock: VirtualClock) -> None:
    middleware = keyed(clock)
    spent = Failure(kind=FailureKind.QUOTA, message="no", status=402, scope=Scope.KEY)

    for attempt in middleware.step_sync("house/m"):
        with attempt:
            if attempt.api_key_env == "K1":
                raise ProviderError(spent)

    states = {
        (each.route, each.api_key_env): each.state
        for each in middleware.status().routes
        if each.route.provider == "house"
    }
    assert states == {
        ("house/m", "K1"): "degraded",
        ("house/m", "K2"): "healthy",
        ("house/n", "K1"): "degraded",
        ("house/n", "K2"): "healthy",
    }


def keyed(clock: VirtualClock) -> Sidestep:
    """Return a middleware whose provider ``house`` has two keys."""
    house = {"wire": "openai-chat", "baseUrl": "http://house", "apiKeyEnv": ["K1", "K2"]}
    config = {"fallbackModelsByModel": {"house/m": "house/n"}, "maxUpstreamRetryAttempts": 0}
    environ = {
        "SIDESTEP_PROVIDERS": json.dumps({"house": house}),
        "SIDESTEP_FALLBACK_CONFIG": json.dumps(config),
        "K1": "the-first-key-of-the-house",
        "K2": "the-other-key-of-the-house",
    }
    return Sidestep.from_env(environ, clock=clock)
