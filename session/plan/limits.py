"""What one step may do: how often it retries, how often it swaps, and after which failures."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from ...provider.failure import FailureKind
from .plan import Plan
from .retry import RetryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the configuration allows in one step.

    Args:
        max_retries: Further attempts on one route after the first.
        max_swaps: Swaps to another route; 0 also means that no route is ever degraded.
        statuses: Effective HTTP statuses that swap a step.
        max_wait: Longest wait before a retry, in seconds.
        never_swap_on: Kinds of failure that never swap, whatever their status.
        swap_on_any_failure: Every failure of a route swaps, even if its status is not listed.
    """

    max_retries: int
    max_swaps: int = 0
    statuses: Collection[int] = field(default=frozenset())
    max_wait: float
    never_swap_on: Collection[FailureKind] = field(default=frozenset())
    swap_on_any_failure: bool = False


def limits_of(plan: Plan | None, policy: RetryPolicy) -> Limits:
    """Return the limits that *plan* sets; *policy* supplies the rest."""
    if plan is None:
        return Limits(max_retries=policy.retries, max_wait=policy.max_wait)
    config, retries = plan.config, plan.config.max_upstream_retry_attempts
    return Limits(
        max_retries=policy.retries if retries is None else retries,
        max_swaps=config.max_fallback_attempts,
        statuses=frozenset(config.fallback_on_errors),
        max_wait=config.max_wait_seconds,
        never_swap_on=plan.never_swap_on,
        swap_on_any_failure=plan.swap_on_any_failure,
    )
