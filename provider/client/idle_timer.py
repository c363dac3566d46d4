"""Idle timers: cancel a scope when output is late, at the cost of a time stamp for each event."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import anyio
import sniffio

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, TimerHandle


class Cancellable(Protocol):
    """A scope, or something else that is cancelled when output is late."""

    def cancel(self) -> None:
        """Stop waiting for the output."""


class IdleTimer(Protocol):
    """Cancels a scope when the expected output is late."""

    @property
    def seconds_left(self) -> float:
        """Seconds until the scope is cancelled; ``inf``: nothing is expected."""

    def expect(self, seconds: float) -> None:
        """Expect output within *seconds* from now."""

    def rest(self) -> None:
        """Expect nothing for now."""

    def stop(self) -> None:
        """Expect nothing ever again."""


def idle_timer(scope: anyio.CancelScope) -> IdleTimer:
    """Return a timer that cancels *scope*, for the running event loop."""
    return (
        AsyncioIdleTimer(scope)
        if sniffio.current_async_library() == "asyncio"
        else ScopeIdleTimer(scope)
    )


class AsyncioIdleTimer:
    """An idle timer for asyncio, because there every move of a deadline makes a new timer.

    This one only stores the deadline. One timer of the loop checks it, and again when it is due.
    """

    __slots__ = ("_checks_at", "_due_at", "_loop", "_scope", "_timer")

    def __init__(self, scope: Cancellable) -> None:
        from asyncio import get_running_loop  # imported by now; at the top it would cost 20 ms

        self._scope = scope
        self._loop: AbstractEventLoop = get_running_loop()
        self._due_at = math.inf
        self._checks_at = math.inf
        self._timer: TimerHandle | None = None

    @property
    def seconds_left(self) -> float:
        """Seconds until the scope is cancelled; ``inf``: nothing is expected."""
        return self._due_at - self._loop.time()

    def expect(self, seconds: float) -> None:
        """Expect output within *seconds* from now."""
        now = self._loop.time()
        self._due_at = now + seconds
        if self._due_at < self._checks_at:
            # Early, so that a deadline that then moves nearer needs no other timer.
            self._check_at(now + seconds / 4)

    def rest(self) -> None:
        """Expect nothing for now."""
        self._due_at = math.inf

    def stop(self) -> None:
        """Expect nothing ever again."""
        self._due_at = math.inf
        if self._timer is not None:
            self._timer.cancel()

    def _check_at(self, instant: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._checks_at = instant
        self._timer = self._loop.call_at(instant, self._check)

    def _check(self) -> None:
        self._checks_at, self._timer = math.inf, None
        if self._loop.time() >= self._due_at:
            self._scope.cancel()
        elif self._due_at < math.inf:
            self._check_at(self._due_at)


class ScopeIdleTimer:
    """An idle timer for any other loop: it moves the deadline of the scope itself."""

    __slots__ = ("_scope",)

    def __init__(self, scope: anyio.CancelScope) -> None:
        self._scope = scope

    @property
    def seconds_left(self) -> float:
        """Seconds until the scope is cancelled; ``inf``: nothing is expected."""
        return self._scope.deadline - anyio.current_time()

    def expect(self, seconds: float) -> None:
        """Expect output within *seconds* from now."""
        self._scope.deadline = anyio.current_time() + seconds

    def rest(self) -> None:
        """Expect nothing for now."""
        self._scope.deadline = math.inf

    stop = rest
