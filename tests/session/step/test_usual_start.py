"""The usual start of a step saves work, and takes the step where `find_start` would."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from sidestep import ProviderError, Route, Sidestep, StepFailed, SyncAttempt
from sidestep.provider.failure import Failure, FailureKind
from sidestep.session.event import Event
from sidestep.session.event_json import to_json
from sidestep.session.plan.needs import Needs
from sidestep.session.step.cold_cache import NO_CACHES
from sidestep.session.step.move_policy import MoveHistory

from ...virtual import VirtualClock

A, B = Route("anthropic/a"), Route("gemini/b")
FALLBACK = {"fallbackModelsByModel": {A: B}}
MAP = {"SIDESTEP_FALLBACK_CONFIG": json.dumps(FALLBACK)}
STAY = {"SIDESTEP_FALLBACK_CONFIG": json.dumps(FALLBACK | {"returnPolicy": "session"})}
PINNED = {"SIDESTEP_FALLBACK_CONFIG": json.dumps(FALLBACK | {"movePolicy": "first_call"})}
SMALL = {"gemini": {"contextWindow": 9_000, "boundary": "us"}}
FACTS = {"SIDESTEP_FALLBACK_CONFIG": json.dumps(FALLBACK | {"providers": SMALL})}
KEYS = {"SIDESTEP_PROVIDERS": '{"anthropic": {"apiKeyEnv": ["K1", "K2"]}}', "K2": "a-key"}
CHAIN = {"SIDESTEP_HINT": "anthropic:a,gemini:b"}


def events_of(
    environ: dict[str, str],
    *,
    degraded: tuple[Route, ...],
    later: float,
    is_usual: bool,
    asked: Any,
) -> list[Any]:
    """Return what a step does whose first three attempts on `A` fail, and what it leaves behind.

    Args:
        later: Seconds from the failures that degrade routes for a minute until the step.
        is_usual: False: the step starts without its usual start.
    """
    events: list[Event] = []
    clock = VirtualClock()
    engine = Sidestep.from_env(environ, clock=clock, rng=random.Random(3), on_event=events.append)
    for route in degraded:
        engine.degraded.degrade(route, cooldown=60.0)
    clock.now += later
    step = engine.step_sync(A, **asked)
    if not is_usual:
        step.options = replace(step.options, usual_start=None)
    down = ProviderError(Failure(kind=FailureKind.SERVER_ERROR, message="no", status=503))

    def call(attempt: SyncAttempt) -> Route:
        if attempt.route == A and attempt.number <= 3:
            raise down
        return attempt.route

    try:
        end: object = step.run(call)
    except (ProviderError, StepFailed) as error:
        end = str(error)
    left = end, step.skipped, step.limits, engine.degraded.snapshot()
    return [*left, *map(to_json, events)]


@pytest.mark.parametrize("later", [0.0, 61.0], ids=["at once", "due for a probe"])
@pytest.mark.parametrize(
    "degraded",
    [
        pytest.param((), id="all is well"),
        pytest.param((A,), id="the route is degraded"),
        pytest.param((B,), id="the sibling is"),
        pytest.param((A, B), id="both are"),
    ],
)
@pytest.mark.parametrize(
    ("environ", "asked"),
    [
        pytest.param({}, {}, id="no configuration"),
        pytest.param(MAP, {}, id="a map"),
        pytest.param(MAP, {"serves": lambda route: route == B}, id="what the agent serves"),
        pytest.param(STAY, {"history": MoveHistory(route=B)}, id="a conversation that stays"),
        pytest.param(STAY, {"history": MoveHistory(route=A)}, id="a conversation that was here"),
        pytest.param(
            PINNED, {"history": MoveHistory(route=A, holds_calls=True)}, id="pinned to the route"
        ),
        pytest.param(
            PINNED, {"history": MoveHistory(route=B, holds_calls=True)}, id="pinned to the sibling"
        ),
        pytest.param(
            MAP,
            {"history": MoveHistory(route=B), "needs": Needs(tokens=10_000)},
            id="no prompt cache",
        ),
        pytest.param(MAP, {"needs": Needs(boundary="eu")}, id="a boundary"),
        pytest.param(FACTS, {}, id="facts"),
        pytest.param(FACTS, {"needs": Needs(tokens=10_000)}, id="too long for the sibling"),
        pytest.param(MAP | KEYS, {}, id="the second of two keys"),
        pytest.param(MAP | KEYS | {"K1": "one-key"}, {}, id="two keys"),
        pytest.param(
            MAP | KEYS | {"K1": "one-key"},
            {"history": MoveHistory(route=A, api_key_env="K2")},
            id="a conversation that keeps its key",
        ),
        pytest.param(CHAIN, {}, id="a route of a chain"),
    ],
)
def test_a_step_goes_the_same_way_with_its_usual_start_and_without(
    environ: dict[str, str], asked: dict[str, Any], degraded: tuple[Route, ...], later: float
) -> None:
    usual, looked_up = (
        events_of(environ, degraded=degraded, later=later, is_usual=is_usual, asked=asked)
        for is_usual in (True, False)
    )

    assert usual == looked_up


@pytest.mark.parametrize(
    ("environ", "asked", "is_usual"),
    [
        pytest.param({}, A, True, id="no configuration"),
        pytest.param(MAP, A, True, id="a map"),
        pytest.param(MAP, B, True, id="a route that the map only goes to"),
        pytest.param(FACTS, A, True, id="facts"),
        pytest.param(MAP | KEYS, A, True, id="several keys"),
        pytest.param(CHAIN, "hint", False, id="a chain"),
    ],
)
def test_a_route_that_only_its_health_decides_about_has_a_usual_start(
    environ: dict[str, str], asked: str, is_usual: bool
) -> None:
    options = Sidestep.from_env(environ).active.options_for(asked)

    assert (options.usual_start is not None) is is_usual


def test_a_step_that_answers_at_once_makes_no_walk() -> None:
    step = Sidestep.from_env(MAP).step_sync(A)

    assert step.run(lambda attempt: attempt.route) == A
    assert step._walk is None
    assert step.skipped == {}


def test_a_conversation_stays_also_if_nothing_is_known_of_its_prompt_caches() -> None:
    step = Sidestep.from_env(STAY).step_sync(A, history=MoveHistory(route=B))
    step.caches = NO_CACHES

    assert step.run(lambda attempt: attempt.route) == B


@pytest.mark.parametrize(
    ("needs", "unfit"),
    [
        pytest.param(None, set(), id="no needs"),
        pytest.param(Needs(tokens=10**9), set(), id="no facts tell that it is too long"),
        pytest.param(Needs(boundary="eu"), {A, B}, id="a boundary that neither is known to keep"),
    ],
)
def test_without_facts_only_a_boundary_keeps_a_step_from_a_route(
    needs: Needs | None, unfit: set[Route]
) -> None:
    active = Sidestep.from_env(MAP).active
    active.options_for(A)  # from here on it is cached

    assert set(active.options_for(A, needs).unfit) == unfit
