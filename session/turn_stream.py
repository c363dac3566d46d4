"""The events of one turn, to iterate over as they come."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from .event import Event, notify

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from .turn import Session


@asynccontextmanager
async def stream_turn(
    session: Session, prompt: str, *, deadline: float | None
) -> AsyncIterator[AsyncIterator[Event]]:
    """Take a turn of *session* in a task of its own; see `Session.stream`."""
    # Never waits for the reader: a listener may be slow, and the provider's deadlines run.
    send, receive = anyio.create_memory_object_stream[Event](float("inf"))
    listener = session.on_event
    failures: list[Exception] = []

    def tell(event: Event) -> None:
        send.send_nowait(event)
        if listener is not None:
            notify(listener, event)

    async def run() -> None:
        with send:
            try:
                await session.turn(prompt, deadline=deadline)
            except Exception as error:  # noqa: BLE001 - raised below, without a group round it
                failures.append(error)

    session.on_event = tell
    try:
        with receive:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                yield receive
                tasks.cancel_scope.cancel()
    finally:
        session.on_event = listener
    if failures:
        raise failures[0]
