"""What happens in a step, told to its listeners and to the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Literal

from ..event import (
    AttemptFailed,
    AttemptStarted,
    CandidateSkipped,
    PartsRetracted,
    ProbeEnded,
    ProbeStarted,
    Repaired,
    RouteDegraded,
    StepEnded,
    StepStarted,
    Swapped,
    Waiting,
    notify,
)

if TYPE_CHECKING:
    from ...provider.failure import Failure
    from ...provider.route import Route
    from ..event import EngineEvent, Listener
    from .attempt import Attempt
    from .decision import Repair, Retry
    from .step import Step

_logger = logging.getLogger("sidestep")

Verdict = Literal["healthy", "degraded", "none"]


class Herald:
    """Tell of one step.

    Attributes:
        is_heard: Anybody listens; where nobody does, no event is made.
    """

    __slots__ = ("_listeners", "_number", "is_heard")

    def __init__(self, number: int, *listeners: Listener | None) -> None:
        self._number = number
        self._listeners = [listener for listener in listeners if listener is not None]
        self.is_heard = bool(self._listeners)

    def step_started(self, requested: Route, route: Route) -> None:
        """The step begins on *route*."""
        if self.is_heard:
            self._emit(StepStarted(self._number, requested, route))

    def step_ended(self, step: Step, error: str | None) -> None:
        """The step is over; *error* says what ended it, None after an answer."""
        if self.is_heard:
            counts = len(step.attempts), step.swaps
            self._emit(StepEnded(self._number, step.requested, step.route, *counts, error))

    def attempt_started(self, attempt: Attempt, *, is_probe: bool) -> None:
        """A request is about to be made."""
        if self.is_heard:
            self._emit(AttemptStarted(self._number, attempt.number, attempt.route))
            if is_probe:
                self._emit(ProbeStarted(self._number, attempt.number, attempt.route))

    def attempt_failed(self, attempt: Attempt, failure: Failure) -> None:
        """A request failed."""
        if self.is_heard:
            told = attempt.number, attempt.route, failure, attempt.seconds
            self._emit(AttemptFailed(self._number, *told))

    def retracted(self, attempt: Attempt) -> None:
        """What the attempt showed is void."""
        self._emit(PartsRetracted(self._number, attempt.number, attempt.route))

    def probe_ended(self, attempt: Attempt, verdict: Verdict) -> None:
        """A probe found out what it could."""
        self._emit(ProbeEnded(self._number, attempt.number, attempt.route, verdict))

    def skipped(self, route: Route, why: str) -> None:
        """A route was passed over."""
        self._emit(CandidateSkipped(self._number, route, why))

    def retrying(self, step: Step, route: Route, retry: Retry, failure: Failure) -> None:
        """The same route is asked again after a wait."""
        _logger.info(
            "retrying route=%s reason=%s status=%s wait=%.1fs retry=%d/%d",
            route, failure.kind, failure.status, retry.wait, step.retries, step.limits.retries,
        )  # fmt: skip
        number = len(step.attempts) + 1
        self._emit(Waiting(self._number, number, route, retry.wait, failure))

    def repaired(self, step: Step, route: Route, repair: Repair, failure: Failure) -> None:
        """The same route is asked again at once, for something else."""
        _logger.info(
            "repaired route=%s reason=%s status=%s change=%r",
            route, failure.kind, failure.status, repair.what,
        )  # fmt: skip
        number = len(step.attempts) + 1
        self._emit(Repaired(self._number, number, route, repair.what, failure))

    def swapped(self, step: Step, left: Route, route: Route, failure: Failure) -> None:
        """The step goes on at another route."""
        swaps, most = step.swaps, step.limits.swaps
        _logger.warning(
            "[model-fallback] switched model from=%s to=%s reason=%s status=%s swaps=%d/%d",
            left, route, failure.kind, failure.status, swaps, most,
        )  # fmt: skip
        self._emit(Swapped(self._number, left, route, failure, swaps, most))

    def degraded(self, route: Route, seconds: float, failure: Failure) -> None:
        """Later steps start elsewhere."""
        _logger.info("degraded route=%s reason=%s for=%.0fs", route, failure.kind, seconds)
        self._emit(RouteDegraded(self._number, route, seconds, failure))

    def _emit(self, event: EngineEvent) -> None:
        for listener in self._listeners:
            notify(listener, event)
