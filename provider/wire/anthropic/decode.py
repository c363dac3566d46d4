"""Anthropic Messages: decoding a stream.

Source: docs.claude.com/en/api/messages-streaming and platform.claude.com/docs/en/api/errors, read
on 2026-11-29; captures anthropic_*, facade_*, framing_*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ...classify.classify import has_error_object
from ...conversation import Part, Reasoning, Text, ToolCall, Usage
from ...delta import Delta, ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from ...json_value import integer, mapping, string
from .. import stream_error
from ..base_decoder import BaseDecoder
from ..call_arguments import read_arguments
from ..event_template import EventTemplate
from ..protocol import new_call_id
from ..seen_calls import SeenCalls
from ..stop_word import CUT, is_cut, native_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...catalog.provider import Provider
    from ...wire_name import Wire

_NOTHING: tuple[Delta, ...] = ()
_DELTAS: Mapping[str, type[TextDelta] | type[ReasoningDelta]] = {
    "text": TextDelta,
    "thinking": ReasoningDelta,
}
_PAUSED = "pause_turn"
"""The stop reason of an answer that pauses, in which a call may lack its arguments."""

_STOPPED_AT_WORD = "stop_sequence"
"""The stop reason of an answer that may be empty, because the request names a word as its end."""


@dataclass(slots=True)
class _Block:
    """One content block while it arrives."""

    kind: str
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    redacted: str | None = None
    input: dict[str, Any] | None = None
    is_closed: bool = False
    is_reported: bool = False
    delta_type: type[TextDelta] | type[ReasoningDelta] = TextDelta

    def add(self, text: object) -> Sequence[Delta]:
        """Add a piece of text or thinking, and return its delta."""
        if not text or not isinstance(text, str):
            return _NOTHING
        self.pieces.append(text)
        return (self.delta_type(text),)

    def part(self) -> Part | None:
        """Return the part so far; None: there is nothing to keep."""
        text = "" if self.kind == "tool_use" else "".join(self.pieces)
        if self.kind == "text":
            return Text(text) if text else None
        if self.kind == "tool_use":
            if self.input is None or not self.is_closed:
                return None
            return ToolCall(self.id, self.name, self.input)
        if not self.is_closed:
            return Reasoning(text, complete=False)
        signature = "".join(self.signature) or None
        if not (text or signature or self.redacted):
            return None
        return Reasoning(text, signature=signature, redacted=self.redacted)

    def close(self, *, is_over: bool = False) -> Sequence[Delta]:
        """Close the block; return the end of a call once it has arguments.

        Args:
            is_over: The answer has ended and is not cut, so that a call without arguments has none.
                Before that, its arguments may still be missing although the block was closed.
        """
        self.is_closed = True
        if self.kind != "tool_use" or self.is_reported:
            return _NOTHING
        text = "".join(self.pieces)
        if text and not text.isspace():
            arguments = read_arguments(text)
            if arguments != {} or self.input is None:
                self.input = arguments
        elif is_over and self.input is None:
            self.input = {}
        if self.input is None:
            return _NOTHING
        self.is_reported = True
        return (ToolCallEnded(self.id, self.name, self.input),)


class AnthropicDecoder(BaseDecoder):
    """The `Decoder` of Anthropic Messages."""

    wire: ClassVar[Wire] = "anthropic"

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider)
        self._order: list[_Block] = []
        self._seen = SeenCalls()
        self._at: dict[object, _Block] = {}
        self._growing: tuple[_Block, EventTemplate] | None = None  # the block of the latest deltas
        self._detail = ""

    @property
    def parts(self) -> list[Part]:
        """The parts so far; a block is finished when its own end has come."""
        parts = (block.part() for block in self._order)
        return [part for part in parts if part is not None]

    def decode(self, data: bytes, event: bytes = b"") -> Sequence[Delta]:
        """Return the deltas of one event.

        Raises:
            ProviderError: The event is an error, or cannot be read.
        """
        if self._growing is not None:
            block, template = self._growing
            text = template.text_of(data)
            if text:  # nearly every event
                block.pieces.append(text)
                return (block.delta_type(text),)
        return BaseDecoder.decode(self, data, event)

    def _event(self, value: Any, name: bytes, data: bytes) -> Sequence[Delta]:
        kind = value.get("type") or name.decode("utf-8", "replace")
        if kind == "content_block_delta":
            return self._delta(value.get("index"), value["delta"], data)
        return self._other(kind, value)

    def end(self, *, is_clean: bool = True) -> Sequence[Delta]:
        """Check the stream at the end of the body.

        A clean end after the stop reason counts as whole even without the terminal marker, because
        all content comes before the stop reason.

        Raises:
            ProviderError: The stream is not whole, or means failure.
        """
        if not (self.is_done or (is_clean and self._stop)):
            raise stream_error.truncated()
        kind = self._failure_of(self._stop)
        if kind is not None:
            raise stream_error.failed_stop(kind, self._stop or "", self._detail)
        calls = [block for block in self._order if block.kind == "tool_use"]
        is_over = self._stop != _PAUSED and not self._is_cut(calls)
        deltas = [delta for call in calls for delta in self._close(call, is_over=is_over)]
        if is_over:
            for call in calls:
                if call.input is None:
                    raise stream_error.malformed_call(call.name)
            if not self._has_output:
                self._refuse_empty(self._stop)
        return deltas

    @property
    def _has_output(self) -> bool:
        """True if anything but thinking came, or if nothing had to come."""
        if self.unread or self._stop == _STOPPED_AT_WORD:
            return True
        return any(isinstance(part, Text | ToolCall) for part in self.parts)

    def _is_cut(self, calls: Sequence[_Block]) -> bool:
        """True if the answer was cut; a last call without arguments is then dropped."""
        is_open = bool(calls) and calls[-1] is self._order[-1] and not calls[-1].input
        if is_open and self.has_reached_limit and not is_cut(self._stop):
            self._stop = CUT
        if not is_cut(self._stop):
            return False
        if is_open:
            calls[-1].input = None
        return True

    def _take_done(self) -> None:
        """Ignore ``[DONE]``: the terminal marker is ``message_stop``; some facades send both."""

    def _delta(self, index: object, delta: dict[str, Any], data: bytes) -> Sequence[Delta]:
        kind = string(delta.get("type")).removesuffix("_delta")
        block = self._at.get(index)
        if kind in _DELTAS:
            if block is None or block.is_closed:
                # Some facades announce no block, or give all blocks one index.
                block = self._open(index, _Block(kind, delta_type=_DELTAS[kind]))
            if block.kind == kind:
                return self._grow(block, delta[kind], data)
            self.silent_output += 1  # of a block that is not kept
            return _NOTHING
        if block is None:
            return _NOTHING
        if kind == "input_json" and block.kind == "tool_use":
            self._add_silent(block.pieces, delta["partial_json"])
        elif kind == "signature" and block.kind == "thinking":
            self._add_silent(block.signature, delta["signature"])
        else:
            self.silent_output += 1
        return _NOTHING

    def _grow(self, block: _Block, text: object, data: bytes) -> Sequence[Delta]:
        """Add *text* to *block*, and learn the template of its events."""
        if self._growing is None or self._growing[0] is not block:
            self._growing = block, EventTemplate(lambda value: value["delta"][block.kind])
        if isinstance(text, str):
            self._growing[1].learn(data, text)
        return block.add(text)

    def _add_silent(self, pieces: list[str], text: object) -> None:
        if text and isinstance(text, str):
            pieces.append(text)
            self.silent_output += 1

    def _other(self, kind: str, value: dict[str, Any]) -> Sequence[Delta]:
        self._growing = None
        if kind == "content_block_start":
            return self._start(value.get("index"), value["content_block"])
        if kind == "content_block_stop":
            block = self._at.get(value.get("index"))
            return _NOTHING if block is None else self._close(block)
        if kind == "message_delta":
            self._note_stop(value)
        elif kind == "message_stop":
            self.is_done = True
        elif kind == "message_start":
            message = mapping(value.get("message"))
            self.model = string(message.get("model")) or None
            self._count(mapping(message.get("usage")))
        elif kind == "error" or has_error_object(value):
            raise self._error(value)
        return _NOTHING

    def _start(self, index: object, content: dict[str, Any]) -> Sequence[Delta]:
        kind = string(content.get("type"))
        if kind == "tool_use":
            call = _Block(kind, string(content.get("id")) or new_call_id(), content["name"])
            call.input = dict(mapping(content.get("input"))) or None
            self._open(index, call)
            return (ToolCallStarted(call.id, call.name),)
        if kind == "redacted_thinking":
            self._open(index, _Block("thinking", redacted=content["data"]))
            self.silent_output += 1
            return _NOTHING
        if kind not in _DELTAS:
            self._at[index] = _Block("skipped")
            self._skip()
            return _NOTHING
        block = self._open(index, _Block(kind, delta_type=_DELTAS[kind]))
        self._add_silent(block.signature, content.get("signature"))
        return block.add(content.get(kind))

    def _close(self, block: _Block, *, is_over: bool = False) -> Sequence[Delta]:
        """Close *block*; drop it if it is a call that came before."""
        deltas = block.close(is_over=is_over)
        if not deltas or block.input is None:
            return deltas
        if self._seen.is_repeat(block.id, block.name, block.input):
            self._order = [other for other in self._order if other is not block]
            return _NOTHING
        return deltas

    def _open(self, index: object, block: _Block) -> _Block:
        self._at[index] = block
        self._order.append(block)
        return block

    def _note_stop(self, value: dict[str, Any]) -> None:
        delta = mapping(value.get("delta"))
        stop = string(delta.get("stop_reason"))
        self.stop_count += bool(stop)
        if not (is_cut(self._stop) and stop):
            self._stop = next(filter(is_cut, native_words(delta)), stop) or self._stop
        details = mapping(delta.get("stop_details"))
        texts = (string(details.get(name)) for name in ("category", "explanation"))
        self._detail = ", ".join(text for text in texts if text) or self._detail
        self._count(mapping(value.get("usage")))

    def _count(self, usage: Any) -> None:
        """Keep the larger counts: facades send the input only at the start, or only at the end.

        But with a new count of the cache, the input replaces the one before: some facades count
        the whole prompt at the start, and at the end only what was not cached.

        Source: github.com/maximhq/bifrost/pull/5355; that a later 0 replaces nothing,
        github.com/envoyproxy/ai-gateway/pull/1631 and /pull/2236.
        """
        mine = self.usage
        read = integer(usage.get("cache_read_input_tokens")) or 0
        written = integer(usage.get("cache_creation_input_tokens")) or 0
        brings_cache = read > (mine.cache_read or 0) or written > (mine.cache_write or 0)
        if brings_cache and integer(usage.get("input_tokens")) is not None:
            mine.input = None
        elif mine.input is not None and usage.get("input_tokens") == _whole(mine):
            usage = {**usage, "input_tokens": mine.input}  # the cache counts in it once more
        if usage.get("output_tokens") == 0 and mine.output == 1:
            mine.output = 0  # the 1 of the start stands for a count that never came
        mine.input = _larger(mine.input, usage.get("input_tokens"))
        mine.output = _larger(mine.output, usage.get("output_tokens"))
        mine.cache_read = _larger(mine.cache_read, usage.get("cache_read_input_tokens"))
        mine.cache_write = _larger(mine.cache_write, usage.get("cache_creation_input_tokens"))


def _whole(usage: Usage) -> int:
    return (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)


def _larger(earlier: int | None, count: object) -> int | None:
    if not isinstance(count, int):
        return earlier
    return count if earlier is None else max(earlier, count)
