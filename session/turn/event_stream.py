"""The events of one turn, to iterate over as they come."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ...provider.background_task import BackgroundTask
from ..event import Event

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from types import TracebackType

    from ..event import Listener


class EventStream:
    """Runs a turn in a task of its own, and gives its events; see `Session.stream`.

    The task is in no cancel scope of the reader, because the reader may leave a generator around
    the stream, and any task may close it later. For the same reason this class is no generator,
    which the event loop would close by itself.

    Args:
        take: Runs the turn, and calls its argument with every event.
    """

    def __init__(self, take: Callable[[Listener], Awaitable[object]]) -> None:
        self._take = take
        self._turn: BackgroundTask | None = None

    async def __aenter__(self) -> AsyncIterator[Event]:
        if self._turn is not None:
            raise RuntimeError("a stream is entered once: call `session.stream` again")
        # This never waits for a slow reader, because the provider's deadlines go on.
        self._send, self._events = anyio.create_memory_object_stream[Event](float("inf"))
        self._turn = BackgroundTask(partial(self._take, self._emit), self._send.close)
        return self._events

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._turn is not None  # noqa: S101 - it was entered
        try:
            await self._turn.aclose()
        finally:
            self._events.close()
        if error is None and self._turn.error is not None:
            raise self._turn.error

    def _emit(self, event: Event) -> None:
        # The reader may have closed the other end.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._send.send_nowait(event)
