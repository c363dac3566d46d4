"""What an agent may catch from a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..provider.error import SidestepError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..provider.failure import Failure
    from ..provider.route import Route
    from .attempt import Attempt


class StoreError(SidestepError):
    """A session's store cannot be read or written, or is no store; nothing in it was changed."""


class StepFailed(SidestepError):
    """A step ended without an answer.

    Args:
        message: What happened, and what can be done about it.
        requested: The route that the agent asked for.
        attempts: Every attempt of the step, in order.
    """

    def __init__(self, message: str, *, requested: Route, attempts: Sequence[Attempt]) -> None:
        super().__init__(message)
        self.requested = requested
        self.attempts = tuple(attempts)

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
        self, message: str, *, tool: str, requested: Route, attempts: Sequence[Attempt]
    ) -> None:
        super().__init__(message, requested=requested, attempts=attempts)
        self.tool = tool


class StreamInterrupted(StepFailed):
    """An attempt failed after its output was shown, and ``onPartial`` is ``interrupt``.

    Args:
        emitted: What was shown, as the agent last handed it to `Attempt.emitted`.
    """

    def __init__(
        self, message: str, *, emitted: object, requested: Route, attempts: Sequence[Attempt]
    ) -> None:
        super().__init__(message, requested=requested, attempts=attempts)
        self.emitted = emitted
