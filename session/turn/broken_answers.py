"""Count answers that broke off after a tool ran, and return how long to wait after each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..error import StepFailed
    from ..step.middleware import Sidestep


class BrokenAnswers:
    """Count the answers in a row that broke off after a tool had run.

    After each, a new step sees the results of the tools. A turn may have as many broken answers
    in a row as a step may have retries and swaps.
    """

    def __init__(self, middleware: Sidestep) -> None:
        self._middleware = middleware
        self._count = 0

    def reset(self) -> None:
        """Count from 0 again, because an answer was complete."""
        self._count = 0

    def wait_after(self, error: StepFailed, target: str) -> float | None:
        """Return the seconds to wait before the next step; None: no step follows *error*.

        Args:
            target: What the next step asks for. It does not wait if it starts on another route
                that is healthy.
        """
        self._count += 1
        limits, policy = self._middleware.limits, self._middleware.policy
        if self._count > limits.max_retries + limits.max_swaps:
            return None
        failure = error.failure
        start = self._middleware.healthy(target)
        is_left = failure is not None and start != failure.route
        if is_left and self._middleware.degraded.is_available(start):
            return 0.0
        hint = (failure.retry_after if failure is not None else None) or 0.0
        if hint > limits.max_wait:
            return None
        backoff = policy.backoff(self._count, self._middleware.rng)
        return max(min(backoff, limits.max_wait), hint)
