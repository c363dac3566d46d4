"""Report what happens in a step, as events and in the log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from ...provider.log import logger
from ..callback import is_own_error, refuse_awaitable
from ..event import (
    AttemptFailed,
    AttemptStarted,
    CandidateSkipped,
    KeyChanged,
    PartsRetracted,
    PatienceStarted,
    PatienceWaiting,
    ProbeEnded,
    ProbeStarted,
    Repaired,
    RouteDegraded,
    StepEnded,
    StepStarted,
    Swapped,
    Waiting,
    log_listener_error,
)
from ..observation import FirstOutput, Observers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...provider.failure import Failure
    from ...provider.route import Route
    from ..event import AttemptCost, Event, Listener, UnavailableRoute
    from ..plan.keyed_route import KeyedRoute
    from .base_attempt import BaseAttempt
    from .base_step import BaseStep
    from .cold_cache import ColdCache
    from .step_state import Repair, Retry


Verdict = Literal["healthy", "degraded", "none"]


class StepReporter:
    """Report the events of one step to its listeners, and to the log.

    Attributes:
        has_listeners: False: nobody listens, so no event needs to be built.
        interrupt: The exception with which a listener wants to end the program, such as
            `KeyboardInterrupt`. It is raised once the step has handled what it reports. None: there
            is none.
    """

    __slots__ = ("_listeners", "_number", "has_listeners", "interrupt")

    def __init__(self, number: int, *listeners: Listener | Observers | None) -> None:
        self._number = number
        self._listeners: Sequence[Callable[[Event], object]] = [
            listener for listener in listeners if listener is not None
        ]
        self.has_listeners = bool(self._listeners)
        self.interrupt: BaseException | None = None

    def raise_interrupt(self) -> None:
        """Raise `interrupt`, once."""
        if self.interrupt is not None:
            interrupt, self.interrupt = self.interrupt, None
            raise interrupt

    def step_started(
        self, requested: Route, route: Route, reason: str | None, cold: ColdCache
    ) -> None:
        """Report that the step starts on *route*; *reason*: why it passes *requested* over."""
        self._emit(StepStarted(self._number, requested, route, reason, *cold))

    def step_ended(self, step: BaseStep, error: str | None) -> None:
        """Report that the step ended with *error*; None: with an answer."""
        counts = len(step.attempts), step.rounds.swaps + step.swaps
        self._emit(StepEnded(self._number, step.requested, step.route, *counts, error))

    def attempt_started(self, attempt: BaseAttempt, *, is_probe: bool) -> None:
        """Report that a request is about to be sent."""
        key = attempt.key
        self._emit(AttemptStarted(self._number, attempt.number, key.route, key.api_key_env))
        if is_probe:
            self._emit(ProbeStarted(self._number, attempt.number, key.route))

    def first_output(self, attempt: BaseAttempt) -> None:
        """Report to the observers that the attempt has shown its first output."""
        for listener in self._listeners:
            if isinstance(listener, Observers):
                listener(FirstOutput(self._number, attempt.number, attempt.route))

    def attempt_failed(self, attempt: BaseAttempt, failure: Failure) -> None:
        """Report that a request failed."""
        if self.has_listeners:
            self._emit(
                AttemptFailed(
                    self._number,
                    attempt.number,
                    attempt.route,
                    failure,
                    attempt.seconds,
                    attempt.key.api_key_env,
                )
            )

    def retracted(self, attempt: BaseAttempt) -> None:
        """Report that the output of the attempt is void."""
        self._emit(PartsRetracted(self._number, attempt.number, attempt.route))

    def probe_ended(self, attempt: BaseAttempt, verdict: Verdict) -> None:
        """Report what a probe found out."""
        self._emit(ProbeEnded(self._number, attempt.number, attempt.route, verdict))

    def skipped(self, route: Route, why: str) -> None:
        """Report that a route was passed over, and why."""
        self._emit(CandidateSkipped(self._number, route, why))

    def retrying(self, step: BaseStep, key: KeyedRoute, retry: Retry, failure: Failure) -> None:
        """Report that the same route is asked again after a wait."""
        logger.info(
            "retrying route=%s reason=%s status=%s wait=%.1fs retry=%d/%d",
            _named(key), failure.kind, failure.status, retry.wait, step.retries, retry.allowed,
        )  # fmt: skip
        number = len(step.attempts) + 1
        self._emit(Waiting(self._number, number, key.route, retry.wait, failure))

    def key_changed(self, key: KeyedRoute, next_key_env: str, failure: Failure) -> None:
        """Report that the same route is asked at once with another key than that of *key*."""
        logger.info(
            "changed key route=%s to=%s reason=%s status=%s",
            _named(key), next_key_env, failure.kind, failure.status,
        )  # fmt: skip
        present = key.api_key_env or ""
        self._emit(KeyChanged(self._number, key.route, present, next_key_env, failure))

    def patience_started(
        self, step: BaseStep, failure: Failure, routes: tuple[UnavailableRoute, ...],
        seconds: float, patience: float,
    ) -> None:  # fmt: skip
        """Report that the step waits until the first of *routes* is back."""
        logger.warning(
            "[model-fallback] waiting for the first route to come back wait=%.0fs patience=%.0fs "
            "routes=%s",
            seconds, patience, ", ".join(f"{each.route} ({each.reason})" for each in routes),
        )  # fmt: skip
        number = len(step.attempts) + 1
        self._emit(PatienceStarted(self._number, number, seconds, patience, routes, failure))

    def patience_waiting(self, step: BaseStep, seconds: float) -> None:
        """Report that the first route is due back in *seconds*."""
        logger.info("still waiting for the first route to come back wait=%.0fs", seconds)
        self._emit(PatienceWaiting(self._number, len(step.attempts) + 1, seconds))

    def repaired(self, step: BaseStep, route: Route, repair: Repair, failure: Failure) -> None:
        """Report that the same route is asked again at once, with a changed request."""
        logger.info(
            "repaired route=%s reason=%s status=%s change=%r",
            route, failure.kind, failure.status, repair.what,
        )  # fmt: skip
        number = len(step.attempts) + 1
        self._emit(Repaired(self._number, number, route, repair.what, failure))

    def swapped(
        self, step: BaseStep, from_route: Route, route: Route, failure: Failure, cold: ColdCache
    ) -> None:
        """Report that the step continues on another route."""
        swaps, max_swaps = step.swaps, step.limits.max_swaps
        logger.warning(
            "[model-fallback] switched model from=%s to=%s reason=%s status=%s swaps=%d/%d",
            from_route, route, failure.kind, failure.status, swaps, max_swaps,
        )  # fmt: skip
        self._emit(Swapped(self._number, from_route, route, failure, swaps, max_swaps, *cold))

    def degraded(
        self, key: KeyedRoute, seconds: float, failure: Failure, *, resets_in: float | None
    ) -> None:
        """Report that *key*, or its route, is degraded for *seconds*.

        Args:
            resets_in: Seconds until a known reset that is later; None: there is none.
        """
        reset_at = None if resets_in is None else _instant(resets_in)
        if reset_at is None:
            logger.info("degraded route=%s reason=%s for=%.0fs", _named(key), failure.kind, seconds)
        else:
            logger.info(
                "degraded until=%s route=%s reason=%s probe_in=%.0fs",
                reset_at.isoformat(timespec="seconds"), _named(key), failure.kind, seconds,
            )  # fmt: skip
        scope, name = failure.effective_scope, key.api_key_env
        self._emit(RouteDegraded(self._number, key.route, seconds, failure, scope, name, reset_at))

    def attempt_cost(self, cost: AttemptCost) -> None:
        """Report what an attempt cost, before the attempt ends."""
        if self.has_listeners:
            self._emit(cost)

    def _emit(self, event: Event) -> None:
        for listener in self._listeners:
            try:  # `notify`, without a call more for each event
                if (returned := listener(event)) is not None:
                    refuse_awaitable("on_event", returned)
            except BaseException as exc:  # noqa: BLE001 - `raise_interrupt` raises what is not logged
                if is_own_error(exc):
                    log_listener_error(event)
                elif self.interrupt is None:
                    self.interrupt = exc


NOBODY = (None, None, None, None)
SILENT = StepReporter(0)
"""Shared by all steps with `NOBODY` to report to: nearly every step of an agent's own loop."""


def _named(key: KeyedRoute) -> str:
    """Return the route, with the variable of its key if the provider has several."""
    return key.route if key.api_key_env is None else f"{key.route} key={key.api_key_env}"


def _instant(seconds: float) -> datetime | None:
    """Return the instant *seconds* from now; None: no calendar has it."""
    try:
        return datetime.now(UTC) + timedelta(seconds=seconds)
    except OverflowError:
        return None
