"""Cooldowns, probes, and the walk to a healthy route."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from sidestep import DegradedRoutes, FailureKind, Route
from sidestep.provider.failure import Scope
from sidestep.session.plan.keyed_route import ClientKey, HealthUnit, KeyedRoute, KeyRing
from sidestep.session.plan.sibling_map import reachable
from sidestep.session.step.cooldown import Outage

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
    health: DegradedRoutes, reports: list[dict[str, Any]], left: float
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
    """cachetools drops live units without a word at its maxsize."""
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


def test_a_known_reset_beyond_the_longest_cooldown_is_remembered_and_the_route_probed_meanwhile(
    health: DegradedRoutes, clock: VirtualClock
) -> None:
    health.degrade(A, cooldown=60, at_least=4 * 3600.0, kind=FailureKind.QUOTA)
    first = health.outage_of(A)
    clock.now += 3600
    probe = health.probe(A)
    health.degrade(A, cooldown=60, kind=FailureKind.SERVER_ERROR)
    clock.now += 600

    assert first == Outage(
        why="degraded", seconds=3600.0, kind=FailureKind.QUOTA, resets_in=4 * 3600.0
    )
    assert probe is not None
    assert health.outage_of(A) == Outage(
        why="degraded", seconds=3000.0, kind=FailureKind.SERVER_ERROR, resets_in=3 * 3600.0 - 600
    )


def test_a_known_reset_is_forgotten_with_an_answer_and_when_it_is_over(
    health: DegradedRoutes, clock: VirtualClock
) -> None:
    for route in (A, B):
        health.degrade(route, cooldown=60, at_least=2 * 3600.0)
    clock.now += 3600
    health.recover(A)
    clock.now += 3600
    after = [health.degrade(route, cooldown=60) for route in (A, B)]

    assert after == [60.0, 60.0]
    assert health.outage_of(B) == Outage(why="degraded", seconds=60.0, kind=None)


def test_the_map_remembers_a_reset_for_longer_than_a_cooldown_is_remembered(
    health: DegradedRoutes, clock: VirtualClock
) -> None:
    health.degrade(A, cooldown=60, at_least=5 * 86400.0)
    clock.now += 86400
    health.probe(A)
    health.degrade(A, cooldown=60)

    assert health.seconds_left(A) == 3600.0


@pytest.mark.parametrize(
    ("reports", "at", "outage"),
    [
        pytest.param([], 0.0, None, id="healthy"),
        pytest.param(
            [(A, 60.0, FailureKind.SERVER_ERROR)],
            20.0,
            Outage(why="degraded", seconds=40.0, kind=FailureKind.SERVER_ERROR),
            id="the route",
        ),
        pytest.param([(A, 60.0, FailureKind.SERVER_ERROR)], 60.0, None, id="due for a probe"),
        pytest.param([(B, 60.0, FailureKind.SERVER_ERROR)], 0.0, None, id="another route"),
        pytest.param(
            [(("p", None), 60.0, FailureKind.QUOTA)],
            0.0,
            Outage(why="out of quota", seconds=60.0, kind=FailureKind.QUOTA),
            id="the key of the provider",
        ),
        pytest.param(
            [(("p", None), 60.0, FailureKind.AUTH), (A, 90.0, FailureKind.OVERLOADED)],
            0.0,
            Outage(why="key refused", seconds=90.0, kind=FailureKind.OVERLOADED),
            id="the key and the route, the later of which counts",
        ),
        pytest.param([(("q", None), 60.0, FailureKind.QUOTA)], 0.0, None, id="another provider"),
    ],
)
def test_the_outage_of_a_route_says_when_it_is_due_back_and_why(
    health: DegradedRoutes,
    clock: VirtualClock,
    reports: list[tuple[HealthUnit, float, FailureKind]],
    at: float,
    outage: Outage | None,
) -> None:
    for unit, cooldown, kind in reports:
        health.degrade(unit, cooldown=cooldown, kind=kind)
    clock.now += at

    assert health.outage_of(A) == outage


def test_a_route_that_is_probed_is_due_at_any_moment(
    health: DegradedRoutes, clock: VirtualClock
) -> None:
    health.degrade(A, cooldown=60, kind=FailureKind.TIMEOUT)
    clock.now += 60
    probe = health.probe(A)

    assert probe is not None
    assert health.outage_of(A) == Outage(why="probed", seconds=0.0, kind=FailureKind.TIMEOUT)


SEVERAL = KeyRing({"p": ("K1", "K2", "K3")}, {"K1": "one", "K2": "two", "K3": ""})
KEY_1, KEY_2, KEY_3 = SEVERAL.of(A)


@pytest.mark.parametrize(
    ("reports", "why", "left", "due"),
    [
        pytest.param([(KEY_1, Scope.KEY)], None, 0.0, None, id="one key out"),
        pytest.param(
            [(KEY_1, Scope.KEY), (KEY_2, Scope.KEY)], "out of quota", 60.0, "K1", id="each key out"
        ),
        pytest.param(
            [(KEY_1, Scope.KEY), (KEY_2, Scope.KEY_ON_ROUTE)], "degraded", 60.0, "K1",
            id="one out, one limited",
        ),
        pytest.param([(KEY_1, Scope.ROUTE)], "degraded", 60.0, "K1", id="the route itself"),
    ],
)  # fmt: skip
def test_a_route_is_degraded_while_none_of_its_keys_that_are_set_can_be_used(
    health: DegradedRoutes,
    reports: list[tuple[KeyedRoute, Scope]],
    why: str | None,
    left: float,
    due: str | None,
) -> None:
    health.keys = SEVERAL
    for key, scope in reports:
        health.degrade(key.health_unit(scope), cooldown=60, kind=FailureKind.QUOTA)
    outage = health.outage_of(A)

    assert health.why_unavailable(A) == why
    assert health.seconds_left(A) == left
    assert health.is_available(A) is (why is None)
    assert health.snapshot() == ({A: 60.0} if why else {})
    assert (outage and outage.api_key_env) == due


def test_a_key_that_is_out_takes_every_route_of_its_provider_along(
    health: DegradedRoutes,
) -> None:
    (key,) = health.keys.of(A)
    health.degrade(key.health_unit(Scope.KEY), cooldown=60, kind=FailureKind.QUOTA)

    assert health.why_unavailable(B) == "out of quota"
    assert health.is_available(Route("elsewhere/a"))


def test_an_answer_disproves_the_failures_of_its_own_key_and_route_only(
    health: DegradedRoutes,
) -> None:
    health.keys = SEVERAL
    for key in (KEY_1, KEY_2):
        health.degrade(key.health_unit(Scope.KEY_ON_ROUTE), cooldown=60)
    health.degrade(A, cooldown=60)
    health.recover(KEY_2)

    assert health.is_degraded(KEY_1)
    assert not health.is_degraded(KEY_2)
    assert not health.is_degraded(A)


def test_one_attempt_probes_its_route_and_its_key_at_once_and_gives_both_back(
    health: DegradedRoutes, clock: VirtualClock
) -> None:
    health.keys = SEVERAL
    for unit in KEY_1.health_units:
        health.degrade(unit, cooldown=60)
    clock.now += 60
    probe = health.probe(KEY_1)
    elsewhere = SEVERAL.of(B)[0]
    reasons = [health.why_unavailable(key) for key in (KEY_1, KEY_2, elsewhere)]
    assert probe is not None
    health.release(KEY_1, probe)

    assert reasons == ["probed"] * 3
    assert health.is_available(elsewhere)
    assert health.is_available(KEY_1)


@pytest.mark.parametrize(
    ("planned", "left"),
    [
        pytest.param((), {"p/8", "p/9"}, id="all are alike"),
        pytest.param((A,), {A, "p/9"}, id="the first is planned"),
        pytest.param((A, B), {B, "p/9"}, id="as many as there is room for"),
        pytest.param((A, B, C), {C, "p/9"}, id="more than there is room for"),
        pytest.param(("p/7",), {"p/7", "p/9"}, id="a later one is"),
    ],
)
def test_what_the_configuration_names_is_not_pushed_out(
    clock: VirtualClock, planned: Sequence[Route], left: set[str]
) -> None:
    health = DegradedRoutes(timer=clock.time, max_routes=2)
    health.keys = KeyRing(planned=planned)
    for route in (A, B, C, *(Route(f"p/{number}") for number in range(10))):
        health.degrade(route, cooldown=60)

    assert set(health.snapshot()) == left


def test_a_route_that_failed_again_pushes_nothing_out(clock: VirtualClock) -> None:
    health = DegradedRoutes(timer=clock.time, max_routes=2)
    health.keys = KeyRing(planned=(A,))
    for route in (A, B, A, B, A):
        health.degrade(route, cooldown=60)

    assert set(health.snapshot()) == {A, B}


@pytest.mark.parametrize("unit", ["p", ("p", None), ("p", "KEY"), A, (A, "KEY")])
def test_a_clients_key_is_not_planned_whatever_the_route(unit: Any) -> None:
    name = unit if isinstance(unit, str) else unit[0]
    ring = KeyRing(planned=("p", A))

    assert ring.is_planned(unit)
    assert not ring.is_planned((name, ClientKey("hash")))
    assert not ring.is_planned(f"other-{name}")  # type: ignore[arg-type]
