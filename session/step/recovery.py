"""Handle a failed attempt: decide what follows, and carry it out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, assert_never

from ...provider.classify.time_text import seconds_until
from ...provider.failure import Failure, Scope
from .base_attempt import BaseAttempt
from .cooldown import KEY_WORDS
from .decision import decide, is_final, is_route_failure, may_change_key
from .patience import Patience
from .step_error import error_to_raise
from .step_state import Decision, NextKey, Repair, Retry, StepState, Stop, Swap
from .swap_target import NO_TARGET, NOTHING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..plan.keyed_route import HealthUnit, KeyedRoute
    from .base_step import BaseStep

_A_MOMENT = 0.05
"""Seconds by which a sleep may end early: a cooldown that ends so soon is over."""


class _OtherKeys(TypedDict, total=False):
    """The other keys of a route, as in `StepState`."""

    next_key: str | None
    due_key: str | None
    due_in: float
    due_retries: int


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
        step.engine.tally.failed(attempt.key.tally_unit, failure)
        step.reporter.attempt_failed(attempt, failure)
        is_interrupted = self._is_interrupted(attempt, failure)
        if attempt.has_emitted and not is_interrupted:
            step.reporter.retracted(attempt)
        has_run = attempt.tool is not None
        is_unsafe = has_run and not is_final(failure, step.limits)
        if has_run or is_interrupted:
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
        if step.limits.patience and not (has_run or is_interrupted):
            patience = Patience(step, exc, decision, tool=tool)
            if (stop := patience.begin(failure)) is None:
                return True
            decision = stop
        error = error_to_raise(step, exc, decision, unsafe_tool=tool, is_interrupted=is_interrupted)
        step.end(error)
        if error is exc:
            return False
        raise error from exc

    async def wait_for(self, retry: Retry) -> None:
        """Sleep before *retry*, but not past the caller's deadline; then check whether to swap."""
        step = self._step
        left = step.deadline.cap(retry.wait)
        if left > 0:
            await step.waiter.sleep(step.clock, left)
        if left == retry.wait:
            await self._after_wait()
            step.following = None

    async def _after_wait(self) -> None:
        """Swap instead of the retry if another step degraded the route or key during the wait.

        A key that has become healthy is taken first. If there is no healthy sibling either, the
        step retries after all.
        """
        step = self._step
        attempt = step.attempts[-1]
        failure = attempt.failure
        if failure is None or step.degraded.seconds_left(step.walk.key) <= _A_MOMENT:
            return
        step.retries -= 1  # as when the retry was decided
        decision = await self._confirmed(self._decide(attempt, failure), attempt, failure)
        if isinstance(decision, Swap | NextKey):
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
        route, key = attempt.route, attempt.key
        unit = key.health_unit(failure.effective_scope)
        has_keys = may_change_key(failure) and step.walk.has_keys()
        keys = self._other_keys(attempt) if has_keys and not is_last else _OtherKeys()
        target, repair = NO_TARGET, None
        if keys.get("next_key") is None:
            if may_move:
                target = step.walk.swap_target(_about_to_degrade(key, failure))
            if not is_last and attempt.tool is None:
                repair = step.hooks.ask_repair(failure, route)
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
            is_degraded=step.degraded.is_degraded(key),
            is_retried_elsewhere=step.retrying is None and step.degraded.is_retried(unit),
            resets_in=seconds_until(failure.reset_at),
            has_keys=has_keys,
            repair=repair,
            **keys,
        )
        return decide(failure, state, limits)

    def _other_keys(self, attempt: BaseAttempt) -> _OtherKeys:
        """Return which other keys of the route the step could use."""
        step = self._step
        if attempt.probe is not None:
            # The key is to blame, so that the route is there for the next key to probe.
            step.degraded.release(attempt.key, attempt.probe)
        untried, tried = step.walk.keys_to_try()
        keys = _OtherKeys(next_key=None if untried is None else untried.api_key_env)
        if tried is not None:
            due, keys["due_in"] = tried
            keys["due_key"] = due.api_key_env
            keys["due_retries"] = step.walk.left_keys.get(due.api_key_env, 0)
        return keys

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
        if step.hooks.can_check_move:
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
        self, decision: Retry | NextKey | Repair | Swap, attempt: BaseAttempt, failure: Failure
    ) -> None:
        step = self._step
        step.following = decision
        match decision:
            case Retry():
                self._retry(decision, attempt, failure)
            case NextKey():
                self.degrade(attempt, failure, decision.cooldown, is_exact=decision.is_exact)
                step.end_retrying()
                step.retries = step.walk.change_key(decision.api_key_env, step.retries)
                step.reporter.key_changed(attempt.key, decision.api_key_env, failure)
            case Repair():
                step.end_probe(attempt, "none")
                step.reporter.repaired(step, attempt.route, decision, failure)
            case Swap():
                self.degrade(attempt, failure, decision.cooldown)
                if decision.awaits_retry:
                    step.degraded.await_retry(attempt.key.health_unit(failure.effective_scope))
                step.end_retrying()
                step.swaps += 1
                step.retries = 0
                step.walk.move(decision, step.history)
                cold = step.caches.move_to(decision.sibling)
                step.reporter.swapped(step, attempt.route, decision.sibling, failure, cold)
            case _:
                assert_never(decision)

    def _retry(self, retry: Retry, attempt: BaseAttempt, failure: Failure) -> None:
        """Count the retry and its wait, and keep other steps from retrying as well."""
        step, route = self._step, attempt.route
        if retry.api_key_env is None:
            step.end_probe(attempt, "none")
        else:
            self.degrade(attempt, failure, retry.cooldown, is_exact=retry.is_exact)
            step.end_retrying()
            step.retries = step.walk.change_key(retry.api_key_env, step.retries)
        step.retries += 1
        if retry.is_hinted:
            waited = step.hinted_waits.get(route, 0.0) + retry.wait
            step.hinted_waits = {**step.hinted_waits, route: waited}
        if step.retrying is None and retry.is_outage:
            step.retrying = step.degraded.begin_retry(
                step.walk.key.health_unit(failure.effective_scope)
            )
        step.reporter.retrying(step, step.walk.key, retry, failure)

    def degrade(
        self,
        attempt: BaseAttempt,
        failure: Failure,
        cooldown: float | None,
        *,
        is_exact: bool = False,
    ) -> None:
        """Degrade the route or key that failed, unless *cooldown* is None, and end its probe.

        Args:
            cooldown: Least seconds.
            is_exact: Exactly *cooldown* seconds, also if the configured cooldown is longer.
        """
        step = self._step
        configured = step.active.cooldowns
        if cooldown is None:
            step.end_probe(attempt, "none")
            return
        seconds = step.degraded.degrade(
            attempt.key.health_unit(failure.effective_scope),
            cooldown=0.0 if is_exact else configured.seconds,
            at_least=cooldown,
            growth=configured.growth,
            max_cooldown=configured.longest,
            kind=failure.kind,
            is_of_key=failure.effective_scope is Scope.KEY_ON_ROUTE,
        )
        step.end_probe(attempt, "degraded")
        if seconds > 0:
            outage = step.degraded.outage_of(attempt.key)
            resets_in = None if outage is None else outage.resets_in
            step.reporter.degraded(attempt.key, seconds, failure, resets_in=resets_in)

    def _pinned_tool(self, stop: Stop) -> str | None:
        """Return the tool that pins the conversation, if that is why the step stops."""
        pin = self._step.pin
        return pin.tool if pin is not None and stop.why == pin.why else None


def _about_to_degrade(key: KeyedRoute, failure: Failure) -> Mapping[HealthUnit, str]:
    """Return the key that *failure* is about to degrade, with the reason; empty: no key."""
    if failure.effective_scope is not Scope.KEY or not may_change_key(failure):
        return NOTHING
    return {key.health_unit(Scope.KEY): KEY_WORDS.get(failure.kind, "degraded")}
