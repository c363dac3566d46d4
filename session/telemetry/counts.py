"""What a `Sidestep` has done so far, in numbers that only grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from ...provider.route import Route
from ..clock import Clock
from ..event import (
    AttemptCost,
    AttemptFailed,
    AttemptStarted,
    PatienceStarted,
    RouteDegraded,
    StepEnded,
    Swapped,
    TurnEnded,
    Waiting,
)
from ..observation import LockedHandlerTable, TurnStarted
from ..step.observable import Observable
from .text import short_name

OTHER = "other"
ANSWERED, FAILED = "answered", "failed"
_MOST_PAIRS = 1_000
"""How many different pairs of routes a swap is counted for."""

FAMILIES = {
    "attempts": ("Attempts, by how they ended.", ("route", "outcome")),
    "swaps": ("Swaps of a step to another route.", ("from_route", "route")),
    "waits": ("Waits before a retry.", ("route",)),
    "wait_seconds": ("Seconds waited before retries.", ("route",)),
    "patience_waits": ("Waits of a step for the first of its routes to come back.", ()),
    "patience_wait_seconds": ("Seconds of these waits that have ended.", ()),
    "degraded_seconds": (
        "Seconds for which a route, or one of several keys, was degraded.",
        ("route", "api_key_env"),
    ),
    "failed_attempt_tokens": ("Tokens of failed attempts.", ("route", "kind")),
    "failed_attempt_dollars": ("US dollars for failed attempts.", ("route",)),
    "steps": ("Steps, by how they ended.", ("outcome",)),
    "steps_saved": ("Steps that answered after a swap at least.", ()),
    "turns": ("Turns of sessions, by how they ended.", ("outcome",)),
    "turns_saved": ("Turns that ended well after a swap at least.", ()),
}
"""Each metric, with the words that describe it and its labels. An outcome is ``answered``,
``failed``, or of an attempt the kind of its failure."""

Key = tuple[str, ...]
"""The values of the labels of a metric."""
SecondsLeft = Callable[[Route, str | None], float]

_turn: ContextVar[Turn | None] = ContextVar("sidestep_counted_turn", default=None)
"""The turn that runs, of any `Counts`; None: no turn runs."""


class Outage:
    """The cooldowns of one route or key: their seconds, and when the last one ends."""

    __slots__ = ("ends_at", "shown", "total")

    def __init__(self, now: float) -> None:
        self.total = self.shown = 0.0
        self.ends_at = now

    def extend(self, now: float, ends_at: float) -> None:
        """Add a cooldown, without what an earlier one has added already."""
        ends_at = max(self.ends_at, ends_at)
        self.total += ends_at - max(now, self.ends_at)
        self.ends_at = ends_at

    def shorten(self, expected: float, ends_at: float) -> None:
        """End at *ends_at*, unless the end is no longer *expected*."""
        if self.ends_at == expected and ends_at < expected:
            self.total -= expected - ends_at
            self.ends_at = ends_at

    def seconds_until(self, now: float) -> float:
        """Return the seconds that have passed, which never become less."""
        self.shown = max(self.shown, self.total - max(0.0, self.ends_at - now))
        return self.shown


class Turn:
    """A turn that runs.

    Attributes:
        counts: Who counts it.
        has_swapped: True if one of its steps has.
    """

    __slots__ = ("counts", "has_swapped")

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.has_swapped = False


class Counts(LockedHandlerTable):
    """An observer that counts, for a collector that asks now and then.

    Threads may share it.

    Args:
        most_routes: How many routes are counted by name; every further one is counted as `OTHER`.
        is_planned: Returns whether a route is counted by name although there are so many.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        most_routes: int,
        is_planned: Callable[[Route], bool] = lambda _route: False,
    ) -> None:
        self._clock = clock
        self._most_routes = most_routes
        self._is_planned = is_planned
        self._labels: dict[str, str] = {}
        self._costs: dict[int, AttemptCost] = {}
        self._outages: dict[tuple[str, str], Outage] = {}
        self._patient_since: dict[int, float] = {}
        self._values: dict[str, dict[Key, float]] = {name: {} for name in FAMILIES}
        handlers: dict[type, Callable[[Any], None]] = {
            StepEnded: self._step_ended,
            AttemptStarted: self._attempt_started,
            PatienceStarted: self._patience_started,
            AttemptCost: self._attempt_cost,
            AttemptFailed: self._attempt_failed,
            Swapped: self._swapped,
            Waiting: self._waiting,
            RouteDegraded: self._degraded,
            TurnStarted: self._turn_started,
            TurnEnded: self._turn_ended,
        }
        super().__init__(handlers)

    def values(self, seconds_left: SecondsLeft) -> dict[str, dict[Key, float]]:
        """Return the values of each metric, by its labels.

        Args:
            seconds_left: Returns what is left of the cooldown of a route, or of a key there.
        """
        self._end_outages(seconds_left)
        with self._lock:
            now = self._clock.time()
            found = {name: dict(family) for name, family in self._values.items()}
            found["degraded_seconds"] = {
                key: outage.seconds_until(now) for key, outage in self._outages.items()
            }
        return found

    def _end_outages(self, seconds_left: SecondsLeft) -> None:
        """Shorten the cooldowns that a success or a change of the configuration has ended early."""
        with self._lock:
            now = self._clock.time()
            expected = {key: outage.ends_at for key, outage in self._outages.items()}
        for (label, variable), ends_at in expected.items():
            if ends_at > now and label in self._labels:  # not `OTHER`, which stands for several
                may_end_at = now + seconds_left(Route(label), variable or None)
                with self._lock:
                    self._outages[label, variable].shorten(ends_at, may_end_at)

    def cooldowns(self, left: Mapping[Route, float]) -> dict[str, float]:
        """Return the longest cooldown of *left* for each name under which routes are counted."""
        found: dict[str, float] = {}
        with self._lock:
            for route, seconds in left.items():
                label = self.label(route)
                found[label] = max(seconds, found.get(label, 0.0))
        return found

    def label(self, route: Route) -> str:
        """Return the name under which *route* is counted."""
        found = self._labels.get(route)
        if found is None:
            if len(self._labels) >= self._most_routes and not self._is_planned(route):
                return OTHER
            found = self._labels[route] = short_name(route)
        return found

    def _add(self, name: str, *key: str, value: float = 1.0) -> None:
        family = self._values[name]
        family[key] = family.get(key, 0.0) + value

    def _patience_started(self, event: PatienceStarted) -> None:
        self._add("patience_waits")
        self._patient_since[event.step] = self._clock.time()

    def _attempt_started(self, event: AttemptStarted | StepEnded) -> None:
        """End the wait of the step, if it has waited for a route."""
        if self._patient_since and (since := self._patient_since.pop(event.step, None)) is not None:
            self._add("patience_wait_seconds", value=self._clock.time() - since)

    def _step_ended(self, event: StepEnded) -> None:
        self._costs.pop(event.step, None)
        self._attempt_started(event)
        if event.error is not None:
            self._add("steps", FAILED)
            return
        self._add("steps", ANSWERED)
        self._add("attempts", self.label(event.route), ANSWERED)
        if event.swaps:
            self._add("steps_saved")

    def _attempt_cost(self, event: AttemptCost) -> None:
        self._costs[event.step] = event

    def _attempt_failed(self, event: AttemptFailed) -> None:
        route = self.label(event.route)
        self._add("attempts", route, str(event.failure.kind))
        cost = self._costs.pop(event.step, None)
        if cost is not None:
            self._add("failed_attempt_tokens", route, "input", value=cost.input)
            self._add("failed_attempt_tokens", route, "output", value=cost.output)
            self._add("failed_attempt_dollars", route, value=cost.money or 0.0)

    def _swapped(self, event: Swapped) -> None:
        pair, known = (self.label(event.from_route), self.label(event.route)), self._values["swaps"]
        if pair not in known and len(known) >= _MOST_PAIRS:
            pair = OTHER, OTHER
        self._add("swaps", *pair)
        if (turn := self._turn()) is not None:
            turn.has_swapped = True

    def _waiting(self, event: Waiting) -> None:
        route = self.label(event.route)
        self._add("waits", route)
        self._add("wait_seconds", route, value=event.seconds)

    def _degraded(self, event: RouteDegraded) -> None:
        """Add the cooldown of a route, without what an earlier one has added already."""
        now = self._clock.time()
        key = self.label(event.route), event.api_key_env or ""
        self._outages.setdefault(key, Outage(now)).extend(now, now + event.seconds)

    def _turn_started(self, _: TurnStarted) -> None:
        _turn.set(Turn(self))

    def _turn_ended(self, event: TurnEnded) -> None:
        turn = self._turn()
        if turn is None:
            return  # it began before it was counted
        _turn.set(None)
        self._add("turns", FAILED if event.error else ANSWERED)
        if event.error is None and turn.has_swapped:
            self._add("turns_saved")

    def _turn(self) -> Turn | None:
        """Return the turn that runs; None: none does, or that of another `Sidestep`."""
        turn = _turn.get()
        return turn if turn is not None and turn.counts is self else None


def counts_of(middleware: Observable, clock: Clock, *, most_routes: int) -> Counts:
    """Return the counts of *middleware*, which are made once and shared by all who ask."""
    for observer in () if middleware.observers is None else middleware.observers.all:
        if isinstance(observer, Counts):
            return observer
    counts = Counts(
        clock,
        most_routes=most_routes,
        is_planned=middleware.degraded.is_planned,
    )
    middleware.observe(counts)
    return counts
