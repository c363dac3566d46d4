"""A clock to pass as a parameter: it reads the time and sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Protocol

import anyio


class Clock(Protocol):
    """Reads the time and sleeps; tests and drills bring their own.

    The clock measures the time left until a deadline, but the event loop's own timer cancels a
    running call. So use a clock that runs at another pace only without deadlines.
    """

    def time(self) -> float:
        """Return seconds from a clock that never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Sleep for *seconds*; a cancellation ends the sleep at once."""
        ...


class BlockingClock(Clock, Protocol):
    """A clock that also works for `Sidestep.step_sync`."""

    def wait(self, seconds: float) -> None:
        """Block this thread for *seconds*."""
        ...


def wait_of(clock: Clock) -> Callable[[float], object]:
    """Return how *clock* blocks a thread, the `wait` of a `BlockingClock`.

    Raises:
        TypeError: It has no such method.
    """
    wait: object = getattr(clock, "wait", None)
    if callable(wait) and not iscoroutinefunction(wait):
        return wait
    raise TypeError(
        f"the clock {type(clock).__name__} cannot wait without an event loop: "
        "give it a synchronous method `wait(seconds)`, which blocks"
    )


class SystemClock:
    """The monotonic clock of this machine."""

    time = staticmethod(time.monotonic)  # no wrapper, because a step reads it five times

    async def sleep(self, seconds: float) -> None:
        """Sleep for *seconds*."""
        await anyio.sleep(seconds)

    def wait(self, seconds: float) -> None:
        """Block this thread for *seconds*."""
        time.sleep(seconds)  # looked up now, because gevent and tests replace it
