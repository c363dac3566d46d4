"""The body of one response, and how to let go of it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import sniffio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    import httpx

_CLOSE = 1.0
"""Seconds to close a connection, which must not hold up an attempt whose outcome is known."""


class Body:
    """What comes after the headers.

    Attributes:
        blocks: Its bytes, decompressed, as they come.
        is_released: It was read to its end, and its connection can be used again.
    """

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.is_released = False
        self.blocks: AsyncGenerator[bytes, None]
        is_plain = response.headers.get("content-encoding", "identity") == "identity"
        # A transport in a test may have read the body itself.
        if is_plain and not response.is_stream_consumed:
            # What `aiter_raw` goes over: its own layer counts the bytes, at 2 µs a block.
            self.blocks = response.stream.__aiter__()  # type: ignore[union-attr, assignment]
        else:
            self.blocks = response.aiter_bytes()  # type: ignore[assignment]

    async def release(self) -> None:
        """Give the connection back, whoever cancels us; `blocks` came to its end."""
        await _ended(self._release)

    async def _release(self) -> None:
        await self._response.aclose()
        self.is_released = True

    async def abandon(self) -> None:
        """Close the connection, also while we are being cancelled."""
        await _ended(self._abandon)

    async def _abandon(self) -> None:
        with anyio.move_on_after(_CLOSE, shield=True):
            with suppress(Exception):
                await self._response.aclose()
            # Its generators end soon, now that it is closed. To close the outermost instead would
            # leave those below it to the garbage collector.
            with suppress(Exception):
                async for _ in self.blocks:
                    pass


async def _ended(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do *work* to its end, then be cancelled if we were meanwhile.

    What asyncio itself cancels heeds no shield, and inside *work* the pool would lose track of
    the connection. A task of its own is cheaper than a group with one.
    """
    if sniffio.current_async_library() != "asyncio":
        await work()
        return
    from asyncio import CancelledError, get_running_loop, shield  # loaded by now

    cancelled: CancelledError | None = None
    # With the scope's shield only asyncio's own cancellation gets here; a scope's comes after it.
    with anyio.CancelScope(shield=True):
        loop = get_running_loop()
        task = loop.create_task(work())
        timer = loop.call_later(_CLOSE, task.cancel)
        while not task.done():
            try:
                await shield(task)
            except CancelledError as error:
                if not task.cancelled():
                    cancelled = error
            except Exception:  # noqa: BLE001, S110 - raised below
                pass
        timer.cancel()
    if cancelled is not None:
        raise cancelled
    if not task.cancelled():
        task.result()
