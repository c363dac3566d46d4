"""One step: attempt, then wait, swap or give up. The only file that awaits between attempts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self, TypeVar, assert_never

import anyio
import anyio.lowlevel

from ...provider.failure import Failure, FailureKind
from ...provider.route import Route
from ...provider.secret import masked
from ..event import Listener
from ..plan.config import FallbackConfig
from ..plan.plan import Course
from .attempt import Attempt
from .decision import (
    Decision,
    Limits,
    Repair,
    Retry,
    Standing,
    Stop,
    Swap,
    decide,
    is_final,
    is_of_a_route,
)
from .hooks import Hooks
from .move_policy import Past, Pin, pin
from .reporter import Herald, Verdict
from .route_walk import Walk
from .step_error import nobody_fits, past_deadline, what_to_raise

if TYPE_CHECKING:
    from .middleware import Sidestep


T = TypeVar("T")


class Step:
    """The attempts of one step, to iterate over; each is entered round one call.

    Attributes:
        number: Which step of its `Sidestep` this is, from 1.
        requested: The route that the agent asked for.
        route: The route that answered; *requested* until one has, and if none does.
        attempts: Every attempt so far, in order.
        retries: Further attempts on the present route so far.
        swaps: Moves to another route so far.
        limits: What the configuration allows.
        herald: Who is told of it.
    """

    __slots__ = (
        "_clock",
        "_config",
        "_course",
        "_deadline_at",
        "_hooks",
        "_is_over",
        "_middleware",
        "_next",
        "_past",
        "_pin",
        "_walk",
        "attempts",
        "degraded",
        "herald",
        "limits",
        "number",
        "requested",
        "retries",
        "route",
        "swaps",
    )

    def __init__(
        self,
        middleware: Sidestep,
        course: Course,
        config: FallbackConfig | None,
        number: int,
        *,
        hooks: Hooks,
        deadline: float | None,
        past: Past | None,
        on_event: Listener | None,
        journal: Listener | None,
    ) -> None:
        self._middleware = middleware
        self._clock = middleware.clock
        self.degraded = middleware.degraded
        self._config: FallbackConfig | None = config
        self._hooks = hooks
        self._past = past
        self._pin: Pin | None = None
        self.herald = Herald(number, middleware.on_event, journal, on_event)
        self.limits: Limits = middleware.limits
        self._deadline_at = None if deadline is None else middleware.clock.time() + deadline
        self._next: Retry | Repair | Swap | None = None
        self._is_over = False
        self.retries = 0
        requested = course.requested
        self._course = course
        self._walk = Walk(course, self.degraded, self.herald, hooks)
        self.number = number
        self.requested = requested
        self.route = requested
        self.attempts: list[Attempt] = []
        self.swaps = 0

    def __repr__(self) -> str:
        state = "ended" if self._is_over else "running"
        return f"<Step {self.number} {state} route={str(self.route)!r} attempts={self.attempts!r}>"

    @property
    def skipped(self) -> Mapping[Route, str]:
        """Routes that were passed over, and why."""
        return self._walk.skipped

    def __aiter__(self) -> Self:
        if self._is_over:
            raise RuntimeError(
                "this step has ended: take a new one, `middleware.step(route)`, for every reply"
            )
        return self

    async def run(self, call: Callable[[Attempt], Awaitable[T]]) -> T:
        """Return what *call* returns for the attempt that succeeds.

        This is the loop over the attempts as one expression.
        """
        async for attempt in self:
            async with attempt:
                return await call(attempt)
        raise AssertionError("a step ends with an answer or an error")

    async def __anext__(self) -> Attempt:
        if self._is_over:
            raise StopAsyncIteration
        if not self.attempts:
            self._start()
            if self._walk.doubtful:
                await self._settle_start()
            self.herald.step_started(self.requested, self._walk.route)
            self._walk.tell_start(held=None if self._pin is None else self._pin.why)
            self._ask_leave()
            return self._attempt(waited=0.0)
        following, self._next = self._next, None
        if following is None:
            raise RuntimeError(
                "the attempt was not entered: write `async with attempt:` round the call"
            )
        if isinstance(following, Retry):
            await self._wait_out(following.wait)
            return self._attempt(waited=following.wait)
        await self._checkpoint()
        return self._attempt(waited=0.0)

    def _start(self) -> None:
        if self._course.swaps != self.limits.swaps and self._config is not None:
            self.limits = replace(self.limits, swaps=self._course.swaps)
        self._pin = pin(self._past, self._config)
        self._find_a_start()

    def _find_a_start(self) -> None:
        fits = True
        if self._pin is not None and self._past is not None:
            fits = self._walk.stay(self._past.route or self.requested)
        elif self._config is not None or self._course.unfit:
            fits = self._walk.start()
        if not fits:
            error = nobody_fits(self)
            self._end(_describe(error))
            raise error

    async def _settle_start(self) -> None:
        """Begin where the step fits, as far as the agent can count that."""
        while (route := self._walk.route) in self._walk.doubtful:
            try:
                fits = await self._settle(route)
            except BaseException as error:
                self._end(_describe(error))
                raise
            if not fits:
                self._find_a_start()

    async def _settle(self, route: Route) -> bool:
        """Have the agent count whether *route*, which is doubtful, can hold the step.

        Raises:
            TimeoutError: The caller's deadline has passed meanwhile.
        """
        left = None if self._deadline_at is None else self._deadline_at - self._clock.time()
        with anyio.move_on_after(left) as scope:
            return self._walk.settle(route, await self._hooks.tokens(route))
        assert scope.cancelled_caught  # noqa: S101 - else it has returned
        raise past_deadline(self)

    def _attempt(self, *, waited: float) -> Attempt:
        attempt = Attempt(self, self._walk.route, len(self.attempts) + 1, waited)
        self.attempts.append(attempt)
        return attempt

    async def _wait_out(self, seconds: float) -> None:
        """Sleep before a retry, but not past the caller's deadline."""
        left = seconds
        if self._deadline_at is not None:
            left = min(seconds, self._deadline_at - self._clock.time())
        try:
            if left > 0:
                await self._clock.sleep(left)
        except BaseException as error:
            self._end(_describe(error))
            raise
        await self._checkpoint()

    async def _checkpoint(self) -> None:
        """Let a cancellation or the caller's deadline through between two attempts."""
        try:
            await anyio.lowlevel.checkpoint_if_cancelled()
        except BaseException as error:
            self._end(_describe(error))
            raise
        self._ask_leave()

    def _ask_leave(self) -> None:
        """Ask the agent for the next attempt; what it raises is no attempt's failure."""
        try:
            if self._hooks.before_attempt is not None:
                self._hooks.before_attempt(self._walk.route)
            if self.attempts:
                self._check_deadline()
        except BaseException as error:
            self._end(_describe(error))
            raise

    def _check_deadline(self) -> None:
        if self._deadline_at is not None and self._clock.time() >= self._deadline_at:
            raise past_deadline(self)

    def _succeed(self, attempt: Attempt) -> None:
        self.route = attempt.route
        self.degraded.recover(attempt.route)
        self._end_probe(attempt, "healthy")
        self._end(None)

    def _abandon(self, attempt: Attempt, exc: BaseException | None, *, is_late: bool) -> None:
        """Take an attempt that the caller ended: it says nothing about the route."""
        message = "past the caller's deadline" if is_late else "ended by the caller"
        attempt.failure = Failure(kind=FailureKind.CANCELLED, message=message, route=attempt.route)
        self._end_probe(attempt, "none")
        self.herald.attempt_failed(attempt, attempt.failure)
        if attempt.has_emitted:
            self.herald.retracted(attempt)
        if exc is None or is_late:
            self._end("TimeoutError: the step's deadline has passed")
        else:
            self._end(_describe(exc))

    async def _fail(self, attempt: Attempt, exc: Exception) -> bool:
        """Take what an attempt raised; True if another attempt follows it.

        Raises:
            StepFailed: No attempt follows, and *exc* alone would not tell why.
        """
        failure = self._middleware.name(exc, attempt.route)
        attempt.failure = failure
        self.herald.attempt_failed(attempt, failure)
        interrupts = self._config is not None and self._config.on_partial == "interrupt"
        is_interrupted = attempt.has_emitted and interrupts and is_of_a_route(failure)
        if attempt.has_emitted and not is_interrupted:
            self.herald.retracted(attempt)
        decision = self._decide(attempt, failure)
        is_unsafe = attempt.tool is not None and not is_final(failure)
        if is_unsafe or is_interrupted:
            # The route is degraded as if every retry and swap were spent.
            decision = self._decide(attempt, failure, is_last=True)
        elif isinstance(decision, Swap):
            cooldown = decision.cooldown
            try:
                decision = await self._settled(decision, attempt, failure)
            except BaseException as stopped:
                self._cool(attempt, failure, cooldown)
                self._end(_describe(stopped))
                raise
        match decision:
            case Retry():
                self._end_probe(attempt, "none")
                self._retry(decision, failure)
                return True
            case Repair():
                self._end_probe(attempt, "none")
                self._mend(decision, failure)
                return True
            case Swap():
                self._cool(attempt, failure, decision.cooldown)
                self._swap(decision, failure)
                return True
            case Stop():
                self._cool(attempt, failure, decision.cooldown)
                if decision.lacks_sibling:
                    self._walk.end()
            case _:
                assert_never(decision)
        tool = attempt.tool if is_unsafe else self._pinned_tool(decision)
        error = what_to_raise(self, exc, decision, unsafe_tool=tool, is_cut=is_interrupted)
        self._end(_describe(error))
        if error is exc:
            return False
        raise error from exc

    def _decide(self, attempt: Attempt, failure: Failure, *, is_last: bool = False) -> Decision:
        """Ask the rule; *is_last*: as if every retry and swap were spent."""
        limits = self.limits
        rng = self._middleware.rng
        candidate = self._walk.candidate()
        standing = Standing(
            backoff=self._middleware.policy.backoff(self.retries + 1, rng),
            retries=limits.retries if is_last else self.retries,
            swaps=limits.swaps if is_last else self.swaps,
            sibling=candidate.route,
            # Where it may not move, retries here are all there is.
            sibling_is_healthy=candidate.is_available and self._pin is None,
            is_probe=attempt._probe is not None,
            resets_in=seconds_until(failure.reset_at),
            repair=None
            if is_last or attempt.tool
            else self._hooks.change_for(failure, attempt.route),
        )
        return decide(failure, standing, limits)

    async def _settled(self, swap: Swap, attempt: Attempt, failure: Failure) -> Decision:
        """Return what *swap* comes to, once the conversation may move and the sibling holds it.

        Where it may not move, that is a stop that degrades as the swap would. Asked only now, for
        most steps never move; and decided anew after each answer, for which others did not wait.
        """
        if self._pin is not None:
            return Stop(why=self._pin.why, cooldown=swap.cooldown)
        decision: Decision = swap
        if self._hooks.check_move is not None:
            if (why := await self._hooks.check_move()) is not None:
                return Stop(why=why, cooldown=swap.cooldown)
            decision = self._decide(attempt, failure)
        while isinstance(decision, Swap) and decision.sibling in self._walk.doubtful:
            await self._settle(decision.sibling)
            decision = self._decide(attempt, failure)
        return decision

    def _pinned_tool(self, stop: Stop) -> str | None:
        """Return the tool for whose sake the conversation did not move, if it was that."""
        return self._pin.tool if self._pin is not None and stop.why == self._pin.why else None

    def _retry(self, decision: Retry, failure: Failure) -> None:
        self.retries += 1
        self._next = decision
        self.herald.retrying(self, self._walk.route, decision, failure)

    def _mend(self, decision: Repair, failure: Failure) -> None:
        self._next = decision
        self.herald.repaired(self, self._walk.route, decision, failure)

    def _swap(self, decision: Swap, failure: Failure) -> None:
        self.swaps += 1
        self.retries = 0
        self._next = decision
        left = self._walk.move(decision.sibling)
        self.herald.swapped(self, left, decision.sibling, failure)

    def _cool(self, attempt: Attempt, failure: Failure, cooldown: float | None) -> None:
        """Degrade the route of *attempt*, unless *cooldown* is None, and settle its probe."""
        if cooldown is None or self._config is None:
            self._end_probe(attempt, "none")
            return
        seconds = self.degraded.degrade(
            attempt.route,
            cooldown=self._config.cooldown_seconds,
            at_least=cooldown,
            backoff=self._config.cooldown_backoff,
            longest=self._config.max_cooldown_seconds,
        )
        self._end_probe(attempt, "degraded")
        if seconds > 0:
            self.herald.degraded(attempt.route, seconds, failure)

    def _end_probe(self, attempt: Attempt, verdict: Verdict) -> None:
        if attempt._probe is None:
            return
        self.degraded.release(attempt.route, attempt._probe)
        attempt._probe = None
        self.herald.probe_ended(attempt, verdict)

    def _end(self, error: str | None) -> None:
        self._is_over = True
        if self.attempts:
            self._end_probe(self.attempts[-1], "none")
        self.herald.step_ended(self, error)


def _describe(error: BaseException) -> str:
    name = type(error).__name__
    try:
        return masked(f"{name}: {error}")
    except Exception:  # noqa: BLE001 - an agent's own, whose words it cannot tell itself
        return name


def seconds_until(instant: datetime | None) -> float | None:
    """Return the seconds from now to *instant*, below 0 once that is past."""
    if instant is None:
        return None
    zoned = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return (zoned - datetime.now(UTC)).total_seconds()
