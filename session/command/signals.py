"""Run an event loop that Ctrl-C, SIGTERM and the end of its terminal (SIGHUP) end."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, TypeVar

import anyio

from .outlived_signal import outlive_usr1

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


def run(main: Callable[[], Awaitable[T]], *, on_usr1: Callable[[], None] | None = None) -> T:
    """Run *main* in an event loop, and return what it returns.

    asyncio by itself can miss a Ctrl-C that comes just as the loop goes to sleep, because Python
    runs a signal's handler only when the loop wakes, and nothing wakes it. A signal receiver of the
    loop wakes it.

    Args:
        on_usr1: Called at each SIGUSR1 while *main* runs; afterwards the signal does nothing. None:
            that signal ends the process.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; *main* was cancelled, and has cleaned up. A second
            Ctrl-C does not wait for the clean-up.
        SystemExit: The process received SIGTERM, or SIGHUP unless it ignores SIGHUP, as under
            ``nohup``. *main* was cancelled as above.
    """
    if sys.platform == "win32":
        return anyio.run(main)
    returned: list[T] = []
    raised: list[Exception] = []
    caught: list[signal.Signals] = []

    async def watched() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_on_signal, tasks.cancel_scope, caught)
            if on_usr1 is not None:
                tasks.start_soon(_call_on_usr1, on_usr1)
            try:
                returned.append(await main())
            except Exception as error:  # noqa: BLE001 - raised below, outside the group
                raised.append(error)
            tasks.cancel_scope.cancel()

    try:
        anyio.run(watched)
    finally:
        if on_usr1 is not None:
            outlive_usr1()
    if raised:
        raise raised[0]
    if returned:
        return returned[0]
    if caught and caught[0] != signal.SIGINT:
        raise SystemExit(128 + caught[0])
    raise KeyboardInterrupt


async def _cancel_on_signal(scope: anyio.CancelScope, caught: list[signal.Signals]) -> None:
    ends = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        ends.append(signal.SIGHUP)
    with anyio.open_signal_receiver(*ends) as signals:
        async for number in signals:
            caught.append(number)
            break
    scope.cancel()


async def _call_on_usr1(call: Callable[[], None]) -> None:
    with anyio.open_signal_receiver(signal.SIGUSR1) as signals:
        async for _ in signals:
            call()
