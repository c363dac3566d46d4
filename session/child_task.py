"""Work that ends before its caller does, whoever cancels it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


async def joined(work: Callable[[], Awaitable[T]]) -> T:
    """Return what *work* returns, or raise what it raises; it runs in a task of its own.

    What asyncio itself cancels, with `Task.cancel`, `asyncio.timeout` or Ctrl-C, heeds no shield:
    it would leave a thread at work, and a write of which nobody knows whether it was done. Here
    such a cancellation becomes one of a scope round *work*, in which a shield holds.
    """
    returned: list[T] = []
    raised: list[BaseException] = []

    async def run() -> None:
        try:
            returned.append(await work())
        except anyio.get_cancelled_exc_class() as error:
            raised.append(error)
            raise
        except BaseException as error:  # noqa: BLE001 - raised below, without a group round it
            raised.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
    if raised:
        raise raised[0]
    return returned[0]
