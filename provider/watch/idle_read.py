"""Reading one block of a body, at most as long as output may take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio

from ..client.idle_timer import AsyncioIdleTimer

if TYPE_CHECKING:
    from asyncio import Task
    from collections.abc import AsyncIterator, Iterator


class LateError(Exception):
    """No output came in time."""


class AsyncioReader:
    """Reads on asyncio, with one timer for the whole body.

    A scope round each read would cost more than the read. The timer cancels the task that reads,
    and the reader takes this cancellation back.
    """

    def __init__(self, seconds: float) -> None:
        from asyncio import CancelledError, current_task  # imported by now

        self._left = seconds
        self._timer = AsyncioIdleTimer(self)
        self._is_late = False
        self._task: Task[object] | None = None
        self._current_task = current_task
        self._cancelled = CancelledError

    def expect(self, seconds: float) -> None:
        """Expect output within *seconds* of reading."""
        self._left = seconds

    async def read(self, blocks: AsyncIterator[bytes]) -> bytes:
        """Return the next block.

        Raises:
            LateError: It did not come in time.
        """
        task = self._task = self._current_task()
        assert task is not None  # noqa: S101
        cancelling = task.cancelling()
        self._timer.expect(self._left)
        try:
            return await blocks.__anext__()
        except BaseException as error:
            if not self._is_late:
                raise
            # The host may have cancelled the task as well.
            if task.uncancel() > cancelling and isinstance(error, self._cancelled):
                raise
            raise LateError from None
        finally:
            self._left = self._timer.seconds_left
            self._timer.rest()

    def cancel(self) -> None:
        """Cancel the read; the timer calls it."""
        self._is_late = True
        if self._task is not None:
            self._task.cancel()

    def stop(self) -> None:
        """Read no more."""
        self._timer.stop()


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
