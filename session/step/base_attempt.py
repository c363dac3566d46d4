"""What every attempt is: a request on one route, sent by the agent's own call."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from ...provider.current_attempt import AttemptMark, current_attempt
from ...provider.failure import Failure
from ...provider.route import Route
from ..clock import Clock
from ..deadline import Deadline
from ..plan.active_plan import ActivePlan
from ..plan.keyed_route import KeyedRoute
from .call_limit import CallLimit
from .cooldown import Probe
from .reporter import StepReporter
from .waiter import Waiter

_SHORTEST = 0.001
_LONGEST = 2_000_000.0
"""Seconds; the largest timeout of a socket is 2 ** 31 milliseconds."""


class AttemptOwner(Protocol):
    """The step that an attempt belongs to and reports to."""

    active: ActivePlan
    clock: Clock
    deadline: Deadline
    is_one_call: bool
    is_over: bool
    reporter: StepReporter
    waiter: Waiter

    def started(self, attempt: BaseAttempt) -> None:
        """Record that the request of *attempt* is about to be made."""

    def succeeded(self, attempt: BaseAttempt) -> None:
        """Record that *attempt* answered."""

    def abandoned(self, attempt: BaseAttempt, exc: BaseException | None, *, is_late: bool) -> None:
        """Record that the caller ended *attempt*; *is_late*: the deadline did."""

    async def failed(self, attempt: BaseAttempt, exc: Exception) -> bool:
        """Record that *attempt* raised *exc*; True if another attempt follows."""
        ...

    def deadline_error(self, exc: BaseException | None = None) -> TimeoutError:
        """Return the error that ends the step at its deadline."""
        ...


class BaseAttempt:
    """One request on one route, in an event loop or without one.

    Attributes:
        route: Where the request goes.
        key: The route, with the key that the request should be sent with.
        number: Which attempt of the step this is, from 1.
        failure: Why it failed; None while it runs, and after an answer.
        seconds: How long it took; 0 while it runs.
        waited: Seconds that the step slept before it.
        started_at: When it was entered, on the step's clock.
        output: The last argument of `emitted`.
        has_emitted: True once any output was shown.
        can_retract: False once output was shown that nobody can take back.
        tool: The last argument of `tool_started`; None: no tool was reported.
        probe: The right to probe; None if this attempt is no probe.
        since: `DegradedRoutes.changes` when the request was made.
    """

    __slots__ = (
        "_limit",
        "_outer",
        "_owner",
        "can_retract",
        "failure",
        "has_emitted",
        "has_ended",
        "has_started",
        "key",
        "number",
        "output",
        "probe",
        "route",
        "seconds",
        "since",
        "started_at",
        "tool",
        "waited",
    )

    def __init__(self, owner: AttemptOwner, key: KeyedRoute, number: int, waited: float) -> None:
        self._owner = owner
        self.key = key
        self.route: Route = key.route
        self.number = number
        self.waited = waited
        self.started_at = 0.0
        self.failure: Failure | None = None
        self.seconds = 0.0
        self.has_started = False
        self.has_ended = False
        self.has_emitted = False
        self.can_retract = True
        self.output: object = None
        self.tool: str | None = None
        self.probe: Probe | None = None
        self.since = 0
        self._limit: CallLimit | None = None
        self._outer: AttemptMark | None = None

    def __repr__(self) -> str:
        state = self.failure or ("ended" if self.has_ended else "running")
        return f"<{type(self).__name__} {self.number} {self.route} {state}>"

    def emitted(self, output: object = None, *, can_retract: bool = True) -> None:
        """Report that output of this attempt has been shown, so that a failure retracts it.

        Args:
            output: All output so far, for `StreamInterrupted.emitted`; a later call replaces it.
            can_retract: False: nobody can take the output back, so that a failure of the route ends
                the step with `StreamInterrupted`, whatever `onPartial` is.
        """
        if not self.has_emitted:
            self.has_emitted = True
            self._owner.reporter.first_output(self)
        self.output = output
        if not can_retract:
            self.can_retract = False

    def tool_started(self, name: str) -> None:
        """Report that the tool *name* has started, so that no other attempt follows this one."""
        self.tool = name

    @property
    def api_key_env(self) -> str | None:
        """The environment variable of the key to send the request with.

        None: the provider needs no key, or sidestep does not know it.
        """
        return self._owner.active.variable_of(self.key)

    @property
    def api_key(self) -> str | None:
        """The key itself, read when it is asked for.

        None: the variable is not set, or the attempt has ended.
        """
        name = None if self.has_ended else self.api_key_env
        return None if name is None else self._owner.active.environ.get(name, "").strip() or None

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline of the step, as a timeout; None: it has no deadline.

        Never 0 or less, and never more than a socket takes, because libraries refuse that.
        """
        left = self._owner.deadline.left()
        return None if left is None else min(max(left, _SHORTEST), _LONGEST)

    async def _enter(self) -> Self:
        """Record that the block of the attempt begins."""
        if self.has_started:
            raise RuntimeError("an attempt is entered once: take the next one from the step")
        if self._owner.is_over:
            raise RuntimeError("the step of this attempt has ended: take a new step")
        self.has_started = True
        if current_attempt.is_wanted:
            self._outer = current_attempt.get()
            current_attempt.set(AttemptMark())
        owner = self._owner
        self.started_at = owner.clock.time()
        owner.started(self)
        if owner.deadline.at is not None:
            self._limit = owner.waiter.limit(owner.deadline, is_one_call=owner.is_one_call)
        return self

    async def _exit(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Record that the block has ended with *exc*; True if another attempt follows."""
        if current_attempt.is_wanted:
            current_attempt.set(self._outer)
        is_past_deadline = self._limit is not None and self._limit.end(exc)
        owner = self._owner
        if owner.is_over:  # it was left
            return False
        self.has_ended = True
        self.seconds = owner.clock.time() - self.started_at
        if exc is None and not is_past_deadline:
            owner.succeeded(self)
            return False
        if isinstance(exc, Exception) and not is_past_deadline:
            try:
                await owner.waiter.checkpoint()
            except BaseException as cancelled:
                owner.abandoned(self, cancelled, is_late=False)
                raise
            return await owner.failed(self, exc)
        owner.abandoned(self, exc, is_late=is_past_deadline)
        owner.reporter.raise_interrupt()
        if is_past_deadline:
            raise owner.deadline_error(exc)
        return False
