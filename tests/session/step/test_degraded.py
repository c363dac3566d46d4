"""Cooldowns, probes, and the walk to a healthy route."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence

import pytest

from sidestep import DegradedRoutes, Route
from sidestep.session.plan.sibling_map import reachable

from ...virtual import VirtualClock

A, B, C, D = (Route(f"p/{name}") for name in "abcd")
TWO_WAY = {A: (B,), B: (A,)}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def health(clock: VirtualClock) -> DegradedRoutes:
    return DegradedRoutes(timer=clock.time)


@pytest.mark.parametrize(
    ("waited", "is_degraded"),
    [
        pytest.param(0.0, True, id="at once"),
        pytest.param(29.999, True, id="just before the end"),
        pytest.param(30.0, False, id="at the end"),
        pytest.param(86400.0, False, id="a day later"),
    ],
)
def test_a_route_is_degraded_until_its_cooldown_ends(
    health: DegradedRoutes, clock: VirtualClock, waited: float, *, is_degraded: bool
) -> None:
    health.degrade(A, cooldown=30.0)

    clock.now += waited

    assert health.is_degraded(A) is is_degraded
    assert not health.is_degraded(B)


@pytest.mark.parametrize(
    ("reports", "left"),
    [
        pytest.param([{"cooldown": 60}], 60.0, id="the cooldown"),
        pytest.param([{"cooldown": 60, "at_least": 90}], 90.0, id="a longer hint"),
        pytest.param([{"cooldown": 60, "at_least": 5}], 60.0, id="a shorter hint"),
        pytest.param([{"cooldown": 60, "at_least": 9e9}], 3600.0, id="an absurd hint"),
        pytest.param([{"cooldown": 60, "max_cooldown": 10}], 10.0, id="a cap below the cooldown"),
        pytest.param(
            [{"cooldown": 60, "at_least": 90}, {"cooldown": 60}], 90.0, id="never earlier"
        ),
        pytest.param([{"cooldown": 0, "at_least": 7}], 7.0, id="only the hint"),
        pytest.param([{"cooldown": 0}], 0.0, id="no cooldown"),
    ],
)
def test_a_cooldown_lasts_until_the_latest_of_its_reasons(
    health: DegradedRoutes, reports: list[dict[str, float]], left: float
) -> None:
    """LiteLLM #40130: a headerless 429 must not shorten the wait of an earlier one."""
    for report in reports:
        health.degrade(A, **report)

    assert health.seconds_left(A) == left
    assert health.snapshot() == ({A: left} if left else {})


@pytest.mark.parametrize("cooldown", [-1.0, float("nan"), float("inf")])
def test_a_cooldown_without_sense_is_refused(health: DegradedRoutes, cooldown: float) -> None:
    with pytest.raises(ValueError, match="`cooldown` must be a finite number"):
        health.degrade(A, cooldown=cooldown)


def test_consecutive_cooldowns_grow_up_to_the_cap_until_an_answer(
    health: DegradedRoutes, clock: VirtualClock
) -> None:
    lengths = []
    for _ in range(4):
        lengths.append(health.degrade(A, cooldown=60, growth=3.0, max_cooldown=1000.0))
        clock.now += lengths[-1]
    health.recover(A)
    lengths.append(health.degrade(A, cooldown=60, growth=3.0, max_cooldown=1000.0))

    assert lengths == [60.0, 180.0, 540.0, 1000.0, 60.0]


def test_failures_of_one_outage_count_as_one_cooldown(
    health: DegradedRoutes, clock: VirtualClock
) -> None:
    """Fifty sub-agents that fail together must not grow the cooldown fifty times."""
    for _ in range(50):
        health.degrade(A, cooldown=60, growth=2.0)
    clock.now += 60

    assert health.degrade(A, cooldown=60, growth=2.0) == 120.0


@pytest.mark.parametrize(
    ("siblings", "degraded", "start"),
    [
        pytest.param({}, [A], A, id="no sibling"),
        pytest.param({A: (B,)}, [], A, id="nothing degraded"),
        pytest.param({A: (B,)}, [B], A, id="only the sibling degraded"),
        pytest.param({A: (B,)}, [A], B, id="one hop"),
        pytest.param({A: (B, C)}, [A, B], C, id="the next of a list"),
        pytest.param({A: (B,), B: (C,), C: (D,)}, [A, B, C], D, id="a chain"),
        pytest.param({A: (B, C), B: (D,)}, [A, B], C, id="nearer siblings first"),
        pytest.param(TWO_WAY, [A, B], A, id="a cycle with everything degraded"),
        pytest.param({A: (B,), B: (C,), C: (B,)}, [A, B, C], A, id="a cycle further on"),
        pytest.param({A: (A, B)}, [A], B, id="a route mapped to itself"),
    ],
)
def test_a_step_starts_on_the_nearest_healthy_route(
    health: DegradedRoutes,
    siblings: Mapping[Route, Sequence[Route]],
    degraded: list[Route],
    start: Route,
) -> None:
    for route in degraded:
        health.degrade(route, cooldown=60)

    assert health.healthy(A, siblings) == start


def test_a_step_never_starts_on_a_route_that_the_agent_does_not_serve(
    health: DegradedRoutes,
) -> None:
    health.degrade(A, cooldown=60)

    assert (
        health.healthy(A, {A: (B, C)}, unfit=lambda route: None if route == C else "not served")
        == C
    )


@pytest.mark.parametrize(
    ("degraded", "tried", "candidate", "is_available", "skipped"),
    [
        pytest.param([], {A}, B, True, [], id="the first sibling"),
        pytest.param([B], {A}, C, True, [(B, "degraded")], id="the first is degraded"),
        pytest.param([], {A, B}, C, True, [(B, "tried")], id="the first was tried"),
        pytest.param([C], {A, B}, B, True, [], id="only tried ones are healthy"),
        pytest.param([B, C], {A}, B, False, [], id="bounce to the first although degraded"),
    ],
)
def test_the_sibling_that_a_swap_takes(
    health: DegradedRoutes,
    degraded: list[Route],
    tried: set[Route],
    candidate: Route,
    *,
    is_available: bool,
    skipped: list[tuple[Route, str]],
) -> None:
    for route in degraded:
        health.degrade(route, cooldown=60)

    found = health.candidate(A, {A: (B, C)}, tried=tried)

    assert (found.route, found.is_available) == (candidate, is_available)
    assert list(found.skipped) == skipped


def test_a_swap_finds_the_healthy_sibling_of_a_degraded_sibling(health: DegradedRoutes) -> None:
    health.degrade(B, cooldown=60)

    assert health.candidate(A, {A: (B,), B: (C,)}, tried={A}).route == C


def test_a_swap_has_nowhere_to_go_without_siblings(health: DegradedRoutes) -> None:
    assert health.candidate(A, {}).route is None
    assert health.candidate(A, {A: (B,)}, unfit=lambda _route: "not served").skipped == (
        (B, "not served"),
    )


def test_after_a_cooldown_one_attempt_probes_and_the_others_stay_away(
    health: DegradedRoutes, clock: VirtualClock
) -> None:
    health.degrade(A, cooldown=60)
    assert health.probe(A) is None
    clock.now += 60

    probe = health.probe(A)

    assert probe is not None
    assert health.probe(A) is None
    assert health.healthy(A, TWO_WAY) == B


@pytest.mark.parametrize(
    ("verdict", "start", "may_probe"),
    [
        pytest.param("recover", A, False, id="it answered"),
        pytest.param("degrade", B, False, id="it failed again"),
        pytest.param("release", A, True, id="neither"),
        pytest.param("drop", A, True, id="the attempt was dropped without a word"),
    ],
)
def test_a_probe_ends_in_every_case(
    health: DegradedRoutes, clock: VirtualClock, verdict: str, start: Route, *, may_probe: bool
) -> None:
    """LiteLLM PR 39701: a cancelled probe left its route half open for ever."""
    health.degrade(A, cooldown=60)
    clock.now += 60
    probe = health.probe(A)
    assert probe is not None

    match verdict:
        case "recover":
            health.recover(A)
        case "degrade":
            health.degrade(A, cooldown=60)
        case "release":
            health.release(A, probe)
    del probe
    gc.collect()

    assert health.healthy(A, TWO_WAY) == start
    assert (health.probe(A) is not None) is may_probe


def test_a_late_probe_does_not_end_a_newer_one(health: DegradedRoutes, clock: VirtualClock) -> None:
    health.degrade(A, cooldown=60)
    clock.now += 60
    old = health.probe(A)
    assert old is not None
    health.degrade(A, cooldown=60)
    clock.now += 60
    new = health.probe(A)
    assert new is not None

    health.release(A, old)

    assert health.probe(A) is None


def test_a_route_nobody_asked_for_is_forgotten_in_the_end(
    health: DegradedRoutes, clock: VirtualClock
) -> None:
    health.degrade(A, cooldown=60)

    clock.now += 60 + 3600

    assert health.probe(A) is None
    assert health.healthy(A, TWO_WAY) == A


def test_clearing_forgets_every_route(health: DegradedRoutes) -> None:
    health.degrade(A, cooldown=60)
    health.degrade(B, cooldown=60)

    health.clear()

    assert health.snapshot() == {}
    assert health.healthy(A, TWO_WAY) == A


def test_a_map_of_ten_thousand_routes_forgets_none(health: DegradedRoutes) -> None:
    """cachetools drops live entries without a word at its maxsize."""
    for number in range(10_000):
        health.degrade(Route(f"p/{number}"), cooldown=60)

    assert len(health.snapshot()) == 10_000


def test_the_walk_meets_no_route_twice() -> None:
    siblings = {A: (B, C), B: (A, C, D), C: (A, B), D: (A,)}

    assert list(reachable(A, siblings)) == [B, C, D]


FROM_ORIGIN = [
    pytest.param({A: (B, C)}, {A, B}, [], C, True, id="the next of the list"),
    pytest.param({A: (B, C), B: (D,)}, {A, B}, [], D, True, id="its own sibling first"),
    pytest.param({A: (B, C), B: (A,)}, {A, B}, [A], C, True, id="before the way back"),
    pytest.param({A: (B, C), B: (A,)}, {A, B}, [A, C], A, False, id="degraded: the way back"),
    pytest.param({A: (B, C)}, {A, B}, [A, C], None, False, id="degraded, and no way back"),
    pytest.param({A: (B, C)}, {A, B, C}, [], None, False, id="tried, and no way back"),
]


@pytest.mark.parametrize(("siblings", "tried", "degraded", "route", "is_available"), FROM_ORIGIN)
def test_where_a_sibling_leads_nowhere_the_next_of_the_requested_route_is_taken(
    health: DegradedRoutes,
    siblings: dict[Route, tuple[Route, ...]],
    tried: set[Route],
    degraded: list[Route],
    route: Route | None,
    is_available: bool,
) -> None:
    for each in degraded:
        health.degrade(each, cooldown=60)

    found = health.candidate(B, siblings, origin=A, tried=tried)

    assert (found.route, found.is_available) == (route, is_available)
