"""The body of one response, and the release of its connection."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from ..native_cancel import run_to_end

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx

_CLOSE = 1.0
"""Seconds to close a connection, because the outcome of the attempt is already known."""


class Body:
    """The part of a response after its headers.

    Attributes:
        blocks: The decompressed bytes as they arrive.
        is_released: The body was read to its end, and the connection can be used again.
    """

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.is_released = False
        self.blocks: AsyncGenerator[bytes, None]
        is_plain = response.headers.get("content-encoding", "identity") == "identity"
        # A test's transport may already have read the body.
        if is_plain and not response.is_stream_consumed:
            # `aiter_raw` iterates over the same, but also counts the bytes, at 2 µs a block.
            self.blocks = response.stream.__aiter__()  # type: ignore[union-attr, assignment]
        else:
            self.blocks = response.aiter_bytes()  # type: ignore[assignment]

    async def release(self) -> None:
        """Return the connection to the pool, even if we are cancelled.

        Call it only after `blocks` ended.
        """
        await run_to_end(self._release, seconds=_CLOSE)

    async def _release(self) -> None:
        await self._response.aclose()
        self.is_released = True

    async def abandon(self) -> None:
        """Close the connection, even while we are being cancelled."""
        await run_to_end(self._abandon, seconds=_CLOSE)

    async def _abandon(self) -> None:
        with anyio.move_on_after(_CLOSE, shield=True):
            with suppress(Exception):
                await self._response.aclose()
            # The generators of a closed body end soon. Closing the outermost one instead would
            # leave the generators below it to the garbage collector.
            with suppress(Exception):
                async for _ in self.blocks:
                    pass
