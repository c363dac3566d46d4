"""The body of one response, and the release of its connection."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import httpx

from ..background_task import BackgroundTask
from ..native_cancel import run_to_end
from .block_reader import BlockReader
from .decompression import STEP, decompressor_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator

    from .idle_timer import IdleTimer

# Seconds. Most are few, because the outcome of the attempt is already known.
_CLOSE = 1.0  # to wait until a connection is closed
_SLOW_CLOSE = 30.0  # until nobody waits for a connection that is still being closed
_RELEASE = 10.0  # to return a connection to its pool; see `release`
_END = 0.2  # to end one generator of its body

_LAST = 100
"""The most blocks that are read after a body was closed, because some bodies never end."""

_NOTHING = httpx.ByteStream(b"")
_BOM = b"\xef\xbb\xbf"
_START = 64  # bytes
_EVENT = re.compile(rb":|(?:data|event|id|retry):")
_LONGEST_FIELD = len(b"event:")


def is_event(start: bytes) -> bool:
    """True if *start*, of a body, is that of server-sent events, whatever its headers say."""
    return _EVENT.match(start.removeprefix(_BOM).lstrip()) is not None


async def _end(blocks: AsyncGenerator[bytes, None]) -> None:
    """End the generator *blocks* and those below it, which otherwise the collector would.

    A body that was closed ends soon if it is read on. If it does not, a cancellation ends all its
    generators, because the innermost one is waiting. `aclose` would end the outermost one alone.
    """
    for seconds in (_END, 0.0):
        with anyio.move_on_after(seconds, shield=True), suppress(Exception):
            for _ in range(_LAST):
                await anext(blocks)
    with anyio.move_on_after(_END, shield=True), suppress(Exception):
        await blocks.aclose()


async def _joined(read: list[bytes], rest: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    for block in read:
        yield block
    async for block in rest:
        yield block


class Body:
    """The part of a response after its headers.

    Args:
        is_sheltered: Only scopes of anyio cancel the task that reads it; see `Reply`.

    Attributes:
        blocks: The decompressed bytes as they arrive.
        is_released: The body was read to its end, and the connection can be used again.
    """

    def __init__(self, response: httpx.Response, *, is_sheltered: bool = False) -> None:
        self._response: httpx.Response | None = response
        self._is_sheltered = is_sheltered
        self.is_released = False
        self.blocks: AsyncIterator[bytes]
        self._is_abandoned = False
        self._reader: BlockReader | None = None
        if response.is_stream_consumed:  # by a test's transport
            self._raw: AsyncGenerator[bytes, None] = response.aiter_bytes()  # type: ignore[assignment]
            self.blocks, self._layers = self._raw, [self._raw]
            return
        # `aiter_raw` iterates over the same, but also counts the bytes, at 2 µs a block.
        self._raw = response.stream.__aiter__()  # type: ignore[union-attr, assignment]
        self.blocks, self._layers = self._raw, [self._raw]
        decompress = decompressor_of(response.headers.get("content-encoding", ""))
        if decompress is not None:
            self._put_on_top(self._decompressed(decompress))

    def _put_on_top(self, layer: AsyncGenerator[bytes, None]) -> None:
        """Read *layer* from now on, which reads what was read before."""
        self.blocks = layer
        self._layers.append(layer)

    def read_apart(self, late: Callable[[], Exception]) -> IdleTimer:
        """Let the agent read the blocks; return the timer after which they raise *late*."""
        self.blocks = self._reader = BlockReader(self.blocks, late)
        return self._reader.timer

    async def _decompressed(
        self, decompress: Callable[[bytes], Iterator[bytes]]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the decompressed blocks; other tasks run between them."""
        async for block in self._raw:
            for piece in () if self._is_abandoned else decompress(block):
                yield piece
                if self._is_abandoned:
                    break
                if len(piece) == STEP:
                    await anyio.lowlevel.checkpoint()

    async def begins_with_event(self) -> bool:
        """True if the body begins as server-sent events do; it can still be read from its start."""
        return is_event(await self._start())

    async def begins_with_page(self) -> bool:
        """True if the body begins as HTML does; it can still be read from its start."""
        return (await self._start()).startswith(b"<")

    async def _start(self) -> bytes:
        read: list[bytes] = []
        start = b""
        with suppress(Exception):
            async for block in self.blocks:
                read.append(block)
                start = (start + block[:_START]).removeprefix(_BOM).lstrip()[:_START]
                if len(start) >= _LONGEST_FIELD or start.startswith((b"{", b"[", b":", b"<")):
                    break
        self._put_on_top(_joined(read, self.blocks))
        return start

    async def release(self) -> None:
        """Return the connection to the pool, even if we are cancelled.

        Call it only after `blocks` ended. It may take seconds, because it waits for the event loop,
        which takes that long for one round if a thousand answers end at once.
        """
        if self._is_sheltered:
            with anyio.move_on_after(_RELEASE, shield=True):
                await self._release()
        else:
            await run_to_end(self._release, seconds=_RELEASE)

    async def _release(self) -> None:
        if self._response is not None:
            await self._response.aclose()
        self._forget()
        self.is_released = True

    async def abandon(self) -> None:
        """Close the connection, even while we are being cancelled; a second call does nothing."""
        if self._response is not None:
            await run_to_end(self._abandon, seconds=4 * _CLOSE)

    async def _close(self) -> None:
        if self._response is not None:
            with anyio.move_on_after(_SLOW_CLOSE):
                await self._response.aclose()

    async def _abandon(self) -> None:
        self._is_abandoned = True
        if self._reader is not None:
            await self._reader.aclose(seconds=_CLOSE)
        await BackgroundTask(self._close).wait(_CLOSE)
        if self._response is not None and not self._response.is_closed:
            await self._close()  # somebody cancelled the task before it began
        for layer in reversed(self._layers):
            await _end(layer)
        self._forget()

    def _forget(self) -> None:
        """Separate the response from its stream, because each refers to the other.

        Only the garbage collector would free them and all that they hold. With a thousand requests
        at once it takes as long as everything else.
        """
        if self._response is not None:
            self._response.stream = _NOTHING
            self._response = None
