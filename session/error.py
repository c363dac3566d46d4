"""What an agent may catch from a step."""

from __future__ import annotations

import pickle
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ..provider.error import SidestepError
from ..provider.failure import Failure
from ..provider.route import Route


class EndedAttempt(Protocol):
    """What an error keeps of an attempt."""

    @property
    def route(self) -> Route: ...
    @property
    def number(self) -> int: ...
    @property
    def failure(self) -> Failure | None: ...
    @property
    def seconds(self) -> float: ...
    @property
    def waited(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSummary:
    """What became of one attempt of a step that failed.

    Args:
        route: Where the request went.
        number: Which attempt of the step it was, from 1.
        failure: Why it failed; None if something else ended it, such as a cancellation.
        seconds: How long it took.
        waited: Seconds that the step slept before it.
    """

    route: Route
    number: int
    failure: Failure | None
    seconds: float
    waited: float


def summary_of(attempt: EndedAttempt) -> AttemptSummary:
    """Return what an error keeps of *attempt*."""
    return AttemptSummary(
        route=attempt.route,
        number=attempt.number,
        failure=attempt.failure,
        seconds=attempt.seconds,
        waited=attempt.waited,
    )


class StoreError(SidestepError):
    """A session's store cannot be read or written, or is no store; nothing in it was changed."""


class StepFailed(SidestepError):
    """A step ended without an answer.

    Args:
        message: What happened, and what can be done about it.
        requested: The route that the agent asked for.
        attempts: Every attempt of the step, in order.
    """

    def __init__(self, message: str, *, requested: Route, attempts: Iterable[EndedAttempt]) -> None:
        super().__init__(message)
        self.requested = requested
        self.attempts = tuple(map(summary_of, attempts))

    @property
    def failure(self) -> Failure | None:
        """Why the last attempt failed."""
        return self.attempts[-1].failure if self.attempts else None


class FallbackExhausted(StepFailed):
    """The step was swapped to other routes, and failed there as well; or no route could take it.

    In the latter case there are no attempts, and the message says what stood in the way.
    """


class ContextOverflow(StepFailed):
    """The conversation is too long for the model: compact it, then take the step again."""


class BudgetExceeded(StepFailed):
    """The turn, or the session, has taken what it may take.

    It is raised between attempts, or once its ``seconds`` are over, which cancel what is under
    way: no route is blamed for it, and none is tried in its stead.
    """


class FallbackUnsafe(StepFailed):
    """Another attempt might do something twice, because a tool had already run.

    Args:
        tool: The name of the tool.
    """

    def __init__(
        self, message: str, *, tool: str, requested: Route, attempts: Iterable[EndedAttempt]
    ) -> None:
        super().__init__(message, requested=requested, attempts=attempts)
        self.tool = tool


class StreamInterrupted(StepFailed):
    """An attempt failed after its output was shown, and ``onPartial`` is ``interrupt``.

    Args:
        emitted: What was shown, as the agent last handed it to `Attempt.emitted`. A pickle holds
            its `repr`, shortened, if it cannot be pickled itself.
    """

    def __init__(
        self, message: str, *, emitted: object, requested: Route, attempts: Iterable[EndedAttempt]
    ) -> None:
        super().__init__(message, requested=requested, attempts=attempts)
        self.emitted = emitted

    def __reduce__(self) -> tuple[Any, ...]:
        make, args, state = super().__reduce__()
        return make, args, state | {"emitted": _picklable(self.emitted)}


def _picklable(value: object) -> object:
    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001 - whatever an agent's own class raises
        return reprlib.repr(value)
    return value
