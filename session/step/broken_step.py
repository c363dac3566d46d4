"""End a step because a hook or a listener raised while the step handled a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...provider.failure import Failure, FailureKind
from .checked_failure import WrongFailure, failure_behind
from .decision import decide
from .recovery import Recovery
from .step_state import StepState, Stop

if TYPE_CHECKING:
    from .base_attempt import BaseAttempt
    from .base_step import BaseStep


def end_broken_step(
    step: BaseStep, attempt: BaseAttempt, exc: Exception, error: BaseException
) -> None:
    """End *step* with *error*, which was raised while *exc* of *attempt* was handled.

    The route is degraded as if every retry and swap were spent, because the agent's own mistake
    does not make it healthier. A step that has ended is left as it is.
    """
    if step.is_over:
        return
    if attempt.failure is None:
        attempt.failure = _usable_failure(exc, error, attempt)
        step.reporter.attempt_failed(attempt, attempt.failure)
    step.following = None
    if not step.degraded.is_degraded(attempt.key):
        Recovery(step).degrade(attempt, attempt.failure, _last_cooldown(step, attempt.failure))
    step.end(error)


def _usable_failure(exc: Exception, error: BaseException, attempt: BaseAttempt) -> Failure:
    """Return the failure behind *exc* as sidestep classifies it, without the agent's `classify`."""
    try:
        failure = (
            error.usable if isinstance(error, WrongFailure) else failure_behind(exc, attempt.route)
        )
    except WrongFailure as wrong:
        failure = wrong.usable
    except BaseException:  # noqa: BLE001 - *error* is raised, and *exc* is in its chain
        failure = Failure(kind=FailureKind.UNKNOWN, message=type(exc).__name__)
    failure.route = attempt.route
    return failure


def _last_cooldown(step: BaseStep, failure: Failure) -> float | None:
    """Return the shortest cooldown of the route, in seconds, if no attempt follows; None: none."""
    limits = step.limits
    state = StepState(backoff=0.0, retries=limits.max_retries, swaps=limits.max_swaps)
    decision = decide(failure, state, limits)
    return decision.cooldown if isinstance(decision, Stop) else None
