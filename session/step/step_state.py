"""What a step knows when an attempt has failed, and what may follow. See `decision`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...provider.route import Route
    from ..skip_reason import PassedOver


@dataclass(frozen=True, slots=True, kw_only=True)
class StepState:
    """What a step has done so far, and what it could do next, when an attempt has failed.

    Args:
        backoff: Seconds before the next retry, from the retry schedule.
        retries: Retries on this route since the step moved to it.
        hinted_wait: Seconds that this step waited on this route because the provider asked for it.
        swaps: Swaps in this step.
        sibling: The route that a swap would take; None if there is none.
        sibling_is_healthy: False: the sibling is degraded, or nothing may be sent there.
        passed_over: The nearer siblings, with the reason against each.
        is_probe: The attempt was the first on its route after a cooldown.
        is_degraded: The route is degraded already; another step may have degraded it meanwhile.
        is_retried_elsewhere: Another step is retrying the route.
        resets_in: Seconds until the provider's own reset; None if it named none.
        has_keys: The provider has several keys.
        next_key: The variable of the next key that is healthy and was not tried on this route; None
            if there is none, or if a key is not to blame.
        due_key: The variable of the key, among those that were tried and only rate limited, that is
            due back first; None if there is none.
        due_in: Seconds until it is due back.
        due_retries: Retries with it since the step moved to this route.
        repair: What a repair changes in the request; None: nothing, or it was done before.
    """

    backoff: float
    retries: int = 0
    hinted_wait: float = 0.0
    swaps: int = 0
    sibling: Route | None = None
    sibling_is_healthy: bool = False
    passed_over: PassedOver = ()
    is_probe: bool = False
    is_degraded: bool = False
    is_retried_elsewhere: bool = False
    resets_in: float | None = None
    has_keys: bool = False
    next_key: str | None = None
    due_key: str | None = None
    due_in: float = 0.0
    due_retries: int = 0
    repair: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Try the same route again after *wait* seconds.

    Args:
        allowed: Retries that the step may make on this route, this one among them.
        is_hinted: The provider's hint made the wait longer than the backoff.
        is_outage: The failure concerns the route, and not only this request.
        api_key_env: The variable of another key to use, which is due back first; None: the same.
        cooldown: Least seconds to degrade the present key for, if another one is used.
        is_exact: *cooldown* is exact, because the provider said for how long its limit holds.
    """

    wait: float
    allowed: int
    is_hinted: bool = False
    is_outage: bool = False
    api_key_env: str | None = None
    cooldown: float = 0.0
    is_exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NextKey:
    """Try the same route at once with another key, which is neither a retry nor a swap.

    Args:
        api_key_env: The variable of the key.
        cooldown: Least seconds to degrade the present key for; None: do not degrade it.
        is_exact: *cooldown* is exact, because the provider said for how long its limit holds.
    """

    api_key_env: str
    cooldown: float | None
    is_exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Try the same route again at once, with *what* changed in the request."""

    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Try *sibling* at once.

    Args:
        cooldown: Least seconds to degrade the failed route for; None: do not degrade it.
        passed_over: The nearer siblings, with the reason against each.
        awaits_retry: Another step retries the failed route, so that this step does not degrade it.
    """

    sibling: Route
    cooldown: float | None
    passed_over: PassedOver = ()
    awaits_retry: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The step fails.

    Args:
        why: Half a sentence for the person who reads the error.
        cooldown: As in `Swap`: a stop can still degrade its route, for the steps to come.
        may_move: The step would go on if another route was healthy.
        passed_over: The siblings of a step that would have swapped, with the reason against
            each; empty if it would not have swapped.
    """

    why: str
    cooldown: float | None
    passed_over: PassedOver = ()
    may_move: bool = False


Decision = Retry | NextKey | Repair | Swap | Stop
