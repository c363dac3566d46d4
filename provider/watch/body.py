"""The body of a watched answer: it passes each block on, and raises the failure of the answer."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import anyio
import sniffio

from ..classify.exception import classify_exception
from ..error import ProviderError
from ..failure import Failure, FailureKind, Stage
from .idle_read import AsyncioReader, BlockingReader, LateError, ScopeReader

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator

    from .watched_answer import WatchedAnswer

_CLOSE = 1.0
"""Seconds to close a connection, because the answer is judged already."""
_MOST_BLOCKS = 256
"""Blocks that may still come out of a body that was closed."""


class AsyncBlocks(Protocol):
    """A stream of httpx or httpx2."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Iterate over the blocks of the body."""

    async def aclose(self) -> None:
        """Close the connection, or give it back."""


class Blocks(Protocol):
    """The same of a synchronous client."""

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the blocks of the body."""

    def close(self) -> None:
        """Close the connection, or give it back."""


class _Body:
    """What both kinds share.

    Args:
        note: Called once if the answer failed.
    """

    def __init__(self, answer: WatchedAnswer, note: Callable[[], None]) -> None:
        self._answer = answer
        self._note = note
        self._raised: ProviderError | None = None

    @property
    def has_failed(self) -> bool:
        """True once the answer has failed, also while its connection is still being closed."""
        return self._raised is not None

    def _ended(self) -> ProviderError | None:
        """Return the error of an answer after the end of its body; None: it is whole."""
        try:
            self._answer.end()
        except ProviderError as error:
            return error
        return None

    def _failed(self, error: Exception) -> Exception | None:
        """Return what to raise for the *error* of a connection, or of a block; None: nothing.

        Nothing can undo a whole answer, and what no network causes is not ours.
        """
        answer = self._answer
        if isinstance(error, ProviderError):
            return error
        if answer.is_settled:
            return None if answer.is_whole else error
        is_late = isinstance(error, LateError)
        failure = self._late() if is_late else classify_exception(error)
        if failure.kind is FailureKind.UNKNOWN:
            return error
        failure.stage = Stage.STREAM
        try:
            if is_late and answer.is_ending:
                answer.stop_waiting()
            else:
                answer.end(failure)
        except ProviderError as judged:
            return judged
        if answer.is_whole:
            return None
        return answer.error(failure) if is_late else error

    def _late(self) -> Failure:
        timeouts, has_output = self._answer.call.provider.timeouts, self._answer.has_output
        message = (
            f"no further output within {timeouts.gap:g} s (`gap`)"
            if has_output
            else f"no output within {self._answer.call.first_output_seconds:g} s (`firstEvent`)"
        )
        return Failure(kind=FailureKind.TIMEOUT, message=message, stage=Stage.STREAM)

    def _keep(self, error: Exception) -> bool:
        """Keep an error of ours for later reads; False: it is no error of ours."""
        if not isinstance(error, ProviderError):
            return False
        self._raised = error
        self._note()
        return True


class AsyncBody(_Body):
    """The body of an asynchronous client's answer; `body_class` makes it a library's own.

    Args:
        seconds: How long to wait for the first output.
    """

    def __init__(
        self,
        answer: WatchedAnswer,
        note: Callable[[], None],
        inner: AsyncBlocks,
        seconds: float,
    ) -> None:
        super().__init__(answer, note)
        self._inner = inner
        self._blocks = inner.__aiter__()
        is_asyncio = sniffio.current_async_library() == "asyncio"
        self._reader = AsyncioReader(seconds) if is_asyncio else ScopeReader(seconds)

    def __aiter__(self) -> AsyncIterator[bytes]:
        if self._raised is None and isinstance(self._reader, AsyncioReader):
            return self._pass_on(self._reader)
        return self

    async def _pass_on(self, reader: AsyncioReader) -> AsyncGenerator[bytes, None]:
        """Do what `__anext__` does, on asyncio, where nobody minds a generator that is dropped."""
        error: Exception | None
        answer, take, got, rest = self._answer, self._answer.take, reader.got, reader.rest
        try:
            reader.begin()
            async for block in self._blocks:
                if not answer.is_settled:
                    got(take(block))
                yield block
                if not answer.is_settled:
                    reader.begin()
            rest()
            error = self._ended()
        except BaseException as raised:
            rest()
            late = reader.explained(raised)
            if not isinstance(late, Exception):
                del late  # it refers to this frame, and so to all that was read
                raise
            error = self._failed(late)
        if error is not None:
            if self._keep(error):
                await self._drop()
            raise error

    async def __anext__(self) -> bytes:
        error: Exception | None = self._raised
        if error is None:
            answer, reader = self._answer, self._reader
            assert isinstance(reader, ScopeReader)  # noqa: S101
            try:
                if answer.is_settled:
                    return await self._blocks.__anext__()
                block = await reader.read(self._blocks)
                seconds = answer.take(block)
                if seconds is not None:
                    reader.expect(seconds)
                return block  # noqa: TRY300 - nearly always
            except StopAsyncIteration:
                error = self._ended()
            except Exception as raised:  # noqa: BLE001 - judged there
                error = self._failed(raised)
            if error is None:
                raise StopAsyncIteration
            if self._keep(error):
                await self._drop()
        raise error

    async def _drop(self) -> None:
        """Close the connection, because nobody reads the rest.

        The generators of a closed body end soon; one that was dropped before makes trio warn.
        """
        self._reader.stop()
        with anyio.move_on_after(_CLOSE), suppress(Exception, StopAsyncIteration):
            await self._inner.aclose()
            for _ in range(_MOST_BLOCKS):
                await self._blocks.__anext__()

    async def aclose(self) -> None:
        """Close the connection, or give it back."""
        self._reader.stop()
        await self._inner.aclose()


class SyncBody(_Body):
    """The body of a synchronous client's answer."""

    def __init__(
        self, answer: WatchedAnswer, note: Callable[[], None], inner: Blocks, seconds: float
    ) -> None:
        super().__init__(answer, note)
        self._inner = inner
        self._blocks = iter(inner)
        self._reader = BlockingReader(seconds)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        error: Exception | None = self._raised
        if error is None:
            answer = self._answer
            try:
                if answer.is_settled:
                    return next(self._blocks)
                block = self._reader.read(self._blocks)
                seconds = answer.take(block)
                if seconds is not None:
                    self._reader.expect(seconds)
                return block  # noqa: TRY300 - nearly always
            except StopIteration:
                error = self._ended()
            except Exception as raised:  # noqa: BLE001 - judged there
                error = self._failed(raised)
            if error is None:
                raise StopIteration
            if self._keep(error):
                with suppress(Exception):
                    self._inner.close()
        raise error

    def close(self) -> None:
        """Close the connection, or give it back."""
        self._inner.close()
