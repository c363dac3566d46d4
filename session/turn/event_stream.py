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
    """Have a turn taken in a task of its own; see `Session.stream`.

    Args:
        take: Takes it, and tells what it is given of every event.
    """
    # Never waits for the reader, who may be slow: the provider's deadlines run.
    send, receive = anyio.create_memory_object_stream[Event](float("inf"))
    of_the_turn: list[Exception] = []
    of_the_reader: list[BaseException] = []

    def tell(event: Event) -> None:
        # A reader who has seen enough may have closed the other end.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            send.send_nowait(event)

    async def run() -> None:
        with send:
            try:
                await take(tell)
            except Exception as error:  # noqa: BLE001 - raised below, without a group round it
                of_the_turn.append(error)

    with receive:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            try:
                yield receive
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # noqa: BLE001 - raised below, as above
                of_the_reader.append(error)
            tasks.cancel_scope.cancel()
    for raised in (*of_the_reader, *of_the_turn):
        raise raised
