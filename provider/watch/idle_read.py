"""Reading one block of a body, at most as long as output may take."""

from __future__ import annotations

import math
import time
from asyncio import CancelledError, current_task
from typing import TYPE_CHECKING

import anyio

from ..client.idle_timer import AsyncioIdleTimer

if TYPE_CHECKING:
    from asyncio import Task
    from collections.abc import AsyncIterator, Iterator


class LateError(Exception):
    """No output came in time."""


class AsyncioReader(AsyncioIdleTimer):
    """Watches the reads of one body on asyncio, with one timer for all of them.

    A scope round each read would cost more than the read. The timer cancels the task that reads,
    and the reader takes this cancellation back.

    Args:
        seconds: How long the first output may take.
    """

    __slots__ = ("_cancelling", "_is_late", "_left", "_task")

    def __init__(self, seconds: float) -> None:
        super().__init__(self)
        self._left = seconds
        self._is_late = False
        self._task: Task[object] | None = None
        self._cancelling = 0

    def begin(self) -> None:
        """Note that the running task begins to read."""
        task = self._task = current_task(self._loop)
        assert task is not None  # noqa: S101
        self._cancelling = task.cancelling()
        now = self._loop.time()
        self._due_at = now + self._left
        if self._due_at < self._checks_at:
            self._check_at(now + self._left / 4)  # as in `expect`; this saves one call

    def got(self, seconds: float | None) -> None:
        """Note that the read is over; expect output within *seconds* of the next.

        None: the read brought no output, so that the present time limit goes on.
        """
        self._left = self._due_at - self._loop.time() if seconds is None else seconds
        self._due_at = math.inf

    def explained(self, error: BaseException) -> BaseException:
        """Return what *error*, of a read, means: a `LateError`, or *error* itself."""
        if not self._is_late or self._task is None:
            return error
        # The host may have cancelled the task as well.
        if self._task.uncancel() > self._cancelling and isinstance(error, CancelledError):
            return error
        return LateError()

    def cancel(self) -> None:
        """Cancel the read; the timer calls it."""
        self._is_late = True
        if self._task is not None:
            self._task.cancel()


class ScopeReader:
    """Reads on any other event loop, with a scope round each read."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    def expect(self, seconds: float) -> None:
        """Expect output within *seconds* of reading."""
        self._left = seconds

    async def read(self, blocks: AsyncIterator[bytes]) -> bytes:
        """Return the next block.

        Raises:
            LateError: It did not come in time.
        """
        started_at = anyio.current_time()
        with anyio.move_on_after(self._left):
            try:
                return await blocks.__anext__()
            finally:
                self._left -= anyio.current_time() - started_at
        raise LateError

    def stop(self) -> None:
        """Read no more."""


class BlockingReader:
    """Reads without an event loop, where only the transport can end a read that lasts too long."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    def expect(self, seconds: float) -> None:
        """Expect output within *seconds* of reading."""
        self._left = seconds

    def read(self, blocks: Iterator[bytes]) -> bytes:
        """Return the next block.

        Raises:
            LateError: What came before was no output, and it took too long.
        """
        if self._left <= 0:
            raise LateError
        started_at = time.monotonic()
        try:
            return next(blocks)
        finally:
            self._left -= time.monotonic() - started_at
