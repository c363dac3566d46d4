"""Time and sleep, as a parameter."""

from __future__ import annotations

import time
from typing import Protocol

import anyio


class Clock(Protocol):
    """What reads the time and waits; tests and drills bring their own.

    What is left until a deadline is read from it, but a call under way is cut off by the event
    loop's own time: a clock that runs at another pace is for rehearsals without deadlines.
    """

    def time(self) -> float:
        """Read a clock that never goes back, in seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Come back after *seconds*; a cancellation ends it at once."""
        ...


class SystemClock:
    """The monotonic clock of this machine."""

    time = staticmethod(time.monotonic)  # itself, for it is read five times in a step

    async def sleep(self, seconds: float) -> None:
        """Come back after *seconds*."""
        await anyio.sleep(seconds)
