"""The instant at which a step or a turn must end."""

from __future__ import annotations

import anyio

from .clock import Clock


class Deadline:
    """An instant on *clock*, or none.

    Args:
        at: The instant in seconds of *clock*; None: there is no deadline.
    """

    __slots__ = ("_clock", "at")

    def __init__(self, clock: Clock, at: float | None) -> None:
        self._clock = clock
        self.at = at

    @classmethod
    def after(cls, clock: Clock, seconds: float | None) -> Deadline:
        """Return the deadline in *seconds* from now; None: no deadline."""
        return cls(clock, None if seconds is None else clock.time() + seconds)

    def left(self) -> float | None:
        """Return the seconds left, 0 or less once the deadline has passed; None: no deadline."""
        return None if self.at is None else self.at - self._clock.time()

    def has_passed(self) -> bool:
        """True once the clock has reached the deadline."""
        return self.at is not None and self._clock.time() >= self.at

    def cap(self, seconds: float) -> float:
        """Return *seconds*, or the seconds left if they are fewer."""
        left = self.left()
        return seconds if left is None else min(seconds, left)

    def scope(self) -> anyio.CancelScope:
        """Return a scope that the event loop cancels at the deadline."""
        left = self.left()
        return anyio.move_on_after(None if left is None else max(left, 0.0))

    def or_earlier(self, at: float | None) -> Deadline:
        """Return this deadline, or a deadline at *at* if that is earlier; None: never."""
        is_earlier = at is not None and (self.at is None or at < self.at)
        return Deadline(self._clock, at) if is_earlier else self
