"""Decide what follows a failed attempt. Pure: no clock and no I/O.

This module and `step_state` may import only `provider.failure`, `provider.route`,
`session.plan.limits` and `session.skip_reason`; `tests/test_layers.py` checks that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from ...provider.failure import FailureKind, Scope
from .step_state import NextKey, Repair, Retry, Stop, Swap

if TYPE_CHECKING:
    from ...provider.failure import Failure
    from ..plan.limits import Limits
    from .step_state import Decision, StepState


class _When(Enum):
    """ONCE: one retry. LISTED: if `_is_listed`. SWAPPED: only if the step swaps as well."""

    NEVER = auto()
    ONCE = auto()
    LISTED = auto()
    SWAPPED = auto()
    ALWAYS = auto()


@dataclass(frozen=True, slots=True)
class _Rule:
    retry: _When
    swap: _When
    degrade: _When
    may_repair: bool = False


_TRANSIENT = _Rule(_When.ALWAYS, _When.LISTED, _When.LISTED)
_MISCONFIGURED = _Rule(_When.NEVER, _When.LISTED, _When.SWAPPED)
_NEUTRAL = _Rule(_When.NEVER, _When.NEVER, _When.NEVER)

_RULES = {
    FailureKind.OVERLOADED: _TRANSIENT,
    FailureKind.SERVER_ERROR: _TRANSIENT,
    FailureKind.TIMEOUT: _TRANSIENT,
    FailureKind.TRUNCATED: _TRANSIENT,
    FailureKind.EMPTY_RESPONSE: _Rule(_When.ONCE, _When.LISTED, _When.LISTED),
    FailureKind.RATE_LIMIT: _Rule(_When.ALWAYS, _When.LISTED, _When.ALWAYS),
    FailureKind.NETWORK: _Rule(_When.ALWAYS, _When.ALWAYS, _When.ALWAYS),
    FailureKind.QUOTA: _Rule(_When.NEVER, _When.LISTED, _When.ALWAYS),
    FailureKind.AUTH: _MISCONFIGURED,
    FailureKind.NOT_FOUND: _MISCONFIGURED,
    FailureKind.TOOL_CALL_MALFORMED: _Rule(_When.ONCE, _When.LISTED, _When.NEVER),
    FailureKind.REQUEST_TOO_LARGE: _Rule(_When.NEVER, _When.ALWAYS, _When.NEVER),
    FailureKind.HISTORY_REJECTED: _Rule(_When.NEVER, _When.ALWAYS, _When.NEVER, may_repair=True),
    FailureKind.BAD_REQUEST: _Rule(_When.NEVER, _When.LISTED, _When.NEVER, may_repair=True),
    FailureKind.CONTEXT_OVERFLOW: _NEUTRAL,
    FailureKind.CONTENT_FILTER: _Rule(_When.NEVER, _When.NEVER, _When.NEVER, may_repair=True),
    FailureKind.REFUSAL: _NEUTRAL,
    FailureKind.CANCELLED: _NEUTRAL,
}

_OF_KEY = frozenset({FailureKind.AUTH, FailureKind.QUOTA, FailureKind.RATE_LIMIT})
_TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
_EDGE_STATUSES = frozenset({403, 405, 521, 523, 525, 526, 527, 530})  # 403, 405: a challenge
_UNKNOWN_AT_EDGE = 520


def decide(failure: Failure, state: StepState, limits: Limits) -> Decision:
    """Return what follows *failure*.

    Whether to degrade the route does not depend on the number of swaps left, so that a stop can
    degrade it as well.
    """
    rule = _rule(failure)
    is_of_key = may_change_key(failure)
    if state.next_key is not None and is_of_key:
        return _next_key(state.next_key, failure, state)
    if state.repair is not None and (rule.may_repair or _may_ask_for_less(failure)):
        return Repair(what=state.repair)
    is_listed = _is_listed(failure, rule, limits)
    may_swap = limits.max_swaps > 0 and (rule.swap is _When.ALWAYS or is_listed)
    has_swaps = may_swap and state.swaps < limits.max_swaps
    sibling = state.sibling if has_swaps else None
    keeps_health = limits.max_swaps > 0 or (state.has_keys and is_of_key)
    degrades = keeps_health and _applies(rule.degrade, is_listed, sibling is not None)
    may_leave = sibling is not None and state.sibling_is_healthy
    retry = _retry(failure, rule, state, limits, may_leave=may_leave, is_outage=degrades)
    leaves = may_leave and _is_better_elsewhere(failure, state, degrades=degrades)
    awaits_retry = (
        retry is not None and may_leave and not leaves and degrades and state.is_retried_elsewhere
    )
    if retry is not None and not (leaves or awaits_retry):
        return retry
    cooldown = _asked_wait(failure, state) if degrades and not awaits_retry else None
    if sibling is not None:
        return Swap(
            sibling=sibling,
            cooldown=cooldown,
            passed_over=state.passed_over,
            awaits_retry=awaits_retry,
        )
    why = _why(failure, rule, state, limits, may_swap=may_swap)
    passed_over = state.passed_over if has_swaps else ()
    return Stop(why=why, cooldown=cooldown, passed_over=passed_over, may_move=may_swap)


def _next_key(api_key_env: str, failure: Failure, state: StepState) -> NextKey:
    return NextKey(
        api_key_env=api_key_env,
        cooldown=_asked_wait(failure, state),
        is_exact=_is_limited_until(failure, state),
    )


def _is_limited_until(failure: Failure, state: StepState) -> bool:
    """True if the provider said for how long its limit on the rate holds."""
    return failure.kind is FailureKind.RATE_LIMIT and _asked_wait(failure, state) > 0


def _is_better_elsewhere(failure: Failure, state: StepState, *, degrades: bool) -> bool:
    """True if a healthy sibling is to be taken although a retry may be allowed."""
    is_failed_probe = state.is_probe and degrades
    return failure.is_unreachable or failure.lacks_capacity or state.is_degraded or is_failed_probe


def _may_ask_for_less(failure: Failure) -> bool:
    """True if the conversation would fit its route with a shorter answer."""
    return failure.cure is not None and failure.cure.is_for_one_step


def may_change_key(failure: Failure) -> bool:
    """True if another key could answer although *failure* happened with this one."""
    return failure.kind in _OF_KEY and failure.effective_scope is not Scope.ROUTE


def is_final(failure: Failure, limits: Limits) -> bool:
    """True if *failure* would recur on every route, so that no attempt follows.

    With a hint almost every failure moves the step, but a shorter conversation is better than
    another route.
    """
    rule = _rule(failure)
    if rule.retry is not _When.NEVER or rule.swap is not _When.NEVER:
        return False
    is_too_long = failure.kind is FailureKind.CONTEXT_OVERFLOW
    return is_too_long or not _is_listed(failure, rule, limits)


def is_route_failure(failure: Failure) -> bool:
    """True if a provider or a network failed; False: the fault is the agent's own."""
    return failure.kind is not FailureKind.UNKNOWN or failure.status is not None


def passes_with_time(failure: Failure) -> bool:
    """True if the same request may well be answered on the same route later."""
    if failure.kind is FailureKind.QUOTA:
        return bool(failure.retry_after or failure.reset_at)
    is_empty = failure.kind is FailureKind.EMPTY_RESPONSE
    return is_empty or _rule(failure).retry is _When.ALWAYS


def _rule(failure: Failure) -> _Rule:
    if failure.kind is not FailureKind.UNKNOWN:
        return _RULES[failure.kind]
    if failure.status is None:
        return _NEUTRAL
    if failure.status >= 500 or failure.status in _TRANSIENT_STATUSES:
        return _TRANSIENT
    return _Rule(_When.NEVER, _When.LISTED, _When.LISTED)


def _is_listed(failure: Failure, rule: _Rule, limits: Limits) -> bool:
    """True if the configuration swaps on *failure*; without a status, if it is retryable."""
    if limits.swap_on_any_failure and is_route_failure(failure):
        return failure.kind is not FailureKind.CANCELLED
    if rule.swap is _When.NEVER or failure.kind in limits.never_swap_on:
        return False
    if failure.kind in limits.swap_on:
        return True
    if failure.status is None:
        return rule.retry is not _When.NEVER
    return failure.status in limits.statuses or (
        _is_of_edge(failure) and _UNKNOWN_AT_EDGE in limits.statuses
    )


def _is_of_edge(failure: Failure) -> bool:
    """True if the network before the provider failed: it counts as Cloudflare's unknown error."""
    return failure.kind is FailureKind.SERVER_ERROR and failure.status in _EDGE_STATUSES


def _applies(when: _When, is_listed: bool, is_swap: bool) -> bool:
    return (
        when is _When.ALWAYS
        or (when is _When.LISTED and is_listed)
        or (when is _When.SWAPPED and is_swap)
    )


def _retry(
    failure: Failure,
    rule: _Rule,
    state: StepState,
    limits: Limits,
    *,
    may_leave: bool,
    is_outage: bool,
) -> Retry | None:
    """Return the retry that the schedule has next; None: no retry is allowed.

    Args:
        may_leave: The step may move to a healthy sibling instead.
    """
    allowed = limits.max_retries
    if may_leave and limits.retries_beside_sibling is not None:
        allowed = limits.retries_beside_sibling
    if rule.retry is _When.ONCE:
        allowed = min(allowed, 1)
    asked, key = _shortest_wait(failure, rule, state, allowed, may_leave=may_leave)
    if asked > limits.max_wait:
        return None
    backoff = min(state.backoff, limits.max_wait)
    is_hinted = asked > backoff
    if may_leave and is_hinted and state.hinted_wait + asked > limits.max_step_wait:
        return None
    retry = Retry(
        wait=max(backoff, asked), allowed=allowed, is_hinted=is_hinted, is_outage=is_outage
    )
    if key is None:
        return retry
    return replace(
        retry,
        api_key_env=key,
        cooldown=_asked_wait(failure, state),
        is_exact=_is_limited_until(failure, state),
    )


def _shortest_wait(
    failure: Failure, rule: _Rule, state: StepState, allowed: int, *, may_leave: bool
) -> tuple[float, str | None]:
    """Return the seconds that the provider asks for before a retry, and the key for it.

    No key: the present one. Endless seconds: no key has a retry left.
    """
    choices: list[tuple[float, str | None]] = []
    is_retried = rule.retry is not _When.NEVER
    if is_retried and failure.should_retry is not False and state.retries < allowed:
        choices.append((_asked_wait(failure, state), None))
    if state.due_key is not None and state.due_retries < allowed and (is_retried or not may_leave):
        choices.append((state.due_in, state.due_key))
    return min(choices, key=lambda choice: choice[0], default=(math.inf, None))


def _asked_wait(failure: Failure, state: StepState) -> float:
    """Return the seconds that the provider asks us to wait; 0: it does not ask."""
    return max(failure.retry_after or 0.0, state.resets_in or 0.0)


def _why(failure: Failure, rule: _Rule, state: StepState, limits: Limits, *, may_swap: bool) -> str:
    no_retry = _why_no_retry(failure, rule, state, limits)
    if not is_route_failure(failure):
        return (
            "it is not known to be a provider's failure: "
            "give the exception a `status_code`, or classify it with `classify=`"
        )
    if limits.max_swaps == 0:
        return f"{no_retry}, and moving to a sibling is not configured"
    if rule.swap is _When.NEVER and not may_swap:
        return f"{no_retry}, and no other route would do better"
    if failure.kind in limits.never_swap_on:
        return f"{no_retry}, and {failure.kind} never swaps a step here"
    if not may_swap:
        status = "no status" if failure.status is None else f"status {failure.status}"
        return f"{no_retry}, and {status} is not in {limits.statuses_key}"
    if state.sibling is None:
        return f"{no_retry}, and there is no further route to move to"
    return f"{no_retry}, and {state.swaps} of {limits.max_swaps} swaps are made"


def _why_no_retry(failure: Failure, rule: _Rule, state: StepState, limits: Limits) -> str:
    if rule.retry is _When.NEVER:
        return f"{failure.kind} is not retried"
    if failure.should_retry is False:
        return "the provider says not to retry"
    hint = _asked_wait(failure, state)
    if hint > limits.max_wait:
        return f"the provider asks for {hint:g} s, over {limits.max_wait:g} s"
    if state.retries == 0:
        return "no retry is allowed"
    if state.retries == 1:
        return "the retry on this route is spent"
    return f"{state.retries} retries on this route are spent"
