"""OpenAI Chat Completions and its dialects: decoding a stream.

Source: the types of the openai package 3.57, openrouter.ai/docs/api/reference/errors-and-debugging,
and traffic recorded by pydantic-ai (tests/models/cassettes), read on 2026-11-29; captures
openai_chat_*, openrouter_stream_*, compat_*, deepseek_stream_*, groq_stream_*, mistral_stream_*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ...catalog.vendor import VENDORS, vendor_of
from ...classify.classify import has_error_object
from ...classify.fact_lookup import kind_of_stop
from ...conversation import Part, Reasoning, Text, Usage
from ...delta import Delta, ReasoningDelta, TextDelta
from ...failure import FailureKind
from ...json_value import integer, mapping, string
from .. import stream_error
from ..base_decoder import BaseDecoder
from ..event_template import EventTemplate
from ..stop_word import CUT, is_broken, is_cut, is_malformed_call, native_words, plain_word
from .reasoning_details import ReasoningDetails
from .think_tag import ThinkTag
from .tool_calls import CallAssembler, is_of_other_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...catalog.provider import Provider
    from ...wire_name import Wire

_NOTHING: tuple[Delta, ...] = ()
_UNREAD = ("audio", "function_call", "images", "image", "video", "executed_tools")
"""Fields with output that is not kept; `function_call` is the old form of ``tool_calls``."""
_OUTPUT = ("content", "tool_calls", *_UNREAD)
_WITH_THINK_TAG = frozenset({"minimax"})
"""The vendors of models that think inside the content, in a tag at its start."""


class ChatDecoder(BaseDecoder):
    """The `Decoder` of Chat Completions."""

    wire: ClassVar[Wire] = "openai-chat"

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider)
        self._template = EventTemplate(_text_in)
        # While it is set, all text goes through it, and never through the template.
        self._tag = ThinkTag() if vendor_of(provider) in _WITH_THINK_TAG else None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._reasoning_field: str | None = None
        self._is_unknown = vendor_of(provider) not in VENDORS
        self._refusal: list[str] = []
        self._details = ReasoningDetails()
        self._calls = CallAssembler()
        self._index: object = None  # of the choice that is read
        self._usages = 0  # how many events had a usage
        self._counted_size = -1  # of the output, when the last of them came

    @property
    def stop(self) -> str | None:
        """Why the model stopped, in the provider's own word; None: it has not stopped yet.

        A ``stop`` after tool calls counts as ``tool_calls``.
        """
        if self._stop == "stop" and self._calls.parts:
            return "tool_calls"
        return self._stop

    @property
    def parts(self) -> list[Part]:
        """The parts so far: reasoning, then text, then closed calls.

        On this wire, reasoning is finished only at the end of the stream.
        """
        parts: list[Part] = []
        reasoning = "".join(self._reasoning)
        is_complete = self._stop is not None
        details = tuple(self._details.merged()) if is_complete else ()
        if reasoning or details:
            parts.append(
                Reasoning(
                    reasoning,
                    details=details,
                    complete=is_complete,
                    field_name=self._reasoning_field,
                )
            )
        text = "".join(self._text)
        if text:
            parts.append(Text(text))
        return [*parts, *self._calls.parts]

    def decode(self, data: bytes, event: bytes = b"") -> Sequence[Delta]:
        """Return the deltas of one event.

        Raises:
            ProviderError: The event is an error, or cannot be read.
        """
        if not event:
            text = self._template.text_of(data)
            if text:  # nearly every event
                self._text.append(text)
                return (TextDelta(text),)
        return BaseDecoder.decode(self, data, event)

    def _event(self, value: Any, name: bytes, data: bytes) -> Sequence[Delta]:
        usages = self._usages
        deltas = self._chunk(value, name, data)
        if self._usages != usages:
            self._counted_size = self._size
        return deltas

    @property
    def _size(self) -> int:
        """A number that grows with every piece of output."""
        return len(self._text) + len(self._reasoning) + self.silent_output

    def _chunk(self, value: Any, name: bytes, data: bytes) -> Sequence[Delta]:
        choices = value.get("choices")
        if name == b"error" or not choices or "error" in value:
            if name == b"error" or has_error_object(value):
                raise self._error(value)
            if not choices:
                self._note(value, {})
                return _NOTHING
        choice = choices[0]
        if len(choices) > 1 or choice.get("index") != self._index:
            choice = self._first(choices)
            if choice is None:
                self._note(value, {})
                return _NOTHING
        if self.model is None or value.get("usage") or "usage" in choice or "x_groq" in value:
            self._note(value, choice)
        delta = choice.get("delta") or {}
        content = delta.get("content")
        if content and isinstance(content, str) and self._holds_text_alone(choice, delta):
            self._template.learn(data, content)
            self._text.append(content)
            return (TextDelta(content),)
        return self._choice(choice, delta, value)

    def _first(self, choices: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Return the choice of the answer's first index; None: *choices* hold only others."""
        if self._index is None:
            self._index = choices[0].get("index")
        own = (choice for choice in choices if choice.get("index") in (self._index, None))
        first = next(own, None)
        for other in choices:
            delta = mapping(other.get("delta"))
            if other is not first and any(map(delta.get, _OUTPUT)):
                self._skip()
        return first

    def end(self, *, is_clean: bool = True) -> Sequence[Delta]:
        """Check the stream at the end of the body; a stop reason makes it whole.

        Raises:
            ProviderError: The stream is not whole, or means failure.
        """
        if self._stop is None:
            self._assume_stop()
        kind = self._failure_of(self._stop)
        if kind is not None:
            raise stream_error.failed_stop(kind, self._stop or "")
        if self._refusal:
            raise stream_error.failed_stop(FailureKind.REFUSAL, "refusal", "".join(self._refusal))
        if self.has_reached_limit and self._calls.looks_cut and not is_cut(self._stop):
            self._stop = CUT
        was_cut = is_cut(self._stop)
        if not (was_cut or (is_clean and not self.assumed)) and self._calls.lacks_arguments:
            raise stream_error.truncated()  # the stop reason may have come too early
        deltas = list(self._calls.end(is_cut=was_cut))
        if not was_cut:
            for call in self._calls.calls:
                if call.input is None:
                    raise stream_error.malformed_call(call.name)
            if not (self._text or self._calls.parts or self.unread):
                self._refuse_empty(self._stop)
        return deltas

    def _assume_stop(self) -> None:
        """Take an answer for whole that was counted at its end and closed, but has no stop reason.

        Source: recordings of Snowflake Cortex, and of Novita's kimi-k2 behind OpenRouter.

        Raises:
            ProviderError: Only one of both came, or neither.
        """
        if not self.is_done or self._counted_size != self._size:
            raise stream_error.truncated()
        self._stop = "stop"
        self.assumed.append("a whole answer, as [DONE] came after its usage, but no finish_reason")

    def _holds_text_alone(self, choice: Mapping[str, Any], delta: Mapping[str, Any]) -> bool:
        is_alone = delta.keys() <= {"content", "role"} and not choice.get("finish_reason")
        return is_alone and self._tag is None

    def _choice(
        self, choice: Mapping[str, Any], delta: Mapping[str, Any], value: Mapping[str, Any]
    ) -> Sequence[Delta]:
        if choice.get("error"):
            raise self._error({"error": choice["error"]})
        deltas: list[Delta] = []
        if delta:
            deltas += self._thinking(delta)
            deltas += self._content(delta.get("content"))
            for fragment in delta.get("tool_calls") or ():
                if is_of_other_kind(fragment):
                    self._skip()
                    continue
                deltas += self._calls.add(fragment)
                self.silent_output += 1
            if any(map(delta.get, _UNREAD)):
                self._skip()
            self._refuse(delta.get("refusal"))
        finish = choice.get("finish_reason")
        if finish and isinstance(finish, str):
            self._take_stop(finish, choice, value)
            deltas += self._calls.close(is_cut=is_cut(self._stop))
        if self._stop is not None and self._tag is not None:
            deltas += [self._keep(held) for held in self._tag.end()]
            self._tag = None
        return deltas

    def _take_stop(self, finish: str, choice: Mapping[str, Any], chunk: Mapping[str, Any]) -> None:
        """Keep the stop reason: the last one, unless an earlier one means failure or a cut.

        A gateway may say that the model called a tool, although the provider behind it cut the
        call, or could not read it.
        """
        self.stop_count += 1
        if self._failure_of(self._stop) is not None or is_cut(self._stop):
            return
        self._stop = finish
        if is_cut(finish) or self._failure_of(finish) is not None:
            return
        native = [word for word in (*native_words(choice), *native_words(chunk)) if word]
        failed = next((word for word in native if is_malformed_call(word) or is_broken(word)), None)
        if failed is not None:
            self._stop = failed
        elif any(map(is_cut, native)):
            self._stop = CUT

    def _failure_of(self, stop: str | None) -> FailureKind | None:
        """Return the failure that *stop* means, also if it is a word of Gemini behind a title."""
        kind = BaseDecoder._failure_of(self, stop)
        word = plain_word(stop or "")
        if kind is not None or word in ("", stop):
            return kind
        return kind_of_stop(word, provider="gemini", wire="gemini")

    def _refuse(self, text: object) -> None:
        if text and isinstance(text, str):
            self._refusal.append(text)
            self.silent_output += 1

    def _thinking(self, delta: Mapping[str, Any]) -> Iterator[Delta]:
        """Yield the thinking; if several fields carry the same text, only one is read."""
        entries = delta.get("reasoning_details")
        details = ""
        if entries:
            details = "".join([self._details.add(mapping(entry)) for entry in entries])
        text = string(delta.get("reasoning"))
        if not text:
            text = string(delta.get("reasoning_content")) or details
        elif self._is_unknown:
            self._reasoning_field = "reasoning"
        if text:
            self._reasoning.append(text)
            yield ReasoningDelta(text)
        elif entries:
            self.silent_output += 1

    def _content(self, content: object) -> Iterator[Delta]:
        """Yield the deltas of the content, which Mistral also sends as a list of chunks."""
        for chunk in content if isinstance(content, list) else [content]:
            fields = mapping(chunk)
            if fields and not fields.keys() & {"text", "thinking"}:
                self._skip()
            text = chunk if isinstance(chunk, str) else string(fields.get("text"))
            if text and self._tag is not None:
                yield from self._untagged(self._tag, text)
            elif text:
                self._text.append(text)
                yield TextDelta(text)
            for thought in fields.get("thinking") or ():
                thinking = string(mapping(thought).get("text"))
                if thinking:
                    self._reasoning.append(thinking)
                    yield ReasoningDelta(thinking)

    def _untagged(self, tag: ThinkTag, text: str) -> Iterator[Delta]:
        """Yield the deltas of a text that may begin with thinking in a tag."""
        held = True
        for delta in tag.read(text):
            held = False
            yield self._keep(delta)
        self.silent_output += held
        if tag.is_over:
            self._tag = None

    def _keep(self, delta: TextDelta | ReasoningDelta) -> Delta:
        (self._text if isinstance(delta, TextDelta) else self._reasoning).append(delta.text)
        return delta

    def _note(self, value: Mapping[str, Any], choice: Mapping[str, Any]) -> None:
        self.model = self.model or string(value.get("model")) or None
        self.request_id = self.request_id or string(value.get("id")) or None
        groq = mapping(value.get("x_groq"))
        if groq.get("error"):
            raise self._error({"error": {"code": groq["error"], "message": groq["error"]}})
        for usage in (value.get("usage"), choice.get("usage"), groq.get("usage")):
            if isinstance(usage, dict) and usage:
                self._usages += 1
                self._take_usage(_usage(usage))


def _text_in(value: Any) -> object:
    return value["choices"][0]["delta"]["content"]


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = mapping(usage.get("prompt_tokens_details"))
    cached = (
        details.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
    )
    return Usage(
        input=integer(usage.get("prompt_tokens")),
        output=integer(usage.get("completion_tokens")),
        cache_read=next((number for number in map(integer, cached) if number is not None), None),
        cache_write=integer(details.get("cache_write_tokens")),
    )
