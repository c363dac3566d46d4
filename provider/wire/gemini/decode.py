"""Gemini's ``streamGenerateContent``: decoding a stream.

Source: ai.google.dev/api/generate-content and /gemini-api/docs/thought-signatures, the types of
the google-genai package 2.34, and gemini-cli (packages/core/src/core/geminiChat.ts), read on
2026-11-29; captures gemini_stream_*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ...classify.classify import has_error_object
from ...conversation import Part, Reasoning, Text, ToolCall, Usage
from ...delta import Delta, ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from ...failure import FailureKind
from ...json_value import integer, mapping, string
from .. import stream_error
from ..base_decoder import BaseDecoder
from ..call_arguments import read_arguments
from ..protocol import new_call_id
from ..seen_calls import SeenCalls
from ..stop_word import is_cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...catalog.provider import Provider
    from ...wire_name import Wire

_NOTHING: tuple[Delta, ...] = ()
_UNSPECIFIED = frozenset({"", "FINISH_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED"})


@dataclass(slots=True)
class _Run:
    """Text or thinking over several chunks; a signature ends it, because it must not move."""

    is_thought: bool
    pieces: list[str] = field(default_factory=list)
    signature: str | None = None

    def part(self, *, complete: bool) -> Part:
        text = "".join(self.pieces)
        if self.is_thought:
            return Reasoning(text, signature=self.signature, complete=complete)
        return Text(text, signature=self.signature)


@dataclass(slots=True)
class _Call:
    """A call; it always arrives whole."""

    id: str
    name: str
    input: dict[str, Any]
    signature: str | None

    def part(self, *, complete: bool) -> Part:
        return ToolCall(self.id, self.name, self.input, signature=self.signature)


class GeminiDecoder(BaseDecoder):
    """The `Decoder` of Gemini."""

    wire: ClassVar[Wire] = "gemini"

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider)
        self._order: list[_Run | _Call] = []
        self._seen = SeenCalls()
        self._unread: list[str] = []  # names of calls with unreadable arguments
        self._blocked: str | None = None
        self._detail = ""

    @property
    def stop(self) -> str | None:
        """Why the model stopped, or why the prompt was blocked, in the provider's own word."""
        return self._stop or self._blocked

    @property
    def parts(self) -> list[Part]:
        """The parts so far, in their original order and with their signatures.

        Thinking is finished when a signature or another part follows it.
        """
        last = len(self._order) - 1 if self._stop is None else None
        return [
            entry.part(complete=index != last or entry.signature is not None)
            for index, entry in enumerate(self._order)
        ]

    def _event(self, value: Any, name: bytes, data: bytes) -> Sequence[Delta]:
        """Return the deltas of *value*; an array counts as that many events."""
        if isinstance(value, list):
            return [delta for entry in value for delta in self._chunk(entry, name)]
        return self._chunk(value, name)

    def end(self, *, is_clean: bool = True) -> Sequence[Delta]:
        """Check the stream at the end of the body.

        Raises:
            ProviderError: The stream is not whole, or means failure.
        """
        if self._stop is None:
            if self._blocked is None:
                raise stream_error.truncated()
            raise stream_error.failed_stop(FailureKind.CONTENT_FILTER, self._blocked, self._detail)
        kind = self._failure_of(self._stop)
        if kind is not None:
            raise stream_error.failed_stop(kind, self._stop, self._detail)
        if is_cut(self._stop):
            last = self._order[-1] if self._order else None
            if isinstance(last, _Call) and not last.input:
                self._order.pop()  # the cut may have taken its arguments
        else:
            if self._unread:
                raise stream_error.malformed_call(self._unread[0])
            has_output = any(isinstance(entry, _Call) or _is_text(entry) for entry in self._order)
            if not (has_output or self.unread):
                self._refuse_empty(self._stop)
        return _NOTHING

    def _chunk(self, value: Mapping[str, Any], event: bytes) -> Sequence[Delta]:
        candidates = value.get("candidates")
        if (event == b"error" or "error" in value or not candidates) and (
            event == b"error" or has_error_object(value)
        ):
            raise self._error(value)
        self._note(value)
        # Only one candidate was requested; others are not kept.
        candidate = next((c for c in candidates or () if not c.get("index")), None)
        for other in candidates or ():
            if other is not candidate and mapping(other.get("content")).get("parts"):
                self._skip()
        if candidate is None:
            return _NOTHING
        content = candidate.get("content") or {}
        deltas = [d for part in content.get("parts") or () for d in self._part(part)]
        self._take_stop(candidate)
        return deltas

    def _note(self, value: Mapping[str, Any]) -> None:
        self.model = string(value.get("modelVersion")) or self.model
        self.request_id = string(value.get("responseId")) or self.request_id
        usage = value.get("usageMetadata")
        if isinstance(usage, dict) and usage:
            self._take_usage(_usage(usage))  # it counts the whole answer so far
        feedback = mapping(value.get("promptFeedback"))
        reason = string(feedback.get("blockReason"))
        if reason not in _UNSPECIFIED:
            self._blocked = reason
            self._detail = self._detail or string(feedback.get("blockReasonMessage"))

    def _part(self, part: Mapping[str, Any]) -> Iterator[Delta]:
        signature = string(part.get("thoughtSignature")) or None
        if part.get("functionCall") is not None:
            yield from self._call(part["functionCall"], signature)
            return
        text, is_thought = string(part.get("text")), part.get("thought") is True
        if not text and not part.keys() <= _SIGNED:
            self._skip()
            return
        if signature is None and not text:
            return
        run = self._run(is_thought=is_thought, signature=signature)
        if text:
            run.pieces.append(text)
            yield ReasoningDelta(text) if is_thought else TextDelta(text)
        else:
            self.silent_output += 1

    def _run(self, *, is_thought: bool, signature: str | None) -> _Run:
        """Return the run that a piece of text belongs to; nothing is joined across a signature."""
        last = self._order[-1] if self._order else None
        if (
            isinstance(last, _Run)
            and last.is_thought is is_thought
            and last.signature is None is signature
        ):
            return last
        run = _Run(is_thought, signature=signature)
        self._order.append(run)
        return run

    def _call(self, call: Mapping[str, Any], signature: str | None) -> Iterator[Delta]:
        name, arguments = string(call.get("name")), _arguments(call)
        if not name or arguments is None:
            self._unread.append(name)
            self.silent_output += 1
            return
        made = _Call(string(call.get("id")) or new_call_id(), name, arguments, signature)
        if self._seen.is_repeat(made.id, name, arguments):
            self.silent_output += 1
            return
        self._order.append(made)
        yield ToolCallStarted(made.id, name)
        yield ToolCallEnded(made.id, name, arguments)

    def _take_stop(self, candidate: Mapping[str, Any]) -> None:
        """Keep the stop reason: the last one, unless an earlier one means failure or a cut."""
        finish = string(candidate.get("finishReason"))
        self.stop_count += finish not in _UNSPECIFIED
        is_over = is_cut(self._stop) or self._failure_of(self._stop) is not None
        if finish not in _UNSPECIFIED and not is_over:
            self._stop = finish
            self._detail = string(candidate.get("finishMessage"))


_SIGNED = frozenset({"text", "thought", "thoughtSignature"})


def _is_text(entry: _Run | _Call) -> bool:
    return isinstance(entry, _Run) and bool(entry.pieces) and not entry.is_thought


def _arguments(call: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a call; None: they are not an object, or come in pieces."""
    if call.get("willContinue") or call.get("partialArgs"):
        return None
    arguments = call.get("args")
    if isinstance(arguments, dict):
        return arguments
    return read_arguments(arguments or "") if isinstance(arguments, str | None) else None


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input=_sum(usage, "promptTokenCount", "toolUsePromptTokenCount"),
        output=_sum(usage, "candidatesTokenCount", "thoughtsTokenCount"),
        cache_read=integer(usage.get("cachedContentTokenCount")),
    )


def _sum(usage: Mapping[str, Any], *names: str) -> int | None:
    """Return the sum of the counts; None: there are none."""
    counts = [count for count in map(integer, map(usage.get, names)) if count is not None]
    return sum(counts) if counts else None
