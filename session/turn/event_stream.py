"""The events of one turn, to iterate over as they come."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import anyio

from ..event import Event

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from ..event import Listener


@asynccontextmanager
async def stream_turn(
    take: Callable[[Listener], Awaitable[object]],
) -> AsyncIterator[AsyncIterator[Event]]:
    """Run a turn in a task of its own, and yield its events; see `Session.stream`.

    Args:
        take: Runs the turn, and calls its argument with every event.
    """
    # Never waits for the reader, who may be slow, because the provider's deadlines go on.
    send, receive = anyio.create_memory_object_stream[Event](float("inf"))
    turn_errors: list[Exception] = []
    reader_errors: list[BaseException] = []

    def emit(event: Event) -> None:
        # The reader may have closed the other end.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            send.send_nowait(event)

    async def run() -> None:
        with send:
            try:
                await take(emit)
            except Exception as error:  # noqa: BLE001 - raised below, outside the exception group
                turn_errors.append(error)

    with receive:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            try:
                yield receive
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # noqa: BLE001 - raised below, as above
                reader_errors.append(error)
            tasks.cancel_scope.cancel()
    for raised in (*reader_errors, *turn_errors):
        raise raised
