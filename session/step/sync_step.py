"""A step without an event loop."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable, iscoroutine
from typing import TYPE_CHECKING, NoReturn, TypeVar

from .attempt_loop import SyncAttemptLoop, leave
from .base_step import BaseStep
from .step_error import reuse_error
from .sync_attempt import SyncAttempt
from .waiter import BLOCKING, Waiter, drive

T = TypeVar("T")


class SyncStep(BaseStep):
    """The attempts of one step. Iterate, and wrap your synchronous call in ``with attempt:``.

    Its ``route``, ``requested`` and ``attempts`` are those of `Step`.
    """

    __slots__ = ()
    waiter: Waiter = BLOCKING
    entry: str = "with attempt:"

    def __iter__(self) -> SyncAttemptLoop:
        if self.is_over:
            raise reuse_error("step_sync")
        return SyncAttemptLoop(self)

    def __next__(self) -> SyncAttempt:
        if self.is_over:
            raise StopIteration
        return drive(self.next_attempt(SyncAttempt))

    if not TYPE_CHECKING:  # a checker would take the step for an asynchronous one

        def __aiter__(self) -> NoReturn:
            raise TypeError(
                "`middleware.step_sync` is synchronous: write `for attempt in …`, or take "
                "`middleware.step(route)` in an event loop"
            )

    def close(self) -> None:
        """End the step if it has begun and has not ended, as after a loop that was left early."""
        leave(self)
        self.reporter.raise_interrupt()

    def run(self, call: Callable[[SyncAttempt], T]) -> T:
        """Return what *call* returns for the attempt that succeeds.

        This is the loop over the attempts as one expression.
        """
        for attempt in self:
            with attempt:
                reply = call(attempt)
                if isawaitable(reply):
                    if iscoroutine(reply):
                        reply.close()  # nobody will await it
                    raise TypeError(
                        f"`call` must be synchronous, but it returned {type(reply).__name__}: "
                        "write it without `async`, or take `middleware.step(route)`"
                    )
                return reply
        raise AssertionError("a step ends with an answer or an error")
