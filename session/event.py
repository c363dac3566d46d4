"""The events that a listener gets.

Events are slotted but not frozen, because a frozen event takes four times as long to build.
``step`` numbers the steps of one `Sidestep`, from 1; ``attempt`` numbers the attempts of one step,
from 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ..provider.delta import Delta, ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from ..provider.failure import Failure, Scope
from ..provider.route import Route
from .callback import is_own_error, log_callback_error, refuse_awaitable
from .turn_event import AttemptCost, Compacted, ToolRunEnded, ToolRunStarted, TurnEnded


@dataclass(slots=True)
class StepStarted:
    """A step starts on *route*: *requested*, unless that route is passed over.

    Args:
        reason: Why *requested* is passed over; None: it is not.
        cold_tokens: Input tokens that *route* has no cache of, because the step before was on
            another one; None: it was not, or the number is not known.
        cold_money: Their price in US dollars; None: not known.
    """

    step: int
    requested: Route
    route: Route
    reason: str | None = None
    cold_tokens: int | None = None
    cold_money: float | None = None


@dataclass(slots=True)
class AttemptStarted:
    """A request is about to be sent.

    Args:
        api_key_env: The variable of its key; None: the provider has one key or none. ``the client's
            own key`` stands for a key that a client of `Serve` has sent.
    """

    step: int
    attempt: int
    route: Route
    api_key_env: str | None = None


@dataclass(slots=True)
class AttemptFailed:
    """An attempt failed after *seconds*; *api_key_env*: as in `AttemptStarted`."""

    step: int
    attempt: int
    route: Route
    failure: Failure
    seconds: float
    api_key_env: str | None = None


@dataclass(slots=True)
class PartsRetracted:
    """The output of this attempt is void; take it back."""

    step: int
    attempt: int
    route: Route


@dataclass(slots=True)
class Waiting:
    """*attempt* starts on the same route in *seconds*."""

    step: int
    attempt: int
    route: Route
    seconds: float
    failure: Failure


@dataclass(slots=True)
class UnavailableRoute:
    """A route for which a step waits.

    Args:
        reason: The kind and status of its failure, or what keeps steps from it.
        seconds: Until it is due back; None: not known, because another step is probing the route,
            or retrying it.
        api_key_env: The variable of the key that is back first; None: the provider has one key, or
            none.
    """

    route: Route
    reason: str
    seconds: float | None
    api_key_env: str | None = None


@dataclass(slots=True)
class PatienceStarted:
    """The step would fail, but *routes* are out only for a while: it waits for the first of them.

    Args:
        attempt: The attempt that follows.
        seconds: Until the first route is due back, or the step waits no longer.
        patience: The most seconds that the step may wait for it.
        failure: Of the last attempt.
    """

    step: int
    attempt: int
    seconds: float
    patience: float
    routes: tuple[UnavailableRoute, ...]
    failure: Failure


@dataclass(slots=True)
class PatienceWaiting:
    """A further minute has passed, and the first route is due back in *seconds*."""

    step: int
    attempt: int
    seconds: float


@dataclass(slots=True)
class KeyChanged:
    """The step continues on *route* at once, with the key in the variable *next_key_env*."""

    step: int
    route: Route
    api_key_env: str
    next_key_env: str
    failure: Failure


@dataclass(slots=True)
class Repaired:
    """*attempt* starts on the same route at once, with *change* made in its request."""

    step: int
    attempt: int
    route: Route
    change: str
    failure: Failure


@dataclass(slots=True)
class RouteDegraded:
    """*route* is degraded for *seconds*: steps start on a sibling if one is available.

    Args:
        scope: What is degraded: the route, the key in *api_key_env* on this route, or this key with
            all routes of the provider. If the provider has one key, its key on the route is the
            route.
        api_key_env: As in `AttemptStarted`.
        reset_at: When the provider's limit resets, if that is later than any cooldown may end. The
            route is probed meanwhile. None: no such reset is known.
    """

    step: int
    route: Route
    seconds: float
    failure: Failure
    scope: Scope = Scope.ROUTE
    api_key_env: str | None = None
    reset_at: datetime | None = None


@dataclass(slots=True)
class CandidateSkipped:
    """*route* was passed over because of *reason*."""

    step: int
    route: Route
    reason: str


@dataclass(slots=True)
class Swapped:
    """The step continues on *route* at once; this is swap *swaps* of at most *max_swaps*.

    Args:
        cold_tokens: Input tokens that *route* has no cache of; None: not known.
        cold_money: Their price in US dollars; None: not known.
    """

    step: int
    from_route: Route
    route: Route
    failure: Failure
    swaps: int
    max_swaps: int
    cold_tokens: int | None = None
    cold_money: float | None = None


@dataclass(slots=True)
class ProbeStarted:
    """This attempt is the first on *route* after its cooldown."""

    step: int
    attempt: int
    route: Route


@dataclass(slots=True)
class ProbeEnded:
    """A probe ended; after the verdict ``none`` the next step probes *route* again."""

    step: int
    attempt: int
    route: Route
    verdict: Literal["healthy", "degraded", "none"]


@dataclass(slots=True)
class StepEnded:
    """A step ended on *route*: the route that answered, or *requested* if none did.

    Args:
        error: The error that ended the step, as ``Class: message``; None after an answer.
    """

    step: int
    requested: Route
    route: Route
    attempts: int
    swaps: int
    error: str | None


EngineEvent = (
    StepStarted
    | AttemptStarted
    | AttemptFailed
    | PartsRetracted
    | Waiting
    | PatienceStarted
    | PatienceWaiting
    | KeyChanged
    | Repaired
    | RouteDegraded
    | CandidateSkipped
    | Swapped
    | ProbeStarted
    | ProbeEnded
    | StepEnded
)
Event = EngineEvent | Delta | ToolRunStarted | ToolRunEnded | Compacted | AttemptCost | TurnEnded
Listener = Callable[[Event], None]

__all__ = [
    "AttemptCost",
    "AttemptFailed",
    "AttemptStarted",
    "CandidateSkipped",
    "Compacted",
    "Delta",
    "EngineEvent",
    "Event",
    "KeyChanged",
    "Listener",
    "PartsRetracted",
    "PatienceStarted",
    "PatienceWaiting",
    "ProbeEnded",
    "ProbeStarted",
    "ReasoningDelta",
    "Repaired",
    "RouteDegraded",
    "StepEnded",
    "StepStarted",
    "Swapped",
    "TextDelta",
    "ToolCallEnded",
    "ToolCallStarted",
    "ToolRunEnded",
    "ToolRunStarted",
    "TurnEnded",
    "UnavailableRoute",
    "Waiting",
    "log_listener_error",
    "notify",
]


def notify(listener: Callable[[Event], object], event: Event) -> None:
    """Call *listener* with *event*; log its exception, because it must not end a turn."""
    try:
        returned = listener(event)
        if returned is not None:
            refuse_awaitable("on_event", returned)
    except BaseException as exc:
        if not is_own_error(exc):
            raise
        log_listener_error(event)


def log_listener_error(event: Event) -> None:
    """Log what a listener has just raised on *event*."""
    log_callback_error(f"`on_event` raised on {type(event).__name__}")
