"""OpenAI Chat Completions: writing an answer for a client.

Thinking goes into ``reasoning_content``, the field that most clients of this wire read.

Source: the types of the openai package 3.57, read on 2026-11-30.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, assert_never

from ...conversation import Reasoning, Text, ToolCall
from ...delta import ReasoningDelta, TextDelta, ToolCallEnded
from ...json_value import write_json, write_json_line
from ..answer import new_id
from ..openai_error import error_of
from ..refusal import Refusal, headers_of, status_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...conversation import ModelPart
    from ...delta import Delta
    from ...failure import Failure
    from ...wire_name import Wire
    from ..answer import Answer, End

Json = dict[str, Any]

PING = b": keep-alive\n\n"
DONE = b"data: [DONE]\n\n"
THINKING = "reasoning_content"

_STOPS: Mapping[End, str] = MappingProxyType(
    {"end": "stop", "calls": "tool_calls", "cut": "length", "stop_sequence": "stop"}
)
_BETWEEN = "\n\n"


class ChatWriter:
    """The `Writer` of Chat Completions."""

    wire: ClassVar[Wire] = "openai-chat"

    def __init__(
        self,
        *,
        model: str,
        answer_id: str = "",
        created: int = 0,
        wants_usage: bool = True,
        is_array: bool = False,
    ) -> None:
        self._head = {"id": answer_id or new_id("chatcmpl-"), "created": created, "model": model}
        self._wants_usage = wants_usage
        self._calls = 0
        self._is_fed = False
        head = write_json_line({**self._head, "object": "chat.completion.chunk"})[:-1]
        self._begin = b'data: %s,"choices":[{"index":0,"delta":{' % head

    def start(self) -> bytes:
        """Return the beginning of a stream."""
        return self._chunk({"role": "assistant", "content": ""})

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Return the events for *deltas*; a call is written when its arguments are whole."""
        begin, end = self._begin, b'},"logprobs":null,"finish_reason":null}]}\n\n'
        pieces: list[bytes] = []
        for delta in deltas:
            if isinstance(delta, TextDelta):
                pieces += (begin, b'"content":', write_json_line(delta.text), end)
            elif isinstance(delta, ReasoningDelta):
                pieces += (begin, b'"reasoning_content":', write_json_line(delta.text), end)
            elif isinstance(delta, ToolCallEnded):
                call = ToolCall(delta.id, delta.name, delta.input)
                pieces += self._call_chunks(call, is_own=False)
        self._is_fed = self._is_fed or bool(pieces)
        return b"".join(pieces)

    def end(self, answer: Answer) -> bytes:
        """Return the rest of a stream, with the terminal marker."""
        pieces: list[bytes] = []
        if not self._is_fed:
            for part in answer.model_parts:
                pieces += self._part(part, is_own=answer.wire == self.wire)
        pieces.append(self._chunk({}, _STOPS[answer.end]))
        if self._wants_usage:
            pieces.append(_data({**self._chunk_head(), "choices": [], "usage": _usage(answer)}))
        return b"".join((*pieces, DONE))

    def error(self, failure: Failure) -> bytes:
        """Return the chunk that ends a stream which fails; no terminal marker follows it."""
        return _data({"error": error_of(failure)})

    def ping(self) -> bytes:
        """Return a comment."""
        return PING

    def whole(self, answer: Answer) -> bytes:
        """Return *answer* as one completion."""
        choice = {
            "index": 0,
            "message": _message(answer),
            "logprobs": None,
            "finish_reason": _STOPS[answer.end],
        }
        head = {**self._head, "object": "chat.completion"}
        return write_json_line({**head, "choices": [choice], "usage": _usage(answer)})

    @staticmethod
    def refusal(failure: Failure, *, is_streamed: bool = False) -> Refusal:
        """Return the response to a request that failed before a byte was sent."""
        body = write_json_line({"error": error_of(failure)})
        return Refusal(status_of(failure), headers_of(failure), body)

    def _chunk_head(self) -> Json:
        return {**self._head, "object": "chat.completion.chunk"}

    def _chunk(self, delta: Json, stop: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}
        return _data({**self._chunk_head(), "choices": [choice]})

    def _part(self, part: ModelPart, *, is_own: bool) -> Iterator[bytes]:
        match part:
            case Text():
                if part.text:
                    yield self._chunk({"content": part.text})
            case Reasoning():
                if fields := _thinking([part], is_own=is_own):
                    yield self._chunk(fields)
            case ToolCall():
                yield from self._call_chunks(part, is_own=is_own)
            case _:
                assert_never(part)

    def _call_chunks(self, call: ToolCall, *, is_own: bool) -> Iterator[bytes]:
        """Yield the announcement of *call*, and its arguments."""
        whole = _call(call, is_own=is_own)
        function = {**whole["function"], "arguments": ""}
        index = {"index": self._calls}
        self._calls += 1
        yield self._chunk({"tool_calls": [{**index, **whole, "function": function}]})
        rest = {**index, "function": {"arguments": whole["function"]["arguments"]}}
        yield self._chunk({"tool_calls": [rest]})


def _data(value: Json) -> bytes:
    return b"data: %s\n\n" % write_json_line(value)


def _message(answer: Answer) -> Json:
    parts, is_own = answer.model_parts, answer.wire == ChatWriter.wire
    text = _BETWEEN.join(part.text for part in parts if isinstance(part, Text) and part.text)
    calls = [_call(part, is_own=is_own) for part in parts if isinstance(part, ToolCall)]
    content = text or (None if calls else "")
    message: Json = {"role": "assistant", "content": content, "refusal": None}
    message |= _thinking([part for part in parts if isinstance(part, Reasoning)], is_own=is_own)
    return {**message, "tool_calls": calls} if calls else message


def _thinking(thoughts: Sequence[Reasoning], *, is_own: bool) -> Json:
    """Return the fields with *thoughts*; their details only if the answer is of this wire."""
    text = _BETWEEN.join(thought.text for thought in thoughts if thought.text)
    details = [dict(detail) for thought in thoughts for detail in thought.details]
    came_in = next((thought.field_name for thought in thoughts if thought.field_name), None)
    name = "reasoning" if is_own and (details or came_in == "reasoning") else THINKING
    fields: Json = {name: text} if text else {}
    return {**fields, "reasoning_details": details} if details and is_own else fields


def _call(call: ToolCall, *, is_own: bool) -> Json:
    arguments = write_json(call.input).decode()
    function = {"name": call.name, "arguments": arguments}
    made: Json = {"id": call.id, "type": "function", "function": function}
    if is_own and call.signature:
        made["extra_content"] = {"google": {"thought_signature": call.signature}}
    return made


def _usage(answer: Answer) -> Json:
    """Return the tokens; in this wire the prompt includes what was cached."""
    counts = answer.counts
    details = {"cached_tokens": counts.cache_read}
    if counts.cache_write:
        details["cache_write_tokens"] = counts.cache_write
    return {
        "prompt_tokens": counts.prompt,
        "completion_tokens": counts.output,
        "total_tokens": counts.total,
        "prompt_tokens_details": details,
    }
