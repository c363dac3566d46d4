"""A step in an event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, NoReturn, TypeVar

from .attempt import Attempt
from .attempt_loop import AttemptLoop, leave
from .base_step import BaseStep
from .step_error import reuse_error
from .waiter import IN_LOOP, Waiter

T = TypeVar("T")


class Step(BaseStep):
    """The attempts of one step. Iterate, and wrap your call in ``async with attempt:``.

    After the step, ``route`` is the route that answered, ``requested`` the route that the agent
    asked for, and ``attempts`` lists every attempt in order.
    """

    __slots__ = ()
    waiter: Waiter = IN_LOOP
    entry: str = "async with attempt:"

    def __aiter__(self) -> AttemptLoop:
        if self.is_over:
            raise reuse_error("step")
        return AttemptLoop(self)

    def __anext__(self) -> Awaitable[Attempt]:
        return self.next_attempt(Attempt)

    if not TYPE_CHECKING:  # a checker would take a step for a list

        def __iter__(self) -> NoReturn:
            raise TypeError(
                "`middleware.step` is asynchronous: write `async for attempt in …`, or take "
                "`middleware.step_sync(route)` if there is no event loop"
            )

    async def aclose(self) -> None:
        """End the step if it has begun and has not ended, as after a loop that was left early."""
        leave(self)
        self.reporter.raise_interrupt()

    async def run(self, call: Callable[[Attempt], Awaitable[T]]) -> T:
        """Return what *call* returns for the attempt that succeeds.

        This is the loop over the attempts as one expression.
        """
        self.is_one_call = True
        async for attempt in self:
            async with attempt:
                reply = call(attempt)
                if not isawaitable(reply):
                    raise TypeError(
                        f"`call` must be asynchronous, but it returned {type(reply).__name__}: "
                        "write it with `async def`, or take `middleware.step_sync(route)`"
                    )
                return await reply
        raise AssertionError("a step ends with an answer or an error")
