"""What every step is: start, attempt, wait, end. What follows a failure is in `recovery`."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import TypeVar

from ...provider.failure import Failure, FailureKind
from ...provider.route import Route
from ..argument import validated_deadline
from ..deadline import Deadline
from ..event import Listener
from ..plan.keyed_route import KeyedRoute
from ..plan.needs import Needs
from .attempt_loop import end_open_attempt, leave
from .base_attempt import BaseAttempt
from .broken_step import end_broken_step
from .cold_cache import NO_CACHES, PromptCaches, UnknownCaches
from .cooldown import Probe
from .engine import Engine
from .hooks import Hooks
from .move_policy import MoveHistory, Pin
from .patience import NO_ROUNDS, Patience, Rounds
from .recovery import Recovery
from .reporter import NOBODY, SILENT, StepReporter, Verdict
from .route_walk import RouteWalk
from .start import choose_start, count_start, find_start, usual_start
from .step_error import deadline_error, describe
from .step_state import NextKey, Repair, Retry, Swap
from .waiter import Waiter

A = TypeVar("A", bound=BaseAttempt)
T = TypeVar("T")

_NO_WAITS: Mapping[Route, float] = {}


class BaseStep:
    """The attempts of one step, in an event loop or without one.

    Attributes:
        number: Which step of its `Sidestep` this is, from 1.
        requested: The route that the agent asked for.
        route: The route that answered; *requested* before that, and if no route answers.
        attempts: Every attempt so far, in order.
        retries: Retries on the present route so far, with the present key.
        hinted_waits: Seconds slept on each route because the provider asked for a longer wait.
        reserved: The right to probe for an attempt that is not entered yet; None: it is no probe.
        retrying: The right to retry the present route while other steps stay away; None: this
            step has not retried there, or another step has the right.
        swaps: Swaps to another route so far, in this round.
        rounds: What the rounds before this one took; a round begins after a wait of `Patience`.
        limits: What the configuration allows.
        deadline: When the caller wants the step to end.
        following: What follows the attempt that failed; None: no attempt has failed.
        pin: Why the conversation may not move; None: it may.
        is_one_call: The step runs in `run`, so that no code of the agent yields in an attempt.
        has_begun: An attempt was asked for.
        is_over: The step has ended.
        waiter: How the step waits.
        entry: What an agent writes round its call.
        caches: The prompt caches of the conversation.
        history: What happened in the conversation before; None: the agent does not say.
        options: Where the step may go.
        own_key: As in `start.use_own_key`; None: the step has only keys of ours.
    """

    __slots__ = (
        "_walk", "active", "attempts", "caches", "clock", "deadline", "degraded", "engine",
        "following", "has_begun", "hinted_waits", "history", "hooks", "is_one_call", "is_over",
        "limits", "number", "options", "own_key", "pin", "reporter", "requested", "reserved",
        "retries", "retrying", "rounds", "route", "swaps",
    )  # fmt: skip
    waiter: Waiter
    entry: str

    def __init__(
        self,
        engine: Engine,
        route: str,
        needs: Needs | None,
        deadline: float | None,
        *,
        hooks: Hooks,
        history: MoveHistory | None,
        on_event: Listener | None,
        journal: Listener | None,
    ) -> None:
        self.deadline = (
            engine.no_deadline
            if deadline is None
            else Deadline.after(engine.clock, validated_deadline(deadline))
        )
        if journal is None and engine.journal is not None:
            journal = engine.journal.scope()
        self.active = active = engine.active
        pinned = None if history is None else history.route
        self.options = options = active.options_for(route, needs, pinned)
        self.number = number = next(engine.numbers)
        self.engine = engine
        self.clock = engine.clock
        self.degraded = engine.degraded
        self.hooks = hooks
        self.limits = active.limits
        listeners = engine.observers, engine.on_event, journal, on_event
        self.reporter = SILENT if listeners == NOBODY else StepReporter(number, *listeners)
        self._walk: RouteWalk | None = None
        self.route = self.requested = options.requested
        self.attempts: list[BaseAttempt] = []
        self.retries = self.swaps = 0
        self.rounds: Rounds = NO_ROUNDS
        self.hinted_waits: Mapping[Route, float] = _NO_WAITS
        self.reserved: Probe | None = None
        self.retrying: Probe | None = None
        self.following: Retry | NextKey | Repair | Swap | Patience | None = None
        self.pin: Pin | None = None
        self.history = history
        self.caches: PromptCaches = NO_CACHES
        if history is not None or needs is not None:
            self.caches = UnknownCaches(None if history is None else history.route, needs)
        self.has_begun = False
        self.is_one_call = self.is_over = False
        self.own_key: KeyedRoute | None = None

    def __repr__(self) -> str:
        state = "ended" if self.is_over else "running"
        name, route = type(self).__name__, str(self.route)
        return f"<{name} {self.number} {state} route={route!r} attempts={self.attempts!r}>"

    @property
    def skipped(self) -> Mapping[Route, str]:
        """Routes that were passed over, with the reason against each."""
        return self.walk.skipped

    @property
    def walk(self) -> RouteWalk:
        """The way from route to route; made when it is asked for, because most steps take none."""
        if self._walk is None:
            self._walk = RouteWalk(
                self.options, self.degraded, self.active.keys, self.reporter, self.hooks,
                self.own_key,
            )  # fmt: skip
        return self._walk

    def __del__(self) -> None:
        try:
            is_over = self.is_over
        except AttributeError:  # it was never whole
            return
        if not is_over:
            leave(self)

    async def next_attempt(self, kind: type[A], _loop: object = None) -> A:
        """Return the next attempt, of *kind*.

        Args:
            _loop: The loop that asks; this reference keeps it alive meanwhile.

        Raises:
            StopAsyncIteration: The step has ended.
        """
        if self.is_over:
            raise StopAsyncIteration
        try:
            if self.has_begun:
                attempt = await self._following_attempt(kind)
            else:
                self.has_begun = True
                key = usual_start(self) or await find_start(self)
                self._check_before_attempt(key)
                attempt = kind(self, key, 1, 0.0)
            if not self.degraded.is_empty:  # the agent may await something before it enters it
                self.reserved = self.degraded.probe(attempt.key)
            if self.reporter.interrupt is not None:
                self.reporter.raise_interrupt()
        except BaseException as error:
            end_open_attempt(self, error)
            self.end(error)
            if not isinstance(error, StopAsyncIteration):
                raise
            # This exception would end the loop as an answer does.
            raise RuntimeError("a hook of the step raised StopAsyncIteration") from error
        return attempt

    async def _following_attempt(self, kind: type[A]) -> A:
        following, self.following = self.following, None
        if following is None:
            raise RuntimeError(f"the attempt was not entered: write `{self.entry}` round the call")
        waited = 0.0
        if isinstance(following, Retry):
            waited = following.wait
            await Recovery(self).wait_for(following)
        elif isinstance(following, Patience):
            waited = await following.wait_out()
            await self._begin_again()
        # Between two attempts a cancellation or the deadline ends the step.
        await self.waiter.checkpoint()
        self._check_before_attempt(self.walk.key)
        return kind(self, self.walk.key, len(self.attempts) + 1, waited)

    async def _begin_again(self) -> None:
        """Begin a further round: choose the start again, and count from 0."""
        self.retries = self.swaps = 0
        self.hinted_waits = _NO_WAITS
        self.walk.restart()
        choose_start(self)
        await count_start(self)
        if self.walk.route != self.attempts[-1].route:
            self.caches.move_to(self.walk.route)  # counted in the cost; no event tells of it
        self.walk.report_restart()

    async def count_tokens(self, route: Route) -> bool:
        """Have the agent count the tokens of the step; True if *route* can hold them."""
        tokens = await self.in_time(self.hooks.count_tokens(route))
        return self.walk.resolve_size(route, tokens)

    async def in_time(self, work: Awaitable[T]) -> T:
        """Return what *work*, which is no attempt, returns.

        Raises:
            TimeoutError: The caller's deadline passed meanwhile.
        """
        with self.waiter.scope(self.deadline.left()):
            value = await work
            if not self.deadline.has_passed():
                return value
        raise deadline_error(self)

    def _check_before_attempt(self, key: KeyedRoute) -> None:
        """Call `before_attempt` and check the deadline.

        An exception here is not the failure of an attempt.
        """
        self.hooks.before_attempt(key.route)
        if self.attempts and self.deadline.has_passed():
            raise deadline_error(self)

    def deadline_error(self, exc: BaseException | None = None) -> TimeoutError:
        """Return the error that ends the step at its deadline."""
        return deadline_error(self, exc)

    def started(self, attempt: BaseAttempt) -> None:
        """Record that the request of *attempt* is about to be made."""
        self.attempts.append(attempt)
        attempt.since = self.degraded.changes
        if not self.degraded.is_empty:
            attempt.probe = self.reserved or self.degraded.probe(attempt.key)
        self.reserved = None
        reporter = self.reporter
        if reporter.has_listeners:
            reporter.attempt_started(attempt, is_probe=attempt.probe is not None)
            if reporter.interrupt is not None:
                end_open_attempt(self, reporter.interrupt)
                reporter.raise_interrupt()

    def succeeded(self, attempt: BaseAttempt) -> None:
        """Record that *attempt* answered."""
        self.route = attempt.route
        self.engine.tally.answered(attempt.key.tally_unit)
        degraded = self.degraded
        is_forgotten = degraded.is_empty or degraded.recover(attempt.key, since=attempt.since)
        if attempt.probe is not None:
            self.end_probe(attempt, "healthy" if is_forgotten else "none")
        self.end(None)
        if self.reporter.interrupt is not None:
            self.reporter.raise_interrupt()

    def abandoned(self, attempt: BaseAttempt, exc: BaseException | None, *, is_late: bool) -> None:
        """Record that the caller ended *attempt*; this is no failure of the route."""
        message = "past the caller's deadline" if is_late else "ended by the caller"
        attempt.failure = Failure(kind=FailureKind.CANCELLED, message=message, route=attempt.route)
        self.end_probe(attempt, "none")
        self.engine.tally.cancelled(attempt.key.tally_unit)
        self.reporter.attempt_failed(attempt, attempt.failure)
        if attempt.has_emitted:
            self.reporter.retracted(attempt)
        if exc is None or is_late:
            self.end(TimeoutError("the step's deadline has passed"))
        else:
            self.end(exc)

    async def failed(self, attempt: BaseAttempt, exc: Exception) -> bool:
        """Record that *attempt* raised *exc*; True if another attempt follows.

        Raises:
            StepFailed: No attempt follows, and *exc* alone would not say why.
        """
        try:
            follows = await Recovery(self).after(attempt, exc)
            self.reporter.raise_interrupt()
        except BaseException as error:
            end_broken_step(self, attempt, exc, error)
            self.reporter.raise_interrupt()
            raise
        return follows

    def end_probe(self, attempt: BaseAttempt, verdict: Verdict) -> None:
        """End the probe that *attempt* makes, if it makes one, and report *verdict*."""
        if attempt.probe is None:
            return
        self.degraded.release(attempt.key, attempt.probe)
        attempt.probe = None
        self.reporter.probe_ended(attempt, verdict)

    def end_retrying(self) -> None:
        """Let other steps retry the route."""
        if self.retrying is not None:
            self.degraded.release(self.walk.key, self.retrying)
            self.retrying = None

    def release_reserved(self) -> None:
        """Let other steps probe the route of an attempt that was not entered."""
        if self.reserved is not None:
            self.degraded.release(self.walk.key, self.reserved)
            self.reserved = None

    def end(self, error: BaseException | None) -> None:
        """End the step with *error*, unless it has ended; None: with an answer."""
        if self.is_over:
            return
        self.is_over = True
        if self.retrying is not None:
            self.end_retrying()
        self.release_reserved()
        if self.attempts and self.attempts[-1].probe is not None:
            self.end_probe(self.attempts[-1], "none")
        if self.reporter.has_listeners:
            why = None if error is None else self.active.redactor()(describe(error))
            self.reporter.step_ended(self, why)
