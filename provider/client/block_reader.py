"""Read the blocks of a body when the agent's code runs between two blocks.

The agent may leave an asynchronous generator in the middle, asyncio may cancel its task at any
moment, even twice, and the collector may close the generators of a body in any order. So no cancel
scope stays open from one block to the next, and a task of ours reads the body. Only we cancel that
task, because httpcore loses a connection if it is cancelled while it closes the connection.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Self

import anyio
import sniffio

from ..background_task import BackgroundTask
from .idle_timer import AsyncioIdleTimer

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import AsyncIterator, Callable

    from .idle_timer import IdleTimer

_MOST = 16
"""The number of blocks that are read before the agent asks for them."""


class BlockReader:
    """Reads the blocks of a body in a task of its own, and passes them on.

    Args:
        blocks: The body.
        late: Returns the error to raise if the next block does not arrive in time.

    Attributes:
        timer: Knows when the next block is due.
    """

    def __init__(self, blocks: AsyncIterator[bytes], late: Callable[[], Exception]) -> None:
        self._blocks = blocks
        self._late = late
        self._read: deque[bytes] = deque()
        # What the agent waits for: on asyncio a bare future, which costs half as much.
        self._arrival: Future[None] | anyio.Event | None = None
        self._room: anyio.Event | None = None  # for another block
        is_asyncio = sniffio.current_async_library() == "asyncio"
        self._due = None if is_asyncio else DueTimer()
        self.timer: IdleTimer = self._due or AsyncioIdleTimer(self)
        if is_asyncio:
            from asyncio import get_running_loop  # imported by now; at the top it costs 20 ms

            self._future = get_running_loop().create_future
        self._task = BackgroundTask(self._read_all, self._wake)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while not self._read:
            if self._task.has_ended:
                raise self._task.error or StopAsyncIteration
            if self.timer.seconds_left <= 0:  # also if a block came that was no output
                raise self._late()
            await self._wait()
        block = self._read.popleft()
        if self._room is not None:
            self._room.set()
        return block

    async def _wait(self) -> None:
        """Wait for a block, the end, or the time when a block is late."""
        if self._due is None:
            self._arrival = self._future()
            await self._arrival
        else:
            self._arrival = arrival = anyio.Event()
            with anyio.CancelScope(deadline=self._due.due_at):
                await arrival.wait()

    def cancel(self) -> None:
        """Let the code that awaits the next block look at the timer, which has run out."""
        self._wake()

    async def aclose(self, *, seconds: float) -> None:
        """End the reading, after *seconds* even if the connection has not closed yet."""
        await self._task.aclose(seconds=seconds)

    async def _read_all(self) -> None:
        async for block in self._blocks:
            self._read.append(block)
            self._wake()
            if len(self._read) >= _MOST:
                self._room = anyio.Event()
                await self._room.wait()

    def _wake(self) -> None:
        arrival, self._arrival = self._arrival, None
        if isinstance(arrival, anyio.Event):
            arrival.set()
        elif arrival is not None and not arrival.done():
            arrival.set_result(None)


class DueTimer:
    """An idle timer that only remembers when a block is due."""

    __slots__ = ("due_at",)

    def __init__(self) -> None:
        self.due_at = math.inf

    @property
    def seconds_left(self) -> float:
        """Seconds until a block is due; ``inf``: nothing is expected."""
        return self.due_at - anyio.current_time()

    def expect(self, seconds: float) -> None:
        """Expect output within *seconds* from now."""
        self.due_at = anyio.current_time() + seconds

    def rest(self) -> None:
        """Expect nothing for now."""
        self.due_at = math.inf

    stop = rest
