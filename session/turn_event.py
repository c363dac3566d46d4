"""The events of a turn of our own `Session`, beside those of its steps. See `event`."""

from __future__ import annotations

from dataclasses import dataclass

from ..provider.conversation import Output, ToolState
from ..provider.route import Route


@dataclass(slots=True)
class ToolRunStarted:
    """The tool *name* has started."""

    id: str
    name: str


@dataclass(slots=True)
class ToolRunEnded:
    """A tool has ended.

    Args:
        state: ``completed``, ``error`` or ``interrupted``.
        output: The result of the tool; None after an interruption.
    """

    id: str
    name: str
    state: ToolState
    output: Output | None


@dataclass(slots=True)
class Compacted:
    """A conversation that was too long was shortened from *before* to *after* messages."""

    before: int
    after: int


@dataclass(slots=True)
class AttemptCost:
    """What an attempt cost. It comes before the event that reports how the attempt ended.

    Args:
        input: Tokens sent, including those read from a cache.
        output: Tokens that the model wrote, including its thinking.
        cache_read: Input tokens read from a cache; None: the provider did not report them.
        cache_write: Input tokens written to a cache; None: the provider did not report them.
        money: US dollars; None: no price was looked up, or none is known.
        is_estimated: Some tokens are estimates, because the provider reported none or too few.
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
    """A turn ended.

    Args:
        text: The answer without retracted parts. Empty after an error, except a `StoreError`: then
            it is the answer that could not be stored.
        route: The route that answered, or *requested* if none did.
        error: The class and message of the error that ended the turn; None after an answer.
    """

    text: str
    route: Route
    requested: Route
    error: dict[str, str] | None = None
