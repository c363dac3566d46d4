"""Ctrl-C, for the command."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, TypeVar

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


def run(main: Callable[[], Awaitable[T]]) -> T:
    """Run *main* in an event loop, and return what it returns.

    asyncio by itself can sleep through a Ctrl-C that comes just as it goes to sleep: Python runs
    a signal's handler only when the loop wakes, and nothing wakes it. A receiver of the loop's own
    does.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; *main* has been cancelled, and has cleaned up. A
            second one does not wait for that.
    """
    if sys.platform == "win32":
        return anyio.run(main)
    returned: list[T] = []
    raised: list[Exception] = []

    async def watched() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_on_ctrl_c, tasks.cancel_scope)
            try:
                returned.append(await main())
            except Exception as error:  # noqa: BLE001 - raised below, outside the group
                raised.append(error)
            tasks.cancel_scope.cancel()

    anyio.run(watched)
    if raised:
        raise raised[0]
    if not returned:
        raise KeyboardInterrupt
    return returned[0]


async def _cancel_on_ctrl_c(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            break
    scope.cancel()
