"""The stream of one answer: from its body to deltas, within deadlines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

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

# Seconds. Both are short, because the outcome of the attempt is already known.
_TRAILING = 5.0  # to wait after the stop reason for usage or content
_DRAINING = 0.5  # to read the last bytes of a whole body, so that the connection can be used again

MAX_ANSWER = 256 * 1_048_576
"""The largest number of bytes of one body, decompressed: a million tokens and more."""


@dataclass(slots=True)
class _End:
    """What is known at the end of a body.

    Args:
        late: Deltas that came after the stop reason, or at the end of the body.
        failed: The failure that an event reported.
        broken: The failure of the connection that cut the body; None: the body came to its end.
        is_cut: We stopped reading although output was still coming.
    """

    late: list[Delta] = field(default_factory=list)
    failed: Failure | None = None
    broken: Failure | None = None
    is_cut: bool = False


class Stream:
    """The stream in one body.

    Attributes:
        parser: Cuts the body into events.
        decoder: Decodes the events, and collects the parts.
        has_output: True once any model output has arrived.
        is_whole: True once the stream has ended as a whole answer.
    """

    def __init__(self, provider: Provider, errors: AttemptErrors) -> None:
        self.parser = parser_of(provider.wire)
        self.decoder = decoder_of(provider)
        self.has_output = False
        self.is_whole = False
        self._gap = provider.timeouts.gap
        self._errors = errors

    async def deltas(
        self, body: Body, timer: IdleTimer, *, first: float
    ) -> AsyncGenerator[Delta, None]:
        """Yield the deltas up to the terminal marker, or to the end of the body.

        The timer rests from the first delta of a block until the next block is read, because the
        listener's time is not the provider's.

        Args:
            first: Seconds to the first output.

        Raises:
            ProviderError: The answer is not whole, or means failure.
        """
        decoder, feed, decode = self.decoder, self.parser.feed, self.decoder.decode
        gap, silent_output, bytes_left = self._gap, 0, MAX_ANSWER
        end = _End()
        try:
            timer.expect(first)
            async for block in body.blocks:
                bytes_left -= len(block)
                if bytes_left < 0:
                    _refuse_more()
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
            end.is_cut = await self._read_trailing(body, end.late, bytes_left)
        except Exception as error:
            if not self._explains(error, end):
                raise
        timer.rest()
        failed = end.failed or self._conclude(end)
        # Late deltas are yielded together, even before an error, because a listener that cannot
        # take text back must have seen everything that is in the parts.
        for delta in end.late:
            yield delta
        if failed is not None:
            raise self._errors.error(failed, request_id=decoder.request_id) from failed.cause

    def _explains(self, error: Exception, end: _End) -> bool:
        """Note in *end* what *error* means; False: no provider and no network causes it."""
        if self.decoder.is_done:
            return True  # nothing can undo a whole answer
        if isinstance(error, ProviderError):
            end.failed = error.failure
            return True
        end.broken = _connection_failure(error)
        return end.broken is not None

    async def _read_trailing(self, body: Body, late: list[Delta], bytes_left: int) -> bool:
        """Read up to 5 s more after the stop reason: trailing usage or content, and the body's end.

        The connection can be used again if the body was read to its end.

        Args:
            late: Gets the deltas, even if the connection breaks after them.
            bytes_left: How much may still come.

        Returns:
            True: output came after the last stop reason, and then nothing for too long.
        """
        goes_on = False
        with anyio.move_on_after(_TRAILING) as scope:
            if self.decoder.is_done:
                _shorten_deadline(scope)
            async for block in body.blocks:
                bytes_left -= len(block)
                if bytes_left < 0:
                    _refuse_more()
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

    def _conclude(self, end: _End) -> Failure | None:
        """Read what the body left unfinished; return why the answer failed, None if it is whole."""
        try:
            for name, data in self.parser.flush():
                if is_json(data):  # otherwise the event was cut
                    end.late += self._decode(name, data)
            end.late += self.decoder.end(is_clean=end.broken is None)
            if end.is_cut:
                raise stream_error.stopped_midway(_TRAILING)
        except ProviderError as error:
            if end.is_cut and error.failure.kind is FailureKind.TOOL_CALL_MALFORMED:
                return stream_error.stopped_midway(_TRAILING).failure
            if end.broken is not None and error.failure.kind is FailureKind.TRUNCATED:
                return _cut_failure(error.failure, end.broken)
            return error.failure
        self.is_whole = True
        return None

    def _decode(self, name: bytes, data: bytes) -> Sequence[Delta]:
        """Return the deltas of an event; none if the answer is whole, which nothing can undo."""
        return () if self.decoder.is_done else self.decoder.decode(data, name)


def _refuse_more() -> NoReturn:
    raise stream_error.too_large("an answer", MAX_ANSWER)


def _shorten_deadline(scope: anyio.CancelScope) -> None:
    """Leave little time, but shield it, because a cancelled transport loses the connection."""
    scope.deadline = anyio.current_time() + _DRAINING
    scope.shield = True


def _connection_failure(error: Exception) -> Failure | None:
    """Return what broke the stream; None: no provider and no network causes *error*."""
    failure = classify_exception(error)
    if failure.kind is FailureKind.UNKNOWN:
        return None
    failure.stage = Stage.STREAM
    return failure


def _cut_failure(failure: Failure, broken: Failure) -> Failure:
    """Return *failure* with what cut the stream; a timeout of the transport stays a timeout."""
    if broken.kind is FailureKind.TIMEOUT:
        return broken
    failure.message = f"{failure.message}: {broken.message}"
    failure.code, failure.cause = broken.code, broken.cause
    return failure
