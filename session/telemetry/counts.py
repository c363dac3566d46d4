"""What a `Sidestep` has done so far, in numbers that only grow."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

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
from ..observation import Observation, TurnStarted
from ..step.observable import Observable

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

_turn: ContextVar[list[bool] | None] = ContextVar("sidestep_counted_turn", default=None)
"""Whether a step of the turn that runs has swapped; None: no turn runs."""


class Counts:
    """An observer that counts, for a collector that asks now and then.

    Threads may share it.

    Args:
        most_routes: How many routes are counted by name; every further one is counted as `OTHER`.
    """

    def __init__(self, clock: Clock, *, most_routes: int) -> None:
        self._clock = clock
        self._most_routes = most_routes
        self._lock = threading.RLock()  # the garbage collector may end a step in this thread
        self._routes: set[str] = set()
        self._costs: dict[int, AttemptCost] = {}
        self._outages: dict[Key, list[float]] = {}
        self._patient_since: dict[int, float] = {}
        self._values: dict[str, dict[Key, float]] = {name: {} for name in FAMILIES}
        self._handlers: dict[type, Callable[[Any], None]] = {
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
        _COUNTS.add(self)

    def __call__(self, observation: Observation) -> None:
        """Count *observation*, if it is of a kind that is counted."""
        handle = self._handlers.get(type(observation))
        if handle is not None:
            with self._lock:
                handle(observation)

    def values(self) -> dict[str, dict[Key, float]]:
        """Return the values of each metric, by its labels."""
        with self._lock:
            now = self._clock.time()
            found = {name: dict(family) for name, family in self._values.items()}
            found["degraded_seconds"] = {
                key: total - max(0.0, ends_at - now)
                for key, (total, ends_at) in self._outages.items()
            }
        return found

    def label(self, route: Route) -> str:
        """Return the name under which *route* is counted."""
        if route not in self._routes:
            if len(self._routes) >= self._most_routes:
                return OTHER
            self._routes.add(route)
        return route

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
        if (turn := _turn.get()) is not None:
            turn[0] = True

    def _waiting(self, event: Waiting) -> None:
        route = self.label(event.route)
        self._add("waits", route)
        self._add("wait_seconds", route, value=event.seconds)

    def _degraded(self, event: RouteDegraded) -> None:
        """Add the cooldown of a route, without what an earlier one has added already."""
        now = self._clock.time()
        key = self.label(event.route), event.api_key_env or ""
        outage = self._outages.setdefault(key, [0.0, now])
        ends_at = max(outage[1], now + event.seconds)
        outage[0] += ends_at - max(now, outage[1])
        outage[1] = ends_at

    def _turn_started(self, _: TurnStarted) -> None:
        _turn.set([False])

    def _turn_ended(self, event: TurnEnded) -> None:
        turn = _turn.get()
        _turn.set(None)
        if turn is None:
            return  # it began before it was counted
        self._add("turns", FAILED if event.error else ANSWERED)
        if event.error is None and turn[0]:
            self._add("turns_saved")

    def _outlive_fork(self) -> None:
        """Take a lock that nobody holds, because only the forking thread lives on in a child."""
        self._lock = threading.RLock()


_COUNTS: WeakSet[Counts] = WeakSet()
"""Every count of this process, for a child that is forked."""


def _after_fork() -> None:
    for each in list(_COUNTS):
        each._outlive_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_after_fork)


def counts_of(middleware: Observable, clock: Clock, *, most_routes: int) -> Counts:
    """Return the counts of *middleware*, which are made once and shared by all who ask."""
    for observer in () if middleware.observers is None else middleware.observers.all:
        if isinstance(observer, Counts):
            return observer
    counts = Counts(clock, most_routes=most_routes)
    middleware.observe(counts)
    return counts
