"""The errors of sidestep: this tree, and what they keep of each attempt.

- SidestepError: every error that sidestep raises on purpose
  - ConfigError: a setting is wrong
  - InstallError: data that the package brings is missing
  - ProviderError: an attempt on a route failed
  - StoreError: a session's store cannot be used
  - StepFailed: a step ended without an answer
    - FallbackExhausted: no other route answered either, or no route could take the step
    - ContextOverflow: the conversation is too long for the model
    - BudgetExceeded: a budget is spent, or the turn has taken all its steps
    - FallbackUnsafe: another attempt might run a tool twice
    - StreamInterrupted: an attempt failed after its output was shown

The root and the first three below it are in `provider.error`. A deadline that passes raises the
built-in `TimeoutError`.
"""

from __future__ import annotations

import pickle
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ..provider.error import SidestepError
from ..provider.failure import Failure
from ..provider.route import Route
from ..provider.secret import redact_shapes


class EndedAttempt(Protocol):
    """An attempt, as far as `summary_of` reads it."""

    @property
    def route(self) -> Route: ...
    @property
    def api_key_env(self) -> str | None: ...
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
    """How one attempt of a failed step ended.

    Args:
        route: Where the request went.
        number: Which attempt of the step it was, from 1.
        failure: Why it failed; None if something else ended it, such as a cancellation.
        seconds: How long it took.
        waited: Seconds that the step slept before it.
        api_key_env: The variable of its key; None: the provider needs no key, or
            sidestep does not know it.
    """

    route: Route
    number: int
    failure: Failure | None
    seconds: float
    waited: float
    api_key_env: str | None = None


def summary_of(attempt: EndedAttempt) -> AttemptSummary:
    """Return the summary of *attempt* that an error keeps."""
    return AttemptSummary(
        route=attempt.route,
        number=attempt.number,
        failure=attempt.failure,
        seconds=attempt.seconds,
        waited=attempt.waited,
        api_key_env=attempt.api_key_env,
    )


class StoreError(SidestepError):
    """A session's store cannot be used. The store is unchanged.

    The message has the reason: its file cannot be read or written, or is no store, or the store is
    closed. What looks like a key is not repeated.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(redact_shapes(message))


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
        """Why the last attempt failed. None: there were no attempts."""
        return self.attempts[-1].failure if self.attempts else None


class FallbackExhausted(StepFailed):
    """The step failed on other routes as well; or no route could take it.

    If no route could take it, there are no attempts, and the message has a reason for each.
    """


class ContextOverflow(StepFailed):
    """The conversation is too long for the model: shorten it, then take the step again.

    A route refused it for its length, or a route was passed over because of its window and no other
    route answered. The cause is the exception of the last attempt.

    Args:
        window: The window of the route on which the next step will start, in tokens of request and
            answer together; None: unknown.
    """

    def __init__(
        self,
        message: str,
        *,
        window: int | None = None,
        requested: Route,
        attempts: Iterable[EndedAttempt],
    ) -> None:
        super().__init__(message, requested=requested, attempts=attempts)
        self.window = window


class BudgetExceeded(StepFailed):
    """A budget leaves no further attempt, or the turn has taken `max_steps` steps.

    Or `max_wrong_answers` answers in a row held only calls that cannot be run.

    Raised between attempts, or when ``seconds`` run out (this cancels the running call). No route
    is degraded and no other route is tried.
    """


class FallbackUnsafe(StepFailed):
    """Another attempt might run *tool* twice, because it had already run.

    Args:
        tool: The name of the tool.
    """

    def __init__(
        self, message: str, *, tool: str, requested: Route, attempts: Iterable[EndedAttempt]
    ) -> None:
        super().__init__(message, requested=requested, attempts=attempts)
        self.tool = tool


class StreamInterrupted(StepFailed):
    """An attempt failed after its output was shown, which cannot be taken back.

    Output cannot be taken back if ``onPartial`` is ``interrupt``, or if the agent passed
    ``can_retract=False`` to `Attempt.emitted`.

    Args:
        emitted: The output that was shown: the last argument of `Attempt.emitted`. If it cannot
            be pickled, a pickle holds its shortened `repr`.
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
    """Return *value*, or its shortened `repr` if it cannot be pickled."""
    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001 - an agent's own class may raise anything
        return reprlib.repr(value)
    return value
