"""The loop over the attempts of a step, which ends the step if it is left early."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from .attempt import Attempt

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .base_step import BaseStep
    from .sync_attempt import SyncAttempt
    from .sync_step import SyncStep


class BaseAttemptLoop:
    """What a loop over a step iterates over.

    Nothing but the loop refers to it, so that it is dropped as soon as the loop is left, and the
    step with its attempts may be kept.
    """

    __slots__ = ("_step",)

    def __init__(self, step: BaseStep) -> None:
        self._step = step

    def __del__(self) -> None:
        if self._step.following is not None:  # nobody has taken the next attempt
            leave(self._step)
        self._step.release_reserved()  # whoever enters the attempt later reserves it again


class AttemptLoop(BaseAttemptLoop):
    """What ``async for attempt in step`` iterates over."""

    __slots__ = ()

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[Attempt]:
        return self._step.next_attempt(Attempt, self)


class SyncAttemptLoop(BaseAttemptLoop):
    """What ``for attempt in step`` iterates over."""

    __slots__ = ()
    _step: SyncStep

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> SyncAttempt:
        return next(self._step)


def leave(step: BaseStep) -> None:
    """End *step*, because its loop was left, if it has begun and not ended."""
    if step.has_begun and not step.is_over:
        left = GeneratorExit("the loop over the attempts was left")
        end_open_attempt(step, left)
        step.end(left)


def end_open_attempt(step: BaseStep, error: BaseException) -> None:
    """Record that *error* ends an attempt of *step* that is still open, and the step with it."""
    if step.attempts and not step.attempts[-1].has_ended:
        attempt = step.attempts[-1]
        attempt.has_ended = True
        attempt.seconds = step.clock.time() - attempt.started_at
        step.abandoned(attempt, error, is_late=False)
