"""Handle a failed attempt: decide what follows, and carry it out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from ...provider.classify.time_text import seconds_until
from ...provider.failure import Failure
from .base_attempt import BaseAttempt
from .decision import (
    Decision,
    Repair,
    Retry,
    StepState,
    Stop,
    Swap,
    decide,
    is_final,
    is_route_failure,
)
from .patience import Patience
from .step_error import error_to_raise
from .swap_target import NO_TARGET

if TYPE_CHECKING:
    from ...provider.route import Route
    from .base_step import BaseStep


class Recovery:
    """Recover *step* from its failed attempts, or end it."""

    __slots__ = ("_step",)

    def __init__(self, step: BaseStep) -> None:
        self._step = step

    async def after(self, attempt: BaseAttempt, exc: Exception) -> bool:
        """Handle what *attempt* raised; True if another attempt follows.

        Raises:
            StepFailed: No attempt follows, and *exc* alone would not say why.
        """
        step = self._step
        attempt.failure = failure = step.engine.failure_of(
            exc, attempt.route, step.active.providers
        )
        step.engine.tally.failed(attempt.route, failure, step.active.environ)
        step.reporter.attempt_failed(attempt, failure)
        is_interrupted = self._is_interrupted(attempt, failure)
        if attempt.has_emitted and not is_interrupted:
            step.reporter.retracted(attempt)
        is_unsafe = attempt.tool is not None and not is_final(failure)
        if is_unsafe or is_interrupted:
            # The route is degraded as if every retry and swap were spent.
            decision = self._decide(attempt, failure, is_last=True)
        else:
            decision = await self._confirmed(self._decide(attempt, failure), attempt, failure)
        if not isinstance(decision, Stop):
            self._go_on(decision, attempt, failure)
            return True
        self.degrade(attempt, failure, decision.cooldown)
        step.walk.report_unfit(decision.passed_over)
        tool = attempt.tool if is_unsafe else self._pinned_tool(decision)
        if step.limits.patience and not (is_unsafe or is_interrupted):
            patience = Patience(step, exc, failure, decision, tool=tool)
            if (stop := patience.begin(failure)) is None:
                return True
            decision = stop
        error = error_to_raise(step, exc, decision, unsafe_tool=tool, is_interrupted=is_interrupted)
        step.end(error)
        if error is exc:
            return False
        raise error from exc

    async def after_wait(self) -> None:
        """Swap instead of the retry if another step degraded the route during the wait.

        If there is no healthy sibling, the step retries after all.
        """
        step = self._step
        attempt = step.attempts[-1]
        failure = attempt.failure
        if failure is None or not step.degraded.is_degraded(attempt.route):
            return
        step.retries -= 1  # as when the retry was decided
        decision = await self._confirmed(self._decide(attempt, failure), attempt, failure)
        if isinstance(decision, Swap):
            # The failure of the other step is younger, and has set the cooldown.
            self._go_on(replace(decision, cooldown=None), attempt, failure)
        else:
            step.retries += 1

    def _is_interrupted(self, attempt: BaseAttempt, failure: Failure) -> bool:
        """True if output was shown that the agent cannot take back."""
        config = self._step.active.config
        interrupts = config is not None and config.on_partial == "interrupt"
        is_shown = attempt.has_emitted and (interrupts or not attempt.can_retract)
        return is_shown and is_route_failure(failure)

    def _decide(
        self,
        attempt: BaseAttempt,
        failure: Failure,
        *,
        is_last: bool = False,
        may_move: bool = True,
    ) -> Decision:
        """Return what follows.

        Args:
            is_last: Decide as if every retry and swap were spent.
            may_move: False: the conversation cannot move now.
        """
        step = self._step
        limits, policy = step.limits, step.engine.policy
        target = step.walk.swap_target() if may_move else NO_TARGET
        may_repair = not is_last and attempt.tool is None
        route = attempt.route
        state = StepState(
            backoff=policy.backoff(step.retries + 1, step.engine.rng),
            retries=limits.max_retries if is_last else step.retries,
            hinted_wait=step.hinted_waits.get(route, 0.0),
            swaps=limits.max_swaps if is_last else step.swaps,
            sibling=target.route,
            # A pinned conversation can only be retried.
            sibling_is_healthy=target.is_available and step.pin is None,
            passed_over=target.skipped,
            is_probe=attempt.probe is not None,
            is_degraded=step.degraded.is_degraded(route),
            is_retried_elsewhere=step.retrying is None and step.degraded.is_retried(route),
            resets_in=seconds_until(failure.reset_at),
            repair=step.hooks.ask_repair(failure, route) if may_repair else None,
        )
        return decide(failure, state, limits)

    async def _confirmed(
        self, decision: Decision, attempt: BaseAttempt, failure: Failure
    ) -> Decision:
        """Return *decision*; a swap may become another decision in `_confirm_swap`.

        An exception of a hook ends the step, and degrades the route as the swap would have.
        """
        if not isinstance(decision, Swap):
            return decision
        try:
            return await self._confirm_swap(decision, attempt, failure)
        except BaseException as error:
            self.degrade(attempt, failure, decision.cooldown)
            self._step.end(error)
            raise

    async def _confirm_swap(self, swap: Swap, attempt: BaseAttempt, failure: Failure) -> Decision:
        """Check that the conversation may move and that the sibling has room for it.

        If not, return the retry that is left, else a `Stop` with the same cooldown. This runs only
        when a swap is due, because most steps never swap. Other steps may have changed the health
        map while we awaited, so decide again after each await.
        """
        step = self._step
        if step.pin is not None:
            return Stop(why=step.pin.why, cooldown=swap.cooldown)
        decision: Decision = swap
        if step.hooks.check_move is not None:
            if (why := await step.in_time(step.hooks.check_move())) is not None:
                other = self._decide(attempt, failure, may_move=False)
                stop = Stop(why=why, cooldown=swap.cooldown)
                return other if isinstance(other, Retry) else stop
            decision = self._decide(attempt, failure)
        while isinstance(decision, Swap) and decision.sibling in step.walk.uncounted:
            await step.count_tokens(decision.sibling)
            decision = self._decide(attempt, failure)
        return decision

    def _go_on(
        self, decision: Retry | Repair | Swap, attempt: BaseAttempt, failure: Failure
    ) -> None:
        step = self._step
        step.following = decision
        match decision:
            case Retry():
                step.end_probe(attempt, "none")
                step.retries += 1
                self._note_retry(decision, attempt.route)
                step.reporter.retrying(step, attempt.route, decision, failure)
            case Repair():
                step.end_probe(attempt, "none")
                step.reporter.repaired(step, attempt.route, decision, failure)
            case Swap():
                self.degrade(attempt, failure, decision.cooldown)
                if decision.awaits_retry:
                    step.degraded.await_retry(attempt.route)
                step.end_retrying()
                step.swaps += 1
                step.retries = 0
                step.walk.move(decision)
                step.reporter.swapped(step, attempt.route, decision.sibling, failure)
            case _:
                assert_never(decision)

    def _note_retry(self, retry: Retry, route: Route) -> None:
        """Count the wait, and keep other steps from retrying *route* as well."""
        step = self._step
        if retry.is_hinted:
            waited = step.hinted_waits.get(route, 0.0) + retry.wait
            step.hinted_waits = {**step.hinted_waits, route: waited}
        if step.retrying is None and retry.is_outage:
            step.retrying = step.degraded.begin_retry(route)

    def degrade(self, attempt: BaseAttempt, failure: Failure, cooldown: float | None) -> None:
        """Degrade the route of *attempt*, unless *cooldown* is None, and end its probe."""
        step = self._step
        config = step.active.config
        if cooldown is None or config is None:
            step.end_probe(attempt, "none")
            return
        seconds = step.degraded.degrade(
            attempt.route,
            cooldown=config.cooldown_seconds,
            at_least=cooldown,
            growth=config.cooldown_backoff,
            max_cooldown=config.max_cooldown_seconds,
            kind=failure.kind,
        )
        step.end_probe(attempt, "degraded")
        if seconds > 0:
            outage = step.degraded.outage_of(attempt.route)
            resets_in = None if outage is None else outage.resets_in
            step.reporter.degraded(attempt.route, seconds, failure, resets_in=resets_in)

    def _pinned_tool(self, stop: Stop) -> str | None:
        """Return the tool that pins the conversation, if that is why the step stops."""
        pin = self._step.pin
        return pin.tool if pin is not None and stop.why == pin.why else None
