"""The body of one answer to its deltas, in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ..classify.exception import classify_exception
from ..error import ProviderError
from ..failure import Failure, FailureKind, Stage
from ..json_value import is_json
from ..wire import stream_error
from ..wire.registry import decoder_of, parser_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from ..catalog.provider import Provider
    from ..delta import Delta
    from .attempt_errors import AttemptErrors
    from .idle_timer import IdleTimer
    from .response_body import Body

# Seconds. Each bounds something that must not hold up an attempt whose outcome is known.
_TRAILING = 5.0  # for what may follow the reason for the end, or what came after it: usage, content
_DRAINING = 0.5  # for the last bytes of a whole body, so that its connection can be used again


class Stream:
    """What comes of one body.

    Attributes:
        parser: Cuts it into events.
        decoder: Reads them, and keeps what it has read.
        has_output: Anything came that the model wrote.
        is_whole: It was judged, and is a whole answer.
    """

    def __init__(self, provider: Provider, blame: AttemptErrors) -> None:
        self.parser = parser_of(provider.wire)
        self.decoder = decoder_of(provider)
        self.has_output = False
        self.is_whole = False
        self._gap = provider.timeouts.gap
        self._blame = blame

    async def deltas(
        self, body: Body, timer: IdleTimer, *, first: float
    ) -> AsyncGenerator[Delta, None]:
        """Read up to the terminal marker, or to where the body ends.

        The timer rests from the first delta of a block until the next block is asked for: what
        the listener does meanwhile is not the provider's time.

        Args:
            first: Seconds to the first output.

        Raises:
            ProviderError: The answer is not whole, or means failure.
        """
        decoder, feed, decode = self.decoder, self.parser.feed, self.decoder.decode
        gap, silent_output = self._gap, 0
        broken: Failure | None = None
        failed: Failure | None = None
        late: list[Delta] = []
        is_cut = False
        try:
            timer.expect(first)
            async for block in body.blocks:
                has_output = False
                for name, data in feed(block):
                    deltas = decode(data, name)
                    if deltas and not has_output:
                        has_output = True
                        timer.rest()
                    for delta in deltas:
                        yield delta
                    if decoder.is_done:
                        break
                if has_output or decoder.silent_output != silent_output:
                    silent_output = decoder.silent_output
                    self.has_output = True
                    timer.expect(gap)
                if decoder.is_done or decoder.stop is not None:
                    break
            timer.rest()
            is_cut = await self._read_trailing(body, late)
        except ProviderError as error:
            failed = error.failure
        except Exception as error:
            if not decoder.is_done:
                broken = _lost(error)
                if broken is None:
                    raise
        timer.rest()
        if failed is None:
            failed = self._conclude(broken, late, is_cut=is_cut)
        # What came late is told in one piece, and whatever followed it: a listener that cannot
        # take text back must have seen all that is in the parts.
        for delta in late:
            yield delta
        if failed is not None:
            raise self._blame.error(failed, request_id=decoder.request_id) from failed.cause

    async def _read_trailing(self, body: Body, late: list[Delta]) -> bool:
        """Wait a little for what may follow the reason for the end, and for the body's own end.

        A connection whose body was read to its end can be used again.

        Args:
            late: Takes what comes, also if the connection breaks after it.

        Returns:
            True: Output came after the last reason for the end, and then nothing for too long.
        """
        goes_on = False
        with anyio.move_on_after(_TRAILING) as scope:
            if self.decoder.is_done:
                _shorten_deadline(scope)
            async for block in body.blocks:
                was_done, has_output = self.decoder.is_done, False
                for name, data in self.parser.feed(block):
                    stop_count, silent_output = self.decoder.stop_count, self.decoder.silent_output
                    deltas = self._decode(name, data)
                    late += deltas
                    if deltas or self.decoder.silent_output != silent_output:
                        goes_on = has_output = True
                    if self.decoder.stop_count != stop_count:
                        goes_on = False
                if self.decoder.is_done and not was_done:
                    _shorten_deadline(scope)
                elif has_output and not was_done:
                    scope.deadline = anyio.current_time() + _TRAILING
            await body.release()
        return scope.cancelled_caught and goes_on and not self.decoder.is_done

    def _conclude(
        self, broken: Failure | None, late: list[Delta], *, is_cut: bool
    ) -> Failure | None:
        """Read what the body left unfinished; say why the answer is not whole, or means failure.

        Args:
            broken: What cut the body; None where it came to its end.
            late: Takes what comes of it.
            is_cut: It was given up while output was still coming.
        """
        try:
            for name, data in self.parser.flush():
                if is_json(data):  # what is not was cut
                    late += self._decode(name, data)
            late += self.decoder.end(is_clean=broken is None)
            if is_cut:
                raise stream_error.stopped_midway(_TRAILING)
        except ProviderError as error:
            if is_cut and error.failure.kind is FailureKind.TOOL_CALL_MALFORMED:
                return stream_error.stopped_midway(_TRAILING).failure
            if broken is not None and error.failure.kind is FailureKind.TRUNCATED:
                return _cut(error.failure, broken)
            return error.failure
        self.is_whole = True
        return None

    def _decode(self, name: bytes, data: bytes) -> Sequence[Delta]:
        """Decode an event, unless the answer is whole: then nothing can undo it."""
        return () if self.decoder.is_done else self.decoder.decode(data, name)


def _shorten_deadline(scope: anyio.CancelScope) -> None:
    """Leave little time, but also while we are being cancelled: the transport would lose track."""
    scope.deadline = anyio.current_time() + _DRAINING
    scope.shield = True


def _lost(error: Exception) -> Failure | None:
    """Name what broke the stream; None where no provider and no network did."""
    failure = classify_exception(error)
    if failure.kind is FailureKind.UNKNOWN:
        return None
    failure.stage = Stage.STREAM
    return failure


def _cut(failure: Failure, broken: Failure) -> Failure:
    """Say what cut the stream; a deadline of the transport stays one."""
    if broken.kind is FailureKind.TIMEOUT:
        return broken
    failure.message = f"{failure.message}: {broken.message}"
    failure.code, failure.cause = broken.code, broken.cause
    return failure
