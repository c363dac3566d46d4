"""Whatever fails, and in whatever order: what always holds of an engine holds.

Each seed is one world. Each invariant has an engine that breaks it, which some world must show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from sidestep import (
    AttemptFailed,
    AttemptStarted,
    FailureKind,
    PatienceStarted,
    PatienceWaiting,
    ProbeEnded,
    ProbeStarted,
    Route,
    RouteDegraded,
    StepEnded,
    StepStarted,
    Waiting,
)
from sidestep.provider.log import logger
from sidestep.session.deadline import Deadline
from sidestep.session.skip_reason import STAYS
from sidestep.session.step import cooldown, patience, recovery
from sidestep.session.step import start as step_start
from sidestep.session.step.base_step import BaseStep
from sidestep.session.step.decision import decide, passes_with_time
from sidestep.session.step.degraded import DegradedRoutes
from sidestep.session.step.reporter import StepReporter
from sidestep.session.step.step_state import Retry, Stop
from sidestep.session.step.wake_up import WakeUps

from .random_world import Story, World, failures_of

NEUTRAL = {
    FailureKind.BAD_REQUEST, FailureKind.CANCELLED, FailureKind.CONTENT_FILTER,
    FailureKind.CONTEXT_OVERFLOW, FailureKind.HISTORY_REJECTED, FailureKind.REFUSAL,
    FailureKind.REQUEST_TOO_LARGE, FailureKind.TOOL_CALL_MALFORMED,
}  # fmt: skip
A_BIT = 1e-6
WORLDS = 150

Invariant = Callable[[World], None]


def rounds_of(story: Story) -> list[list[AttemptStarted]]:
    """Return the attempts of each round: from the start, or from the end of a patience wait."""
    rounds: list[list[AttemptStarted]] = [[]]
    for _, event in story.events:
        if isinstance(event, PatienceStarted):
            rounds.append([])
        elif isinstance(event, AttemptStarted):
            rounds[-1].append(event)
    return rounds


def waits_of(story: Story) -> Iterator[tuple[float, float]]:
    """Return when each patience wait began and ended."""
    began: float | None = None
    for at, event in story.events:
        if isinstance(event, PatienceStarted):
            began = at
        elif began is not None and isinstance(event, AttemptStarted | StepEnded):
            yield began, at
            began = None


def attempts_of_a_round_are_bounded(world: World) -> None:
    most_keys = max(map(len, world.keys.values()))
    for story in world.stories.values():
        limits = story.limits
        most = (limits["maxUpstreamRetryAttempts"] + 1) * (limits["maxFallbackAttempts"] + 1)
        for attempts in rounds_of(story):
            assert len(attempts) <= most * most_keys


def patience_is_bounded(world: World) -> None:
    for story in world.stories.values():
        waited = math.fsum(ended - began for began, ended in waits_of(story))
        assert waited <= story.limits["patienceSeconds"] + A_BIT


def waits_before_retries_are_bounded(world: World) -> None:
    for story in world.stories.values():
        for _, event in story.events:
            if isinstance(event, Waiting):
                assert event.seconds <= story.limits["maxWaitSeconds"] + A_BIT


def every_step_begins_and_ends_once(world: World) -> None:
    for story in world.stories.values():
        starts = [event for _, event in story.events if isinstance(event, StepStarted)]
        assert len(starts) == bool(story.events)
        ends = [event for _, event in story.events if isinstance(event, StepEnded)]
        assert len(ends) == bool(story.events)
        assert not story.events or isinstance(story.events[-1][1], StepEnded)


def every_probe_ends(world: World) -> None:
    for story in world.stories.values():
        started = [e.attempt for _, e in story.events if isinstance(e, ProbeStarted)]
        ended = [e.attempt for _, e in story.events if isinstance(e, ProbeEnded)]
        assert started == ended


def no_right_is_left(world: World) -> None:
    degraded = world.middleware.degraded
    assert not degraded.wake_ups._wakers
    assert not list(degraded._retried)
    world.clock.now += 1e6
    assert all(degraded.is_available(route) for route in world.routes)


def a_route_is_probed_once_at_a_time(world: World) -> None:
    """But after a failure of another attempt there, which ends the probe."""
    open_: set[tuple[Route, str | None]] = set()
    keys: dict[tuple[int, int], str | None] = {}
    for event in world.events:
        if isinstance(event, AttemptStarted):
            keys[event.step, event.attempt] = event.api_key_env
        if isinstance(event, AttemptFailed):
            open_ = {probed for probed in open_ if probed[0] != event.route}
        if isinstance(event, ProbeStarted | ProbeEnded):
            probed = event.route, keys[event.step, event.attempt]
            if isinstance(event, ProbeStarted):
                assert probed not in open_
                open_.add(probed)
            else:
                open_.discard(probed)


def what_is_neutral_degrades_nothing(world: World) -> None:
    for story in world.stories.values():
        for _, event in story.events:
            if isinstance(event, RouteDegraded):
                assert event.failure.kind not in NEUTRAL
                assert event.failure.kind is not FailureKind.UNKNOWN or event.failure.status


def no_cooldown_is_shortened(world: World) -> None:
    """But by a success that began after the failure, or by a changed configuration."""
    ends: dict[Route, tuple[float, float]] = {}  # with the time of the last failure
    failed_at: dict[Route, float] = {}
    last = 0.0
    for at, now_ends in world.samples:
        if any(last <= change <= at for change in world.changes):
            ends.clear()
        for route, (end, since) in list(ends.items()):
            excused = any(
                answered == route and began >= since - A_BIT and last - A_BIT <= done <= at + A_BIT
                for answered, began, done in world.successes
            )
            if at < end - A_BIT and not excused:
                assert now_ends.get(route, 0.0) >= end - A_BIT
        for route, end in now_ends.items():
            if end > ends.get(route, (0.0, 0.0))[0] + A_BIT:
                failed_at[route] = at
        ends = {route: (end, failed_at[route]) for route, end in now_ends.items()}
        last = at


def nobody_waits_for_what_does_not_pass(world: World) -> None:
    for story in world.stories.values():
        lasts: dict[tuple[Route, str | None], AttemptFailed] = {}
        for _, event in story.events:
            if isinstance(event, AttemptFailed):
                lasts[event.route, event.api_key_env] = event
            elif isinstance(event, PatienceStarted):
                assert event.routes
                for out in event.routes:
                    last = lasts.get((out.route, out.api_key_env))
                    assert last is None or passes_with_time(last.failure)


def each_minute_of_a_wait_is_reported(world: World) -> None:
    for story in world.stories.values():
        began, minutes = 0.0, 0
        for at, event in story.events:
            if isinstance(event, PatienceStarted):
                began, minutes = at, 0
            elif isinstance(event, PatienceWaiting):
                minutes += 1
                assert abs(at - began - 60.0 * minutes) < A_BIT
        for start, end in waits_of(story):
            told = [
                at for at, event in story.events
                if isinstance(event, PatienceWaiting) and start < at <= end
            ]  # fmt: skip
            assert (end - start) / 60.0 - len(told) <= 1.0 + A_BIT


def a_step_names_who_answered(world: World) -> None:
    for story in world.stories.values():
        if story.answered is not None:
            assert story.route == story.answered
            assert story.ended == "answered"


def a_conversation_stays_where_its_policy_says(world: World) -> None:
    for story in world.stories.values():
        for _, event in story.events:
            if isinstance(event, StepStarted):
                stays = story.kept is not None and story.is_kept_healthy
                assert event.route == story.kept or not stays
                assert event.reason not in STAYS or stays


def a_step_ends_at_its_deadline(world: World) -> None:
    """An attempt may run past it, because virtual time ends no call."""
    for story in world.stories.values():
        if (deadline := story.limits["deadline"]) is not None and story.events:
            assert story.events[-1][0] <= story.limits["began"] + deadline + 3.0 + A_BIT


def no_key_is_told(world: World) -> None:
    assert not any("sk-secret" in text for text in world.said)


INVARIANTS: tuple[Invariant, ...] = (
    attempts_of_a_round_are_bounded,
    patience_is_bounded,
    waits_before_retries_are_bounded,
    every_step_begins_and_ends_once,
    every_probe_ends,
    no_right_is_left,
    a_route_is_probed_once_at_a_time,
    what_is_neutral_degrades_nothing,
    no_cooldown_is_shortened,
    nobody_waits_for_what_does_not_pass,
    each_minute_of_a_wait_is_reported,
    a_step_names_who_answered,
    a_conversation_stays_where_its_policy_says,
    a_step_ends_at_its_deadline,
    no_key_is_told,
)


def _name(invariant: Invariant) -> str:
    return str(getattr(invariant, "__name__", invariant))


def played(seed: int, *, is_kind: bool = False) -> World:
    world = World(seed, is_kind=is_kind)
    anyio.run(world.play)
    return world


@pytest.mark.parametrize("seed", range(0, WORLDS, 10))
def test_what_always_holds_holds_in_every_world(seed: int) -> None:
    for each in range(seed, seed + 10):
        world = played(each)
        for invariant in INVARIANTS:
            try:
                invariant(world)
            except AssertionError as error:
                raise AssertionError(f"{_name(invariant)} is broken by seed {each}") from error


@pytest.mark.parametrize("seed", range(0, 40, 10))
def test_with_patience_enough_every_step_is_answered_if_every_failure_passes(seed: int) -> None:
    for each in range(seed, seed + 10):
        world = played(each, is_kind=True)
        assert {story.ended for story in world.stories.values()} == {"answered"}, each


def test_the_worlds_hold_what_they_are_meant_to_show() -> None:
    worlds = [played(seed) for seed in range(40)]
    stories = [story for world in worlds for story in world.stories.values()]
    kinds = {event.failure.kind for story in stories for _, event in failures_of(story)}
    events = {type(event).__name__ for story in stories for _, event in story.events}

    assert len(kinds) >= 12
    assert events >= {"PatienceStarted", "PatienceWaiting", "ProbeEnded", "Swapped", "Waiting"}
    assert any(len(rounds_of(story)) > 3 for story in stories)
    assert {story.is_kept_healthy for story in stories if story.kept} == {True, False}
    assert any(world.changes for world in worlds)
    assert {story.ended == "answered" for story in stories} == {True, False}


@contextmanager
def forgetting(_self: WakeUps, wake: Callable[[], object]) -> Iterator[None]:
    _self._wakers[object()] = wake
    yield


def swaps_without_end(failure: Any, state: Any, limits: Any) -> Any:
    return decide(failure, replace(state, swaps=0) if state.swaps % 9 else state, limits)


def longer_waits(failure: Any, state: Any, limits: Any) -> Any:
    decision = decide(failure, state, limits)
    return replace(decision, wait=61.0) if isinstance(decision, Retry) else decision


def degrades_all(failure: Any, state: Any, limits: Any) -> Any:
    decision = decide(failure, state, limits)
    return replace(decision, cooldown=5.0) if isinstance(decision, Stop) else decision


_degrade = DegradedRoutes.degrade
_succeeded = BaseStep.succeeded
_started = StepReporter.attempt_started
_left = patience.Patience._left


def shortens(self: DegradedRoutes, route: Any, **options: Any) -> float:
    is_again = route in self._cooling
    seconds = _degrade(self, route, **options)
    if is_again and route in self._cooling:
        self._cooling[route].healthy_at -= seconds - 1.0
    return seconds


def names_another(self: BaseStep, attempt: Any) -> None:
    _succeeded(self, attempt)
    self.route = Route("nobody/x")


def tells_the_key(self: StepReporter, attempt: Any, **options: Any) -> None:
    logger.warning("sk-secret-%s", attempt.route)
    _started(self, attempt, **options)


BROKEN: list[tuple[Invariant, Any, str, Any]] = [
    (attempts_of_a_round_are_bounded, recovery, "decide", swaps_without_end),
    (
        patience_is_bounded, patience.Patience, "_left", lambda self: _left(self) + 100.0
    ),
    (waits_before_retries_are_bounded, recovery, "decide", longer_waits),
    (every_step_begins_and_ends_once, StepReporter, "step_ended", lambda *_: None),
    (every_probe_ends, StepReporter, "probe_ended", lambda *_: None),
    (no_right_is_left, WakeUps, "calling", forgetting),
    (
        a_route_is_probed_once_at_a_time, cooldown.Cooling, "is_probed", lambda _self: False
    ),
    (what_is_neutral_degrades_nothing, recovery, "decide", degrades_all),
    (no_cooldown_is_shortened, DegradedRoutes, "degrade", shortens),
    (
        nobody_waits_for_what_does_not_pass, patience, "passes_with_time", lambda _failure: True
    ),
    (each_minute_of_a_wait_is_reported, patience, "_MINUTE", 50.0),
    (a_step_names_who_answered, BaseStep, "succeeded", names_another),
    (a_conversation_stays_where_its_policy_says, step_start, "kept_route", lambda *_: None),
    (
        a_step_ends_at_its_deadline, Deadline, "left", lambda _self: None
    ),
    (no_key_is_told, StepReporter, "attempt_started", tells_the_key),
]  # fmt: skip


@pytest.mark.parametrize(
    ("invariant", "owner", "name", "wrong"),
    [pytest.param(*row, id=_name(row[0])) for row in BROKEN],
)
def test_an_engine_that_breaks_an_invariant_is_found(
    invariant: Invariant, owner: Any, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, wrong)

    assert any(is_broken(invariant, seed) for seed in range(WORLDS))


def is_broken(invariant: Invariant, seed: int) -> bool:
    world = World(seed)

    async def main() -> None:
        with anyio.move_on_after(5.0):  # a wrong engine may never end
            await world.play()

    anyio.run(main)
    try:
        invariant(world)
    except AssertionError:
        return True
    return False


def test_every_invariant_has_an_engine_that_breaks_it() -> None:
    assert [row[0] for row in BROKEN] == list(INVARIANTS)
