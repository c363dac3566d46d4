"""The deadline of what a reply waits for, at the price of a time stamp."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import anyio
import sniffio

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, TimerHandle


class IdleTimer(Protocol):
    """Cancels a scope when what is waited for is late."""

    @property
    def seconds_left(self) -> float:
        """How long it may still take; ``inf`` while nothing is waited for."""

    def expect(self, seconds: float) -> None:
        """Wait for something from now on, and for *seconds* at most."""

    def rest(self) -> None:
        """Wait for nothing."""

    def stop(self) -> None:
        """Wait for nothing ever again."""


def idle_timer(scope: anyio.CancelScope) -> IdleTimer:
    """Return what cancels *scope*, in the event loop that runs."""
    return (
        AsyncioIdleTimer(scope)
        if sniffio.current_async_library() == "asyncio"
        else ScopeIdleTimer(scope)
    )


class AsyncioIdleTimer:
    """A watch for asyncio, where to move the deadline of a scope makes a new timer each time.

    The time is only noted. One timer looks at it, and again when it will have come.
    """

    __slots__ = ("_due_at", "_looks_at", "_loop", "_now", "_scope", "_timer")

    def __init__(self, scope: anyio.CancelScope) -> None:
        from asyncio import get_running_loop  # loaded by now; above it would cost 20 ms to import

        self._scope = scope
        self._loop: AbstractEventLoop = get_running_loop()
        self._now = self._loop.time
        self._due_at = math.inf
        self._looks_at = math.inf
        self._timer: TimerHandle | None = None

    @property
    def seconds_left(self) -> float:
        """How long it may still take; ``inf`` while nothing is waited for."""
        return self._due_at - self._now()

    def expect(self, seconds: float) -> None:
        """Wait for something from now on, and for *seconds* at most."""
        now = self._now()
        self._due_at = now + seconds
        if self._due_at < self._looks_at:
            # Long before, so that an end which then moves nearer needs no other timer.
            self._look_at(now + seconds / 4)

    def rest(self) -> None:
        """Wait for nothing."""
        self._due_at = math.inf

    def stop(self) -> None:
        """Wait for nothing ever again."""
        self._due_at = math.inf
        if self._timer is not None:
            self._timer.cancel()

    def _look_at(self, instant: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._looks_at = instant
        self._timer = self._loop.call_at(instant, self._look)

    def _look(self) -> None:
        self._looks_at, self._timer = math.inf, None
        if self._now() >= self._due_at:
            self._scope.cancel()
        elif self._due_at < math.inf:
            self._look_at(self._due_at)


class ScopeIdleTimer:
    """A watch for any other loop: the deadline of the scope itself moves."""

    __slots__ = ("_scope",)

    def __init__(self, scope: anyio.CancelScope) -> None:
        self._scope = scope

    @property
    def seconds_left(self) -> float:
        """How long it may still take; ``inf`` while nothing is waited for."""
        return self._scope.deadline - anyio.current_time()

    def expect(self, seconds: float) -> None:
        """Wait for something from now on, and for *seconds* at most."""
        self._scope.deadline = anyio.current_time() + seconds

    def rest(self) -> None:
        """Wait for nothing."""
        self._scope.deadline = math.inf

    stop = rest
