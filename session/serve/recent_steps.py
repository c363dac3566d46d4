"""The last steps, for the page: what each asked for, its attempts, and what they cost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ...provider.conversation import Usage
from ..event import (
    AttemptCost,
    AttemptFailed,
    AttemptStarted,
    PatienceStarted,
    StepEnded,
    StepStarted,
    Swapped,
    Waiting,
)
from ..observation import LockedHandlerTable

if TYPE_CHECKING:
    from ...provider.route import Route
    from ..clock import Clock
    from ..cost.price import Price

MOST_STEPS = 50
"""How many steps that have ended are remembered."""
_MOST_RUNNING = 2_048
_MOST_ATTEMPTS = 100
"""How many attempts of one step are remembered, the last ones."""
_LEFT = frozenset({"CancelledError", "Cancelled", "ClientLeft", "GeneratorExit"})
"""The errors of a step whose client has left."""


@dataclass(slots=True)
class RecentAttempt:
    """One attempt.

    Args:
        api_key_env: The variable of its key; None: the provider has one key or none.
        waited: Seconds that the step waited before it.
        kind: Why it failed, a word of `FailureKind`; None: it has not.
        seconds: How long it took; None: it runs.
        usage: Its tokens; None: the provider has counted none.
        money: US dollars; None: no price is known.
    """

    route: Route
    api_key_env: str | None
    started_at: float
    waited: float
    kind: str | None = None
    status: int | None = None
    seconds: float | None = None
    usage: Usage | None = None
    money: float | None = None
    is_priced: bool = False

    def look_up(self, price: Price | None) -> None:
        """Look its price up, once."""
        if not self.is_priced and self.usage is not None:
            self.money = None if price is None else price(self.route, self.usage)
            self.is_priced = True

    def to_json(self) -> dict[str, Any]:
        """Return this as plain data."""
        return {
            "route": self.route,
            "api_key_env": self.api_key_env,
            "waited": self.waited,
            "seconds": self.seconds,
            "kind": self.kind,
            "status": self.status,
            "tokens": None if self.usage is None else asdict(self.usage),
            "money": self.money,
        }


@dataclass(slots=True)
class RecentStep:
    """One step.

    Args:
        reason: Why the requested route was passed over at the start; None: it was not.
        route: The route that the step is on, or ended on.
        state: ``running``, ``answered``, ``failed``, or ``left`` by its client.
        waiting_since: Since when it waits for its next attempt; None: it does not wait.
        attempts: The last ones.
    """

    number: int
    requested: Route
    route: Route
    reason: str | None
    started_at: float
    state: str = "running"
    ended_at: float | None = None
    swaps: int = 0
    attempt_count: int = 0
    waiting_since: float | None = None
    attempts: deque[RecentAttempt] = field(default_factory=lambda: deque(maxlen=_MOST_ATTEMPTS))

    def to_json(self, now: float) -> dict[str, Any]:
        """Return this as plain data at the instant *now*."""
        until = now if self.ended_at is None else self.ended_at
        return {
            "step": self.number,
            "requested": self.requested,
            "route": self.route,
            "state": self.state,
            "reason": self.reason,
            "swaps": self.swaps,
            "attempt_count": self.attempt_count,
            "seconds": until - self.started_at,
            "seconds_ago": now - until,
            "attempts": [attempt.to_json() for attempt in list(self.attempts)],
        }


class RecentSteps(LockedHandlerTable):
    """An observer that remembers the steps that run, and the last ones that have ended.

    Threads may share it. It holds routes, kinds and numbers: no prompt, no answer, and no message.

    Attributes:
        counts: How many steps have ended in each state; ``saved``: answered after a swap.
    """

    def __init__(self, clock: Clock) -> None:
        self.counts = {"answered": 0, "failed": 0, "left": 0, "saved": 0}
        self._clock = clock
        self._running: dict[int, RecentStep] = {}
        self._ended: deque[RecentStep] = deque(maxlen=MOST_STEPS)
        handlers: dict[type, Callable[[Any], None]] = {
            StepStarted: self._step_started,
            AttemptStarted: self._attempt_started,
            AttemptCost: self._attempt_cost,
            AttemptFailed: self._attempt_failed,
            Waiting: self._waiting,
            PatienceStarted: self._waiting,
            Swapped: self._swapped,
            StepEnded: self._step_ended,
        }
        super().__init__(handlers)

    def to_json(self, price: Price | None) -> list[dict[str, Any]]:
        """Return the steps as plain data, the last ones first.

        Args:
            price: Looks prices up, which may take a moment; None: no price is known.
        """
        with self._lock:
            steps = [*self._ended, *self._running.values()]
        for step in steps:
            for attempt in list(step.attempts):
                attempt.look_up(price)
        now = self._clock.time()
        with self._lock:
            return [step.to_json(now) for step in reversed(steps)]

    def _step_started(self, event: StepStarted) -> None:
        if (step := self._running.get(event.step)) is not None:
            step.route = event.route  # it begins again after a wait for a route to come back
            return
        if len(self._running) >= _MOST_RUNNING:
            del self._running[next(iter(self._running))]
        self._running[event.step] = RecentStep(
            event.step, event.requested, event.route, event.reason, self._clock.time()
        )

    def _attempt_started(self, event: AttemptStarted) -> None:
        step = self._running.get(event.step)
        if step is None:
            return  # it began before it was observed
        now = self._clock.time()
        waited = 0.0 if step.waiting_since is None else now - step.waiting_since
        step.waiting_since, step.route = None, event.route
        step.attempt_count += 1
        step.attempts.append(RecentAttempt(event.route, event.api_key_env, now, waited))

    def _attempt_cost(self, event: AttemptCost) -> None:
        attempt = self._last_attempt(event)
        if attempt is not None:
            attempt.usage = Usage(event.input, event.output, event.cache_read, event.cache_write)

    def _attempt_failed(self, event: AttemptFailed) -> None:
        attempt = self._last_attempt(event)
        if attempt is not None:
            attempt.kind, attempt.status = str(event.failure.kind), event.failure.status
            attempt.seconds = event.seconds

    def _waiting(self, event: Waiting | PatienceStarted) -> None:
        step = self._running.get(event.step)
        if step is not None:
            step.waiting_since = self._clock.time()

    def _swapped(self, event: Swapped) -> None:
        step = self._running.get(event.step)
        if step is not None:
            step.swaps += 1

    def _step_ended(self, event: StepEnded) -> None:
        step, now = self._running.pop(event.step, None), self._clock.time()
        if step is None:
            if event.attempts:
                return  # it began before it was observed
            step = RecentStep(event.step, event.requested, event.route, None, now)
        step.ended_at, step.route, step.swaps = now, event.route, event.swaps
        step.state = _state_of(event)
        if step.attempts and step.attempts[-1].seconds is None:
            step.attempts[-1].seconds = now - step.attempts[-1].started_at
        self._ended.append(step)
        self.counts[step.state] += 1
        self.counts["saved"] += step.state == "answered" and step.swaps > 0

    def _last_attempt(self, event: AttemptCost | AttemptFailed) -> RecentAttempt | None:
        step = self._running.get(event.step)
        return step.attempts[-1] if step is not None and step.attempts else None


def _state_of(event: StepEnded) -> str:
    if event.error is None:
        return "answered"
    return "left" if event.error.partition(":")[0] in _LEFT else "failed"
