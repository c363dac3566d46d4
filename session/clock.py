"""A clock to pass as a parameter: it reads the time and sleeps."""

from __future__ import annotations

import time
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


class SystemClock:
    """The monotonic clock of this machine."""

    time = staticmethod(time.monotonic)  # no wrapper, because a step reads it five times

    async def sleep(self, seconds: float) -> None:
        """Sleep for *seconds*."""
        await anyio.sleep(seconds)
