"""What one step may do: how often it retries, how often it swaps, and after which failures."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from ...provider.failure import FailureKind
from .plan import Plan
from .retry import DEFAULT_RETRIES, DEFAULT_RETRIES_BESIDE_SIBLING, RetryPolicy

_COOLDOWN = 60.0
"""The cooldown in seconds if there is no configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the configuration allows in one step.

    Args:
        max_retries: Further attempts on one route after the first.
        retries_beside_sibling: The same while the step may move to a healthy sibling; None: as
            many.
        max_swaps: Swaps to another route; 0 also means that no route is ever degraded;
            a key is, if its provider has several.
        statuses: Effective HTTP statuses that swap a step.
        max_wait: Longest wait before a retry, in seconds.
        max_step_wait: While the step may move to a healthy sibling, the most seconds in all that it
            waits on one route because the provider asks for longer waits than the schedule has.
        patience: Seconds in all that a step may wait for a route to come back, when it would fail.
        cooldown: Seconds after which a route that failed and was not degraded is asked again.
        swap_on: Kinds of failure that swap, whatever their status.
        never_swap_on: Kinds of failure that never swap, whatever their status.
        swap_on_any_failure: Every failure of a route swaps, even if its status is not listed.
        statuses_key: Where *statuses* are set, for messages.
    """

    max_retries: int
    retries_beside_sibling: int | None = None
    max_swaps: int = 0
    statuses: Collection[int] = field(default=frozenset())
    max_wait: float
    max_step_wait: float = 30.0
    patience: float = 0.0
    cooldown: float = _COOLDOWN
    swap_on: Collection[FailureKind] = field(default=frozenset())
    never_swap_on: Collection[FailureKind] = field(default=frozenset())
    swap_on_any_failure: bool = False
    statuses_key: str = "`fallbackOnErrors`"


class CooldownLimits(NamedTuple):
    """How long cooldowns are. The defaults are those of `FallbackConfig`, which costs an import.

    Args:
        seconds: The first cooldown.
        growth: The factor by which consecutive cooldowns grow.
        longest: The longest cooldown, in seconds.
    """

    seconds: float = _COOLDOWN
    growth: float = 1.0
    longest: float = 3600.0


def cooldowns_of(plan: Plan | None) -> CooldownLimits:
    """Return the cooldowns that *plan* sets."""
    if plan is None:
        return CooldownLimits()
    config = plan.config
    return CooldownLimits(
        config.cooldown_seconds, config.cooldown_backoff, config.max_cooldown_seconds
    )


def limits_of(plan: Plan | None, policy: RetryPolicy) -> Limits:
    """Return the limits that *plan* sets; *policy* supplies the rest."""
    config = None if plan is None else plan.config
    retries = None if config is None else config.max_upstream_retry_attempts
    if retries is None:
        retries = policy.retries
    max_retries = DEFAULT_RETRIES if retries is None else retries
    if plan is None or config is None:
        patience = policy.patience or 0.0
        return Limits(max_retries=max_retries, max_wait=policy.max_wait, patience=patience)
    wait = config.max_wait_seconds
    return Limits(
        max_retries=max_retries,
        retries_beside_sibling=DEFAULT_RETRIES_BESIDE_SIBLING if retries is None else None,
        max_swaps=config.max_fallback_attempts,
        statuses=frozenset(config.fallback_on_errors),
        max_wait=policy.max_wait if wait is None else wait,
        max_step_wait=config.max_step_wait_seconds,
        patience=config.patience_seconds if policy.patience is None else policy.patience,
        cooldown=config.cooldown_seconds,
        swap_on=plan.swap_on,
        never_swap_on=plan.never_swap_on,
        swap_on_any_failure=plan.swap_on_any_failure,
        statuses_key=plan.spelled("fallbackOnErrors"),
    )
