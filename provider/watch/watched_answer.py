"""The judgement of one answer that passes through a watched client, without input or output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..client.attempt_errors import AttemptErrors
from ..client.decompression import decompressor_of
from ..client.error_response import failure_of_response
from ..client.response_body import is_event
from ..client.stream import TRAILING
from ..conversation import Usage
from ..delta import TextDelta
from ..error import ProviderError
from ..failure import Failure, FailureKind, Stage
from ..recording.recorded_answer import wire_of
from ..secret import Secret
from ..wire.openai_responses.decode import CANCELLED
from ..wire.reading import Reading
from ..wire.stop_word import is_proper_end
from ..wire.stream_error import too_large

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..delta import Delta
    from .model_call import ModelCall

_JSON = (b"{", b"[")
_START = 64
"""The first bytes of a body, which show its form."""
_LOOKED_AT = 65_536
"""The first bytes of a body, which must show a model's answer if the request does not."""
MAX_WHOLE = 64 * 1_048_576
"""The largest number of bytes of an answer that is not streamed, decompressed."""
_BLAMELESS = frozenset({FailureKind.CONTENT_FILTER, FailureKind.REFUSAL})
"""The failures that the agent sees itself, and that are no fault of a route."""
_KEYS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")

_STARTS = (b"data: ", b"event: ")
_BACKSLASH = ord("\\")


@dataclass(frozen=True, slots=True)
class BodyForm:
    """The facts about an answer before its body.

    Args:
        asked: The headers of its request.
        kind: Its content type; empty: it has none.
        coding: How it is compressed; empty: it is not.
    """

    status: int
    headers: Mapping[str, str]
    asked: Mapping[str, str]
    kind: str = ""
    coding: str = ""


class WatchedAnswer:
    """Judges the answer to *call*.

    Attributes:
        is_settled: Nothing more is judged: the answer is whole, or no model wrote it.
        is_whole: The answer is whole, so that nothing that follows can undo it.
        has_output: True once any output has arrived.
    """

    def __init__(self, call: ModelCall, form: BodyForm) -> None:
        self.is_settled = False
        self.is_whole = False
        self.has_output = False
        self.call = call
        self._form = form
        self._decompress = decompressor_of(form.coding) if form.coding else None
        # The bytes before and after the text of the last event, if the next may differ only there.
        self._head = self._tail = b""
        self._head_size = self._tail_size = 0
        self._gap = call.provider.timeouts.gap
        self._was_ending = False
        self._held = bytearray()  # until the form is known, and the whole of one that is JSON
        self._is_json = False
        self._reading: Reading | None = None
        self._whole_usage: Usage | None = None  # of an answer that was not streamed
        if "eventstream" in form.kind:  # the frames of Bedrock
            self.is_settled = True
        elif call.is_certain and "event-stream" in form.kind:
            self._reading = Reading(call.provider)

    @property
    def is_ending(self) -> bool:
        """True once the answer has a reason for its end."""
        return self._reading is not None and self._reading.decoder.stop is not None

    @property
    def usage(self) -> Usage:
        """The tokens that the answer has reported so far."""
        if self._reading is None:
            return self._whole_usage or Usage()
        return self._reading.decoder.usage

    def take(self, block: bytes) -> float | None:
        """Read *block* before it is passed on; return the seconds in which more must come.

        None: *block* brings no output, so that the present time limit goes on.

        Raises:
            ProviderError: The answer ends in it, and failed.
        """
        if self._decompress is None:
            if self._head and block.startswith(self._head):
                # It need not be decoded if it differs from the last one only in its text, because
                # an answer with text in it is not judged by more text.
                end = len(block) - self._tail_size
                if (
                    block.endswith(self._tail)
                    and block.find(b'"', self._head_size) == end > self._head_size
                    and block[end - 1] != _BACKSLASH
                ):
                    return self._gap
            pieces: Iterable[bytes] = (block,)
        else:
            pieces = self._pieces(block)
        has_output = False
        for piece in pieces:
            has_output = self._take(piece) or has_output
        if self.is_ending and (has_output or not self._was_ending):
            self._was_ending = True
            return min(TRAILING, self._gap)
        return self._gap if has_output else None

    def end(self, broken: Failure | None = None) -> None:
        """Judge the answer at the end of its body.

        Args:
            broken: The failure of the connection that cut the body; None: it came to its end.

        Raises:
            ProviderError: The answer failed.
        """
        if self._reading is None and not (self._is_json or self.is_settled):
            self._decide(is_over=True)
        if self.is_settled:
            return
        if self._reading is None:
            self._judge_json(broken)
        else:
            self._reading.end(broken)
            self._judge(self._reading.failed, self._reading)

    def stop_waiting(self) -> None:
        """Judge an answer with a reason for its end and then too long a silence.

        Raises:
            ProviderError: Output came after the reason, and then neither more output nor the end.
        """
        reading = self._reading
        assert reading is not None  # noqa: S101 - there is a reason for the end
        reading.end(stopped_after=TRAILING if reading.goes_on else None)
        self._judge(reading.failed, reading)

    def error(self, failure: Failure) -> ProviderError:
        """Return the error to raise for *failure*."""
        reading = self._reading
        request_id = None if reading is None else reading.decoder.request_id
        errors = AttemptErrors(None, _secret_in(self._form.asked))
        errors.headers = self._form.headers
        return errors.error(failure, request_id=request_id)

    def _learn(self, block: bytes, deltas: Sequence[Delta]) -> None:
        """Remember how *block* begins and ends, if it is one event with only text."""
        self._head = b""
        if (
            len(deltas) != 1
            or self.is_ending
            or not block.endswith(b"\n\n")
            or block.count(b"\n\n") != 1
        ):
            return
        delta = deltas[0]
        if not isinstance(delta, TextDelta) or not block.startswith(_STARTS):
            return
        text = b'"%s"' % delta.text.encode("utf-8", "replace")
        if block.count(text) == 1 and b"\\" not in text:
            head, _, tail = block.partition(text)
            self._head, self._tail = head + b'"', b'"' + tail
            self._head_size, self._tail_size = len(self._head), len(self._tail)

    def _pieces(self, block: bytes) -> Iterator[bytes]:
        """Yield *block* decompressed; the agent's library handles what cannot be read here."""
        assert self._decompress is not None  # noqa: S101
        try:
            yield from self._decompress(block)
        except Exception:  # noqa: BLE001 - not gzip at all, or another compression
            self.is_settled = True

    def _take(self, block: bytes) -> bool:
        reading = self._reading
        if self.is_settled:
            return False
        if reading is None:
            self._held += block
            if len(self._held) > MAX_WHOLE:
                raise self.error(too_large("an answer", MAX_WHOLE).failure)
            return self._is_json or self._decide()
        decoder = reading.decoder
        silent_output = decoder.silent_output
        deltas = reading.feed(block)
        if reading.failed is None and decoder.is_done:
            reading.end()
            self._judge(reading.failed, reading)
        elif reading.failed is not None:
            self._judge(reading.failed, reading)
        self._learn(block, deltas)
        if not deltas and decoder.silent_output == silent_output:
            return False
        self.has_output = True
        return True

    def _decide(self, *, is_over: bool = False) -> bool:
        """Recognise the form of the body by its start; return True if the start is output."""
        held, call = self._held, self.call
        if not (is_over or len(held) >= _START or held.lstrip().startswith(_JSON)):
            return False
        if not (call.is_certain or wire_of(bytes(held[:_LOOKED_AT])) == call.provider.wire):
            self.is_settled = is_over or len(held) >= _LOOKED_AT
            return False
        if not self._is_stream(bytes(held[:_START])):
            self._is_json = self.has_output = True
            return True
        self._reading = Reading(call.provider)
        self._held = bytearray()
        return self._take(bytes(held))

    def _is_stream(self, start: bytes) -> bool:
        """True if a body that begins with *start* has to be read event by event."""
        kind, call = self._form.kind, self.call
        if is_event(start) or "event-stream" in kind:
            return True
        if "json" in kind:
            return call.asks_stream and call.provider.wire == "gemini"
        return call.asks_stream and not start.lstrip().startswith((b"{", b"<"))

    def _judge_json(self, broken: Failure | None) -> None:
        """Judge a body that was not streamed: JSON, or a page or text in its place."""
        body, call = bytes(self._held), self.call
        if call.asks_stream and body.lstrip().startswith(b"{") and call.is_for_stream:
            form = self._form
            failed = failure_of_response(form.status, form.headers, body, provider=call.provider)
            self._judge(failed, None)
            return
        reading = Reading(call.provider)
        reading.whole(body)
        self._whole_usage = reading.decoder.usage
        failure = reading.failed
        is_cut = failure is not None and failure.kind is FailureKind.TRUNCATED
        self._judge(broken if is_cut and _is_timeout(broken) else failure, reading)

    def _judge(self, failed: Failure | None, reading: Reading | None) -> None:
        """End the judgement of an answer that is whole, or that failed by no fault of its route.

        Raises:
            ProviderError: It failed.
        """
        if failed is not None and not self._is_blameless(failed, reading):
            raise self.error(failed) from failed.cause
        self.is_settled = self.is_whole = True

    def _is_blameless(self, failed: Failure, reading: Reading | None) -> bool:
        if failed.code == CANCELLED:
            return True  # by the agent itself, in the background
        if failed.stage is not Stage.END or reading is None:
            return False
        is_honest = failed.kind is FailureKind.EMPTY_RESPONSE and self.call.may_end_empty
        return failed.kind in _BLAMELESS or (is_honest and is_proper_end(reading.decoder.stop))


def _is_timeout(failure: Failure | None) -> bool:
    return failure is not None and failure.kind is FailureKind.TIMEOUT


def _secret_in(headers: Mapping[str, str]) -> Secret:
    """Return the key that a request was sent with."""
    key = next((value for name in _KEYS if (value := headers.get(name))), None)
    return Secret(key and key.removeprefix("Bearer ").strip())
