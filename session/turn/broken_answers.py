"""The answers of one turn that broke off after a tool had run: how often, and what then."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..error import StepFailed
    from ..step.middleware import Sidestep


class Breaks:
    """Answers that broke off in a row; each is followed by a step that sees what the tools said.

    There are as many of them as there would be attempts in one step.
    """

    def __init__(self, middleware: Sidestep) -> None:
        self._middleware = middleware
        self._count = 0

    def forget(self) -> None:
        """Begin to count anew: an answer was whole."""
        self._count = 0

    def wait_after(self, error: StepFailed, asked: str) -> float | None:
        """Return how many seconds the next step is to wait; None where none is to follow *error*.

        Args:
            asked: What the next step asks for. Where it starts on another route that is healthy,
                it need not wait.
        """
        self._count += 1
        limits, policy = self._middleware.limits, self._middleware.policy
        if self._count > limits.retries + limits.swaps:
            return None
        failure = error.failure
        start = self._middleware.healthy(asked)
        is_left = failure is not None and start != failure.route
        if is_left and self._middleware.degraded.is_available(start):
            return 0.0
        hint = (failure.retry_after if failure is not None else None) or 0.0
        if hint > limits.max_wait:
            return None
        backoff = policy.backoff(self._count, self._middleware.rng)
        return max(min(backoff, limits.max_wait), hint)
