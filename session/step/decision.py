"""What to do after a failed attempt: no clock, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from ...provider.failure import FailureKind

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...provider.failure import Failure
    from ...provider.route import Route


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the configuration allows in one step.

    Args:
        retries: Further attempts on one route after the first.
        swaps: Moves to another route; 0 also means that no route is ever degraded.
        statuses: Effective HTTP statuses that move a step.
        max_wait: Longest wait before a retry, in seconds.
        unmoved: Kinds of failure that move nothing, whatever their status.
        moves_always: Every failure moves a step, listed or not, but for one that no route is to
            blame for.
    """

    retries: int
    swaps: int = 0
    statuses: Collection[int] = field(default=frozenset())
    max_wait: float
    unmoved: Collection[FailureKind] = field(default=frozenset())
    moves_always: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where the step stands when an attempt has failed.

    Args:
        backoff: Seconds that the schedule puts before the next retry.
        retries: Retries made on this route since the step came to it.
        swaps: Swaps made in this step.
        sibling: The route that a swap would take; None if there is none.
        sibling_is_healthy: Whether that one is available; it may still be degraded.
        is_probe: The attempt was the first on its route after a cooldown.
        resets_in: Seconds until the provider's own reset; None if it named none.
        repair: What a repair would change in the request; None: nothing, or it was made already.
    """

    backoff: float
    retries: int = 0
    swaps: int = 0
    sibling: Route | None = None
    sibling_is_healthy: bool = False
    is_probe: bool = False
    resets_in: float | None = None
    repair: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Try the same route again after *wait* seconds."""

    wait: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Try the same route again at once, with *what* changed in the request."""

    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Go to *sibling* at once.

    Args:
        cooldown: Degrade the route that failed, for at least so many seconds; None: do not.
    """

    sibling: Route
    cooldown: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The step fails.

    Args:
        why: Half a sentence for the person who reads the error.
        cooldown: As in `Swap`: a stop can still degrade its route, for the steps to come.
        lacks_sibling: It would have been a swap, had there been a route to move to.
    """

    why: str
    cooldown: float | None
    lacks_sibling: bool = False


Decision = Retry | Repair | Swap | Stop


class _When(Enum):
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
_REFUSED = _Rule(_When.NEVER, _When.LISTED, _When.SWAPPED)
_NEUTRAL = _Rule(_When.NEVER, _When.NEVER, _When.NEVER)

_RULES = {
    FailureKind.OVERLOADED: _TRANSIENT,
    FailureKind.SERVER_ERROR: _TRANSIENT,
    FailureKind.TIMEOUT: _TRANSIENT,
    FailureKind.TRUNCATED: _TRANSIENT,
    FailureKind.EMPTY_RESPONSE: _TRANSIENT,
    FailureKind.RATE_LIMIT: _Rule(_When.ALWAYS, _When.LISTED, _When.ALWAYS),
    FailureKind.NETWORK: _Rule(_When.ALWAYS, _When.ALWAYS, _When.ALWAYS),
    FailureKind.QUOTA: _Rule(_When.NEVER, _When.LISTED, _When.ALWAYS),
    FailureKind.AUTH: _REFUSED,
    FailureKind.NOT_FOUND: _REFUSED,
    FailureKind.TOOL_CALL_MALFORMED: _Rule(_When.ONCE, _When.LISTED, _When.NEVER),
    FailureKind.REQUEST_TOO_LARGE: _Rule(_When.NEVER, _When.ALWAYS, _When.NEVER),
    FailureKind.HISTORY_REJECTED: _Rule(_When.NEVER, _When.ALWAYS, _When.NEVER, may_repair=True),
    FailureKind.BAD_REQUEST: _Rule(_When.NEVER, _When.LISTED, _When.NEVER, may_repair=True),
    FailureKind.CONTEXT_OVERFLOW: _NEUTRAL,
    FailureKind.CONTENT_FILTER: _NEUTRAL,
    FailureKind.REFUSAL: _NEUTRAL,
    FailureKind.CANCELLED: _NEUTRAL,
}

_TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})


def decide(failure: Failure, standing: Standing, limits: Limits) -> Decision:
    """Return what to do after *failure*.

    The route is degraded before the swaps that are left and the sibling are looked at, so that
    a stop can have degraded it too.
    """
    rule = _rule(failure)
    if rule.may_repair and standing.repair is not None:
        return Repair(what=standing.repair)
    is_listed = _is_listed(failure, rule, limits)
    may_swap = limits.swaps > 0 and (rule.swap is _When.ALWAYS or is_listed)
    has_swaps = may_swap and standing.swaps < limits.swaps
    sibling = standing.sibling if has_swaps else None
    degrades = limits.swaps > 0 and _holds(rule.degrade, is_listed, sibling is not None)
    is_better_elsewhere = (
        sibling is not None
        and standing.sibling_is_healthy
        and (failure.is_unreachable or failure.is_capacity or (standing.is_probe and degrades))
    )
    if not is_better_elsewhere and _may_retry(failure, rule, standing, limits):
        backoff = min(standing.backoff, limits.max_wait)
        return Retry(wait=max(backoff, _hint(failure, standing)))
    cooldown = _hint(failure, standing) if degrades else None
    if sibling is not None:
        return Swap(sibling=sibling, cooldown=cooldown)
    why = _why(failure, rule, standing, limits, may_swap=may_swap)
    return Stop(why=why, cooldown=cooldown, lacks_sibling=has_swaps)


def is_final(failure: Failure) -> bool:
    """Say whether *failure* would come again wherever it is tried, so that nothing ever is."""
    rule = _rule(failure)
    return rule.retry is _When.NEVER and rule.swap is _When.NEVER


def is_of_a_route(failure: Failure) -> bool:
    """Say whether *failure* is a provider's or a network's; else it is a bug of one's own."""
    return failure.kind is not FailureKind.UNKNOWN or failure.status is not None


def _rule(failure: Failure) -> _Rule:
    if failure.kind is not FailureKind.UNKNOWN:
        return _RULES[failure.kind]
    if failure.status is None:
        return _NEUTRAL
    if failure.status >= 500 or failure.status in _TRANSIENT_STATUSES:
        return _TRANSIENT
    return _Rule(_When.NEVER, _When.LISTED, _When.LISTED)


def _is_listed(failure: Failure, rule: _Rule, limits: Limits) -> bool:
    """Say whether *failure* moves a step; a retryable one without a status always does."""
    if limits.moves_always and is_of_a_route(failure):
        return failure.kind is not FailureKind.CANCELLED
    if rule.swap is _When.NEVER or failure.kind in limits.unmoved:
        return False
    if failure.status is None:
        return rule.retry is not _When.NEVER
    return failure.status in limits.statuses


def _holds(when: _When, is_listed: bool, is_swap: bool) -> bool:
    return (
        when is _When.ALWAYS
        or (when is _When.LISTED and is_listed)
        or (when is _When.SWAPPED and is_swap)
    )


def _may_retry(failure: Failure, rule: _Rule, standing: Standing, limits: Limits) -> bool:
    if rule.retry is _When.NEVER or failure.should_retry is False:
        return False
    if _hint(failure, standing) > limits.max_wait:
        return False
    allowed = min(limits.retries, 1) if rule.retry is _When.ONCE else limits.retries
    return standing.retries < allowed


def _hint(failure: Failure, standing: Standing) -> float:
    """Return the seconds for which the provider itself says that the route is of no use."""
    return max(failure.retry_after or 0.0, standing.resets_in or 0.0)


def _why(
    failure: Failure, rule: _Rule, standing: Standing, limits: Limits, *, may_swap: bool
) -> str:
    spent = _why_no_retry(failure, rule, standing, limits)
    if not is_of_a_route(failure):
        return (
            "nothing here names it a failure of a provider: "
            "give the exception a `status_code`, or name it with `classify=`"
        )
    if limits.swaps == 0:
        return f"{spent}, and moving to a sibling is not configured"
    if rule.swap is _When.NEVER and not may_swap:
        return f"{spent}, and no other route would do better"
    if failure.kind in limits.unmoved:
        return f"{spent}, and {failure.kind} moves no step here"
    if not may_swap:
        status = "no status" if failure.status is None else f"status {failure.status}"
        return f"{spent}, and {status} is not in `fallbackOnErrors`"
    if standing.sibling is None:
        return f"{spent}, and there is no further route to move to"
    return f"{spent}, and {standing.swaps} of {limits.swaps} swaps are made"


def _why_no_retry(failure: Failure, rule: _Rule, standing: Standing, limits: Limits) -> str:
    if rule.retry is _When.NEVER:
        return f"{failure.kind} is not retried"
    if failure.should_retry is False:
        return "the provider says not to retry"
    hint = _hint(failure, standing)
    if hint > limits.max_wait:
        return f"the provider asks for {hint:g} s, over {limits.max_wait:g} s"
    if standing.retries == 0:
        return "no retry is allowed"
    is_one = standing.retries == 1
    return (
        "the retry on this route is spent"
        if is_one
        else (f"{standing.retries} retries on this route are spent")
    )
