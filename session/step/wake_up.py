"""Wake the steps that wait for a route to come back, when the health map changes."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import sniffio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class WakeUps:
    """The functions that wake the waiting steps of one health map.

    May be shared by threads: each function only schedules its work in the loop of its own step.

    Attributes:
        count: How many changes were reported so far.
    """

    __slots__ = ("_wakers", "count")

    def __init__(self) -> None:
        self._wakers: dict[object, Callable[[], object]] = {}
        self.count = 0

    def wake(self) -> None:
        """Wake every step that waits."""
        self.count += 1
        for wake in list(self._wakers.values()):
            with suppress(RuntimeError):  # its loop has ended; trio's RunFinishedError as well
                wake()

    @contextmanager
    def calling(self, wake: Callable[[], object]) -> Iterator[None]:
        """Call *wake* at each change while the block runs."""
        key = object()
        self._wakers[key] = wake
        try:
            yield
        finally:
            del self._wakers[key]


def in_loop(call: Callable[[], object]) -> Callable[[], object]:
    """Return a function that has the running event loop call *call*; any thread may call it."""
    if sniffio.current_async_library() == "trio":
        from trio.lowlevel import current_trio_token

        token = current_trio_token()
        return lambda: token.run_sync_soon(call)
    from asyncio import get_running_loop

    loop = get_running_loop()
    return lambda: loop.call_soon_threadsafe(call)
