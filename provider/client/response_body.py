"""The body of one response, and how to let go of it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from ..native_cancel import run_to_end

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

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
        await run_to_end(self._release, seconds=_CLOSE)

    async def _release(self) -> None:
        await self._response.aclose()
        self.is_released = True

    async def abandon(self) -> None:
        """Close the connection, also while we are being cancelled."""
        await run_to_end(self._abandon, seconds=_CLOSE)

    async def _abandon(self) -> None:
        with anyio.move_on_after(_CLOSE, shield=True):
            with suppress(Exception):
                await self._response.aclose()
            # Its generators end soon, now that it is closed. To close the outermost instead would
            # leave those below it to the garbage collector.
            with suppress(Exception):
                async for _ in self.blocks:
                    pass
