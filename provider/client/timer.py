"""A function that the event loop calls later, although no task waits for it."""

from __future__ import annotations

from contextvars import Context
from typing import TYPE_CHECKING

import anyio
import sniffio

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    Work = Callable[[], Coroutine[Any, Any, None]]


def call_later(seconds: float, work: Work) -> Callable[[], None]:
    """Run *work* in *seconds*, and return a function that cancels this.

    *work* must not raise. The end of the event loop cancels it as well.
    """
    if sniffio.current_async_library() == "trio":
        return _call_later_in_trio(seconds, work)
    from asyncio import Task, get_running_loop

    loop = get_running_loop()
    started: set[Task[None]] = set()  # the loop itself does not keep a task alive

    def start() -> None:
        task = loop.create_task(work())
        started.add(task)
        task.add_done_callback(started.discard)

    # A context of its own, because that of the request would stay alive with all it holds.
    return loop.call_later(seconds, start, context=Context()).cancel


def _call_later_in_trio(seconds: float, work: Work) -> Callable[[], None]:
    from trio.lowlevel import spawn_system_task

    scope = anyio.CancelScope()

    async def wait() -> None:
        with scope:
            await anyio.sleep(seconds)
        if not scope.cancel_called:
            await work()

    spawn_system_task(wait)
    return scope.cancel
