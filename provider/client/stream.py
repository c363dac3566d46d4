"""The stream of one answer: from its body to deltas, within deadlines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ..classify.exception import classify_exception
from ..error import ProviderError
from ..failure import Failure, FailureKind, Stage
from ..wire.reading import Reading

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ..catalog.provider import Provider
    from ..delta import Delta
    from .attempt_errors import AttemptErrors
    from .idle_timer import IdleTimer
    from .response_body import Body

# Seconds. Both are short, because the outcome of the attempt is already known.
TRAILING = 5.0  # to wait after the stop reason for usage or content
_DRAINING = 0.5  # to read the last bytes of a whole body, so that the connection can be used again


class Stream:
    """The stream in one body.

    Attributes:
        reading: Decodes the body, and judges it.
        has_output: True once any model output has arrived.
    """

    def __init__(self, provider: Provider, errors: AttemptErrors) -> None:
        self.reading = Reading(provider)
        self.has_output = False
        self._stopped_after: float | None = None
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
        reading, decoder, feed = self.reading, self.reading.decoder, self.reading.feed
        gap, silent_output = self._gap, 0
        late: list[Delta] = []
        broken: Failure | None = None
        try:
            timer.expect(first)
            async for block in body.blocks:
                deltas = feed(block)
                if deltas:
                    timer.rest()
                    for delta in deltas:
                        yield delta
                if deltas or decoder.silent_output != silent_output:
                    silent_output = decoder.silent_output
                    self.has_output = True
                    timer.expect(gap)
                if decoder.is_done or decoder.stop is not None or reading.failed is not None:
                    break
            timer.rest()
            if reading.failed is None:
                await self._read_trailing(body, late)
        except Exception as error:
            broken = self._explained(error)
            if broken is None and reading.failed is None and not decoder.is_done:
                raise
        timer.rest()
        late += reading.end(broken, stopped_after=self._stopped_after)
        # Late deltas are yielded together, even before an error, because a listener that cannot
        # take text back must have seen everything that is in the parts.
        for delta in late:
            yield delta
        failed = reading.failed
        if failed is not None:
            raise self._errors.error(failed, request_id=decoder.request_id) from failed.cause

    def _explained(self, error: Exception) -> Failure | None:
        """Return what broke the stream; None: nothing that a provider or a network did."""
        if self.reading.decoder.is_done:
            return None  # nothing can undo a whole answer
        if isinstance(error, ProviderError):
            self.reading.failed = error.failure
            return None
        failure = classify_exception(error)
        if failure.kind is FailureKind.UNKNOWN:
            return None
        failure.stage = Stage.STREAM
        return failure

    async def _read_trailing(self, body: Body, late: list[Delta]) -> None:
        """Read up to 5 s more after the stop reason: trailing usage or content, and the body's end.

        The connection can be used again if the body was read to its end.

        Args:
            late: Gets the deltas, even if the connection breaks after them.
        """
        reading, decoder = self.reading, self.reading.decoder
        seconds = _DRAINING if decoder.is_done else TRAILING
        with anyio.move_on_after(seconds, shield=decoder.is_done) as scope:
            async for block in body.blocks:
                was_done, silent_output = decoder.is_done, decoder.silent_output
                deltas = reading.feed(block)
                late += deltas
                if reading.failed is not None:
                    return
                if decoder.is_done and not was_done:
                    _shorten_deadline(scope)
                elif (deltas or decoder.silent_output != silent_output) and not was_done:
                    scope.deadline = anyio.current_time() + TRAILING
            await body.release()
        if scope.cancelled_caught and reading.goes_on and not decoder.is_done:
            self._stopped_after = TRAILING


def _shorten_deadline(scope: anyio.CancelScope) -> None:
    """Leave little time, but shield it, because a cancelled transport loses the connection."""
    scope.deadline = anyio.current_time() + _DRAINING
    scope.shield = True
