"""The reading of one answer: from the blocks of its body to deltas, without input or output.

Our own client, recorded answers and watched clients all use it, so that one place decides whether
an answer is whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..error import ProviderError
from ..failure import Failure, FailureKind
from ..json_value import is_json, read_json
from . import stream_error
from .registry import decoder_of, parser_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..catalog.provider import Provider
    from ..delta import Delta
    from .sse import Event

MAX_ANSWER = 256 * 1_048_576
"""The largest number of bytes of one body, decompressed: a million tokens and more."""

_NOTHING: tuple[Delta, ...] = ()


class Reading:
    """Reads one answer of *provider*.

    Attributes:
        parser: Cuts the body into events.
        decoder: Decodes the events, and collects the parts.
        failed: Why the answer failed; None: it has not failed so far.
        is_whole: True once the answer has ended as a whole one.
        events: How many events the body has brought.
        goes_on: Output came in a later block than the last stop reason.
    """

    def __init__(self, provider: Provider) -> None:
        self.parser = parser_of(provider.wire)
        self.decoder = decoder_of(provider)
        self.failed: Failure | None = None
        self.is_whole = False
        self.goes_on = False
        self.events = 0
        self._bytes_left = MAX_ANSWER

    def feed(self, block: bytes) -> Sequence[Delta]:
        """Return the deltas that the next *block* of the body brings, up to a failure in it.

        After the terminal marker nothing is read, because nothing can undo a whole answer.
        """
        decoder = self.decoder
        if decoder.is_done or self.failed is not None:
            return _NOTHING
        self._bytes_left -= len(block)
        try:
            if self._bytes_left < 0:
                raise stream_error.too_large("an answer", MAX_ANSWER)
            events = self.parser.feed(block)
            self.events += len(events)
            if len(events) == 1 and decoder.stop is None:  # nearly every block of a slow stream
                name, data = events[0]
                return decoder.decode(data, name)
        except ProviderError as error:
            self.failed = error.failure
            return _NOTHING
        return self._decode(events, is_late=decoder.stop is not None)

    def end(
        self, broken: Failure | None = None, *, stopped_after: float | None = None
    ) -> Sequence[Delta]:
        """Judge the answer at the end of its body, and return the deltas that the end completes.

        Args:
            broken: The failure of the connection that cut the body; None: it came to its end.
            stopped_after: Output was still coming when its reader stopped, after that many seconds
                of silence.
        """
        if self.failed is not None:
            return _NOTHING
        # An event that is not JSON was cut.
        rest = [event for event in self.parser.flush() if is_json(event[1])]
        self.events += len(rest)
        deltas = self._decode(rest, is_late=False)
        if self.failed is None:
            try:
                deltas = [*deltas, *self.decoder.end(is_clean=broken is None)]
            except ProviderError as error:
                self.failed = error.failure
        self._explain_cut(broken, stopped_after)
        self.is_whole = self.failed is None
        return deltas

    def whole(self, body: bytes) -> None:
        """Judge *body*, an answer that was not streamed: see `failed` and `is_whole`.

        An answer that is still being made in the background, as its request asked, is whole.
        """
        from . import whole_answer  # our own requests all ask for streams

        wire = self.decoder.wire
        try:
            value = _read_object(body)
        except ProviderError as error:
            self.failed = error.failure
            return
        if whole_answer.is_in_background(value, wire):
            self.is_whole = True
            return
        try:
            for event in whole_answer.events_of(value, wire):
                self.decoder.take(event)
        except ProviderError as error:
            self.failed = error.failure
        self.end()
        if self.failed is not None and self.failed.kind is FailureKind.TRUNCATED:
            self.failed.message = "the answer has no reason for its end"

    def _decode(self, events: Sequence[Event], *, is_late: bool) -> Sequence[Delta]:
        """Return the deltas of *events*, up to one that fails.

        Args:
            is_late: They came after a stop reason.
        """
        decoder = self.decoder
        deltas: list[Delta] = []
        try:
            for name, data in events:
                if decoder.is_done:
                    break
                silent_output, stop_count = decoder.silent_output, decoder.stop_count
                new = decoder.decode(data, name)
                deltas += new
                if is_late and (new or decoder.silent_output != silent_output):
                    self.goes_on = True
                if decoder.stop_count != stop_count:
                    self.goes_on = False
        except ProviderError as error:
            self.failed = error.failure
        return deltas

    def _explain_cut(self, broken: Failure | None, stopped_after: float | None) -> None:
        """Add to the failure the reason why the answer was cut."""
        failed = self.failed
        kind = None if failed is None else failed.kind
        if stopped_after is not None and kind in (None, FailureKind.TOOL_CALL_MALFORMED):
            self.failed = stream_error.stopped_midway(stopped_after).failure
        elif broken is not None and failed is not None and kind is FailureKind.TRUNCATED:
            self.failed = _cut_failure(failed, broken)


def _read_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in *body*; of a list of one, as Gemini's wire has it, that one.

    Raises:
        ProviderError: It is cut, or something else, such as a page.
    """
    try:
        value = read_json(body)
    except ValueError:
        raise stream_error.no_answer(body) from None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise stream_error.no_answer(body)
    return value


def _cut_failure(failure: Failure, broken: Failure) -> Failure:
    """Return *failure* with what cut the stream; a timeout of the transport stays a timeout."""
    if broken.kind is FailureKind.TIMEOUT:
        return broken
    failure.message = f"{failure.message}: {broken.message}"
    failure.code, failure.cause = broken.code, broken.cause
    return failure
