"""Patience: where a step would fail, wait for the first of its routes to come back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from ...provider.classify.time_text import seconds_until
from ...provider.failure import FailureKind
from ..event import UnavailableRoute
from .decision import may_change_key, passes_with_time
from .step_error import error_to_raise, routes_too_small_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...provider.failure import Failure
    from ...provider.route import Route
    from ..plan.keyed_route import KeyedRoute
    from .base_attempt import BaseAttempt
    from .base_step import BaseStep
    from .step_state import Stop

_MINUTE = 60.0
_TICK = 1e-6
"""Seconds; a shorter rest of a wait is none, because rounding may leave one that moves no clock."""
_LASTING = frozenset({FailureKind.AUTH, FailureKind.NOT_FOUND})
"""What keeps a route out until somebody fixes it. A quota may have a reset."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """What the ended rounds of a step took; a round begins at the start, or after such a wait.

    Args:
        swaps: Swaps to another route.
        waited: Seconds of patience.
    """

    count: int = 0
    swaps: int = 0
    waited: float = 0.0


NO_ROUNDS = Rounds()
"""Those of most steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Out:
    """A route, with one of its keys, for which the step waits.

    Args:
        why: The reason for people.
        due_at: When it is asked again, on the step's clock; None: the health map knows.
        resets_at: When its provider said that it is back; the map may have it probed earlier.
    """

    key: KeyedRoute
    why: str
    due_at: float | None
    resets_at: float


class Patience:
    """The wait of *step*, which follows a failed attempt in place of *stop*.

    Args:
        exc: What the attempt raised.
        tool: The tool that pins the conversation; None: no tool does.
    """

    __slots__ = ("_active", "_exc", "_routes", "_since", "_step", "_stop", "_tool")

    def __init__(self, step: BaseStep, exc: Exception, stop: Stop, *, tool: str | None) -> None:
        self._step = step
        self._exc = exc
        self._stop = stop
        self._tool = tool
        self._active = step.engine.active
        self._since = step.clock.time()
        # A shorter conversation would go on, so that it is compacted instead.
        self._routes = () if routes_too_small_for(step) else tuple(_keys_out(step, stop))

    def begin(self, failure: Failure) -> Stop | None:
        """Report that the step waits; return how the step ends instead, if it does not wait."""
        if not self._routes:
            return self._stop
        due = self._due_in()
        if (why := self._why_hopeless(due)) is not None:
            return replace(self._stop, why=f"{self._stop.why}; {why}")
        step = self._step
        # It may refuse, so that the wait is for nothing.
        step.hooks.before_attempt(min(self._routes, key=self._order).key.route)
        step.end_retrying()
        step.following = self
        step.reporter.patience_started(
            step, failure, self._shown(), self._at_most(due), self._left()
        )
        return None

    async def wait_out(self) -> float:
        """Wait until a route is back, and return the seconds that this took.

        Raises:
            StepFailed: Nothing comes back in time after all; or the agent's own exception.
            TimeoutError: The deadline passed.
        """
        step, clock, wake_ups = self._step, self._step.clock, self._step.degraded.wake_ups
        minutes = 1
        while True:
            seen, due = wake_ups.count, self._due_in()
            if due == 0 or step.engine.active is not self._active:
                break
            self._check(due)
            until_minute = self._since + minutes * _MINUTE - clock.time()
            if until_minute <= 0:
                minutes += 1 + int(-until_minute // _MINUTE)
                step.reporter.patience_waiting(step, self._at_most(due))
                step.reporter.raise_interrupt()
                continue
            seconds = max(_TICK, min(until_minute, self._at_most(due)))
            if due is None:
                seconds = min(seconds, step.waiter.longest_blind_nap)
            await step.waiter.nap(clock, seconds, wake_ups, seen=seen)
        waited = clock.time() - self._since
        rounds = step.rounds
        step.rounds = Rounds(rounds.count + 1, rounds.swaps + step.swaps, rounds.waited + waited)
        return waited

    def _shown(self) -> tuple[UnavailableRoute, ...]:
        """Return each route once, with the key that is back first."""
        firsts: dict[Route, _Out] = {}
        for out in self._routes:
            route = out.key.route
            firsts[route] = min(firsts.get(route, out), out, key=self._order)
        return tuple(
            UnavailableRoute(route, out.why, self._seconds(out), out.key.api_key_env)
            for route, out in firsts.items()
        )

    def _order(self, out: _Out) -> float:
        return self._seconds(out) or 0.0

    def _check(self, due: float | None) -> None:
        """Return if the wait may go on."""
        if self._step.deadline.has_passed():
            raise self._step.deadline_error()
        if (why := self._why_hopeless(due)) is not None:
            self._give_up(why)

    def _give_up(self, why: str) -> NoReturn:
        """End the step as it would have ended without the wait."""
        stop = replace(self._stop, why=f"{self._stop.why}; {why}")
        error = error_to_raise(
            self._step, self._exc, stop, unsafe_tool=self._tool, is_interrupted=False
        )
        if error is self._exc:
            raise error
        raise error from self._exc

    def _why_hopeless(self, due: float | None) -> str | None:
        """Return why waiting on is of no use; None: it is of use.

        Args:
            due: See `_due_in`.
        """
        now, left, deadline = self._step.clock.time(), self._left(), self._step.deadline.left()
        back = 0.0
        if due is not None:
            back = min(
                max(self._seconds(each) or 0.0, each.resets_at - now) for each in self._routes
            )
        if left < _TICK or back > left + _TICK:
            named = self._setting()
            return f"no route is due back in the {max(left, 0.0):.0f} s that are left of {named}"
        if deadline is not None and back >= deadline:
            return f"no route is due back in the {deadline:.0f} s until the deadline"
        return None

    def _setting(self) -> str:
        """Return what set the patience, for messages: the configuration, or else a program."""
        plan = self._step.active.plan
        if plan is None or self._step.engine.policy.patience is not None:
            return "the step's patience"
        return plan.spelled("patienceSeconds")

    def _left(self) -> float:
        """Return the seconds for which the step may still wait."""
        step = self._step
        waited = step.rounds.waited + step.clock.time() - self._since
        return step.limits.patience - waited

    def _at_most(self, due: float | None) -> float:
        """Return the seconds until the first route is back, or until the wait ends."""
        left = self._left() if due is None else due
        return self._step.deadline.cap(left)

    def _due_in(self) -> float | None:
        """Return the seconds until the first route is back; None: another step asks one just now.

        0: one is back.
        """
        seconds = [self._seconds(each) for each in self._routes]
        known = [each for each in seconds if each is not None]
        if 0.0 in known:
            return 0.0
        return min(known) if len(known) == len(seconds) else None

    def _seconds(self, out: _Out) -> float | None:
        """Return the seconds until the route is due back; None: another step asks it just now."""
        if out.due_at is not None:
            return max(0.0, out.due_at - self._step.clock.time())
        outage = self._step.degraded.outage_of(out.key)
        if outage is None:
            return None if _is_retried(self._step, out.key) else 0.0
        return outage.seconds or None


def _keys_out(step: BaseStep, stop: Stop) -> Iterator[_Out]:
    """Yield the routes that are worth waiting for, with each key that may be back first.

    If the step may not move, there is only its own route.
    """
    own = step.walk.key
    by_route = {attempt.route: attempt for attempt in step.attempts}
    by_key = {attempt.key: attempt for attempt in step.attempts}
    routes = step.walk.usable() if stop.may_move and step.pin is None else [own.route]
    for route in routes:
        last = by_route.get(route)
        is_of_key = last is None or last.failure is None or may_change_key(last.failure)
        for key in step.walk.keys_of(route):
            mine = by_key.get(key)
            attempt = mine if is_of_key or _is_lasting(mine) else last
            out = _out(step, key, attempt, stop if key == own else None)
            if out is not None:
                yield out


def _is_lasting(attempt: BaseAttempt | None) -> bool:
    """True if *attempt* failed in a way that does not pass with time."""
    return (
        attempt is not None
        and attempt.failure is not None
        and not passes_with_time(attempt.failure)
    )


def _out(
    step: BaseStep, key: KeyedRoute, attempt: BaseAttempt | None, stop: Stop | None
) -> _Out | None:
    """Return why and until when *key* is out; None: it will not be back by itself.

    Args:
        attempt: The last one of this step with *key*, or whatever the key; None: there was none.
        stop: Of the attempt with *key* that has just failed; None: it was with another one.
    """
    outage, failure = step.degraded.outage_of(key), None if attempt is None else attempt.failure
    why, asked = ("healthy", 0.0) if outage is None else (outage.why, outage.resets_in or 0.0)
    if _is_lasting(attempt):
        return None
    if attempt is not None and failure is not None:
        why = str(failure.kind) if failure.status is None else f"{failure.kind} {failure.status}"
        asked = max(asked, _asked(step, attempt, failure))
    elif outage is not None and outage.kind in _LASTING:
        return None
    now, due_at = step.clock.time(), None
    if outage is None and not _is_retried(step, key):
        # Nothing degraded it, so that the health map does not know when to ask it again.
        due_at = now + max(_pause(step), _wait_unlisted(step, stop, asked))
    return _Out(key=key, why=why, due_at=due_at, resets_at=now + asked)


def _asked(step: BaseStep, attempt: BaseAttempt, failure: Failure) -> float:
    """Return the seconds for which the provider still asks us to wait."""
    since = step.clock.time() - attempt.started_at - attempt.seconds
    return max((failure.retry_after or 0.0) - since, seconds_until(failure.reset_at) or 0.0, 0.0)


def _is_retried(step: BaseStep, key: KeyedRoute) -> bool:
    """True while another step retries *key*."""
    return any(map(step.degraded.is_retried, key.health_units))


def _pause(step: BaseStep) -> float:
    """Return the least seconds between two rounds, which grow as those between retries do."""
    return step.engine.policy.backoff(step.rounds.count + 1, step.engine.rng)


def _wait_unlisted(step: BaseStep, stop: Stop | None, asked: float) -> float:
    """Return the cooldown of a route that failed without being degraded."""
    if stop is None:
        return 0.0
    return max(asked, step.limits.cooldown if stop.cooldown is None else 0.0)
