"""What a listener is told while a step runs.

Events are slotted but not frozen: a frozen one costs four times as much to build. ``step``
numbers the steps of one `Sidestep`, from 1; ``attempt`` numbers the attempts of one step, from 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

from ..provider.conversation import Output, ToolState
from ..provider.delta import Delta, ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from ..provider.failure import Failure
from ..provider.route import Route
from .callback import log_raised


@dataclass(slots=True)
class StepStarted:
    """A step begins on *route*, which is not *requested* while that one is degraded."""

    step: int
    requested: Route
    route: Route


@dataclass(slots=True)
class AttemptStarted:
    """A request is about to be made."""

    step: int
    attempt: int
    route: Route


@dataclass(slots=True)
class AttemptFailed:
    """An attempt failed *seconds* after it began."""

    step: int
    attempt: int
    route: Route
    failure: Failure
    seconds: float


@dataclass(slots=True)
class PartsRetracted:
    """Whatever this attempt emitted is void; take it back."""

    step: int
    attempt: int
    route: Route


@dataclass(slots=True)
class Waiting:
    """*attempt* will be made on the same route in *seconds*."""

    step: int
    attempt: int
    route: Route
    seconds: float
    failure: Failure


@dataclass(slots=True)
class Repaired:
    """*attempt* will be made on the same route at once, with *change* made in its request."""

    step: int
    attempt: int
    route: Route
    change: str
    failure: Failure


@dataclass(slots=True)
class RouteDegraded:
    """Steps start elsewhere for *seconds*, where there is elsewhere."""

    step: int
    route: Route
    seconds: float
    failure: Failure


@dataclass(slots=True)
class CandidateSkipped:
    """*route* was passed over."""

    step: int
    route: Route
    reason: str


@dataclass(slots=True)
class Swapped:
    """The step goes on at *route* at once; it is swap *swaps* of at most *max_swaps*."""

    step: int
    from_route: Route
    route: Route
    failure: Failure
    swaps: int
    max_swaps: int


@dataclass(slots=True)
class ProbeStarted:
    """This attempt finds out whether *route* is back after its cooldown."""

    step: int
    attempt: int
    route: Route


@dataclass(slots=True)
class ProbeEnded:
    """The route answered, failed again, or neither, in which case the next step probes it."""

    step: int
    attempt: int
    route: Route
    verdict: Literal["healthy", "degraded", "none"]


@dataclass(slots=True)
class StepEnded:
    """A step ended on *route*: the one that answered, or *requested* where none did.

    Args:
        error: What ended it, as ``Class: message``; None after an answer.
    """

    step: int
    requested: Route
    route: Route
    attempts: int
    swaps: int
    error: str | None


@dataclass(slots=True)
class ToolRunStarted:
    """The tool that a call names has begun."""

    id: str
    name: str


@dataclass(slots=True)
class ToolRunEnded:
    """A tool has ended.

    Args:
        state: ``completed``, ``error`` or ``interrupted``.
        output: What it said; None after an interruption.
    """

    id: str
    name: str
    state: ToolState
    output: Output | None


@dataclass(slots=True)
class Compacted:
    """A conversation that was too long was made shorter; the numbers are of its messages."""

    before: int
    after: int


@dataclass(slots=True)
class Spent:
    """What an attempt took, told before it is told how it ended.

    Args:
        input: Tokens sent, those that a cache had as well.
        cache_read: Those of them that a cache had; None where the provider did not say.
        cache_write: Those of them that a cache took; None where the provider did not say.
        money: US dollars; None where no price was looked up, or none is known.
        is_estimated: The provider left some of the tokens to be estimated.
    """

    step: int
    attempt: int
    route: Route
    input: int
    output: int
    cache_read: int | None
    cache_write: int | None
    money: float | None
    is_estimated: bool


@dataclass(slots=True)
class TurnEnded:
    """The agent hands back.

    Args:
        text: The answer, with nothing retracted in it; empty after an error, but for a
            `StoreError`, after which it is what was answered and could not be kept.
        route: The route that answered, or *requested* where none did.
        error: The class and message of what ended the turn; None after an answer.
    """

    text: str
    route: Route
    requested: Route
    error: dict[str, str] | None = None


EngineEvent = (
    StepStarted
    | AttemptStarted
    | AttemptFailed
    | PartsRetracted
    | Waiting
    | Repaired
    | RouteDegraded
    | CandidateSkipped
    | Swapped
    | ProbeStarted
    | ProbeEnded
    | StepEnded
)
Event = EngineEvent | Delta | ToolRunStarted | ToolRunEnded | Compacted | Spent | TurnEnded
Listener = Callable[[Event], None]

__all__ = [
    "AttemptFailed",
    "AttemptStarted",
    "CandidateSkipped",
    "Compacted",
    "Delta",
    "EngineEvent",
    "Event",
    "Listener",
    "PartsRetracted",
    "ProbeEnded",
    "ProbeStarted",
    "ReasoningDelta",
    "Repaired",
    "RouteDegraded",
    "Spent",
    "StepEnded",
    "StepStarted",
    "Swapped",
    "TextDelta",
    "ToolCallEnded",
    "ToolCallStarted",
    "ToolRunEnded",
    "ToolRunStarted",
    "TurnEnded",
    "Waiting",
    "failure_to_json",
    "notify",
    "to_json",
]


def notify(listener: Listener, event: Event) -> None:
    """Hand *event* to *listener*; what that raises is logged, since it must not end a turn."""
    try:
        listener(event)
    except Exception:  # noqa: BLE001 - it is logged
        log_raised(f"`on_event` raised on {type(event).__name__}")


def to_json(event: Event) -> dict[str, Any]:
    """Return *event* as plain data, its class name under ``event``."""
    pairs = ((field.name, getattr(event, field.name)) for field in fields(event))
    return {"event": type(event).__name__} | {name: _value_to_json(value) for name, value in pairs}


def _value_to_json(value: object) -> object:
    if isinstance(value, Failure):
        return failure_to_json(value)
    if isinstance(value, list):  # what a tool said, with pictures in it
        from ..provider.conversation_json import part_to_json

        return [part_to_json(part) for part in value]
    return value


def failure_to_json(failure: Failure) -> dict[str, Any]:
    """Return what *failure* says of itself as plain data."""
    return {
        "kind": failure.kind,
        "status": failure.status,
        "code": failure.code,
        "message": failure.message,
        "retry_after": failure.retry_after,
        "reset_at": failure.reset_at and failure.reset_at.isoformat(),
        "stage": failure.stage,
        "request_id": failure.request_id,
    }
