"""Anthropic Messages: writing an answer for a client.

Source: docs.claude.com/en/api/messages-streaming, platform.claude.com/docs/en/api/errors and the
types of the anthropic package 2.14, read on 2026-11-30. Claude Code compacts from the words
``prompt is too long``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, assert_never

from ...conversation import Reasoning, Text, ToolCall
from ...delta import ReasoningDelta, TextDelta, ToolCallEnded
from ...failure import FailureKind
from ...json_value import write_json, write_json_line
from ..answer import new_id
from ..refusal import Refusal, headers_of, overflow_message, status_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...conversation import ModelPart
    from ...delta import Delta
    from ...failure import Failure
    from ...wire_name import Wire
    from ..answer import Answer, End

Json = dict[str, Any]

PING = b'event: ping\ndata: {"type":"ping"}\n\n'
TOO_LONG = "prompt is too long."

_STOPS: Mapping[End, str] = MappingProxyType(
    {
        "end": "end_turn",
        "calls": "tool_use",
        "cut": "max_tokens",
        "stop_sequence": "stop_sequence",
    }
)
_TYPES: Mapping[FailureKind, str] = MappingProxyType(
    {
        FailureKind.RATE_LIMIT: "rate_limit_error",
        FailureKind.OVERLOADED: "overloaded_error",
        FailureKind.TIMEOUT: "timeout_error",
        FailureKind.QUOTA: "billing_error",
        FailureKind.AUTH: "authentication_error",
        FailureKind.NOT_FOUND: "not_found_error",
        FailureKind.BAD_REQUEST: "invalid_request_error",
        FailureKind.REQUEST_TOO_LARGE: "request_too_large",
        FailureKind.HISTORY_REJECTED: "invalid_request_error",
        FailureKind.CONTEXT_OVERFLOW: "invalid_request_error",
        FailureKind.CONTENT_FILTER: "invalid_request_error",
        FailureKind.REFUSAL: "invalid_request_error",
    }
)
"""The type of each kind of failure; of all others ``api_error``."""


class AnthropicWriter:
    """The `Writer` of Anthropic Messages."""

    wire: ClassVar[Wire] = "anthropic"

    def __init__(
        self,
        *,
        model: str,
        answer_id: str = "",
        created: int = 0,
        wants_usage: bool = True,
        is_array: bool = False,
    ) -> None:
        self._model = model
        self._id = answer_id or new_id("msg_")
        self._index = -1  # of the latest block
        self._open: type[TextDelta] | type[ReasoningDelta] | None = None
        self._head = b""  # of the events of the open block, up to the text

    def start(self) -> bytes:
        """Return the beginning of a stream."""
        usage = _usage(None)
        message = {**self._message([], usage), "stop_reason": None, "stop_sequence": None}
        return _event("message_start", message=message)

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Return the events for *deltas*; a call is written when its arguments are whole."""
        pieces: list[bytes] = []
        for delta in deltas:
            if isinstance(delta, TextDelta | ReasoningDelta):
                if self._open is not type(delta):
                    pieces += self._begin(type(delta))
                pieces += (self._head, write_json_line(delta.text), b"}}\n\n")
            elif isinstance(delta, ToolCallEnded):
                call = ToolCall(delta.id, delta.name, delta.input)
                pieces += (*self._close(), *self._block(call, is_own=False))
        return b"".join(pieces)

    def end(self, answer: Answer) -> bytes:
        """Return the rest of a stream, with the terminal marker."""
        pieces = list(self._close())
        if self._index < 0:
            for part in answer.model_parts:
                pieces += self._block(part, is_own=answer.wire == self.wire)
        delta = {"stop_reason": _stop(answer), "stop_sequence": None}
        pieces.append(_event("message_delta", delta=delta, usage=_usage(answer)))
        pieces.append(_event("message_stop"))
        return b"".join(pieces)

    def error(self, failure: Failure) -> bytes:
        """Return the event that ends a stream which fails."""
        return _event("error", error=_error(failure))

    def ping(self) -> bytes:
        """Return the wire's own event for an idle stream."""
        return PING

    def whole(self, answer: Answer) -> bytes:
        """Return *answer* as one message."""
        is_own = answer.wire == self.wire
        blocks = [block for part in answer.model_parts for block in _blocks(part, is_own=is_own)]
        message = self._message(blocks, _usage(answer))
        return write_json_line({**message, "stop_reason": _stop(answer), "stop_sequence": None})

    @staticmethod
    def refusal(failure: Failure, *, is_streamed: bool = False) -> Refusal:
        """Return the response to a request that failed before a byte was sent."""
        body = write_json_line({"type": "error", "error": _error(failure)})
        return Refusal(status_of(failure), headers_of(failure), body)

    def _message(self, content: list[Json], usage: Json) -> Json:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "usage": usage,
        }

    def _begin(self, kind: type[TextDelta] | type[ReasoningDelta]) -> Iterator[bytes]:
        """Yield the end of the open block, and the start of one of *kind*."""
        yield from self._close()
        self._index += 1
        self._open = kind
        is_text = kind is TextDelta
        block = _text("") if is_text else _thinking("", "")
        name = b"text" if is_text else b"thinking"
        self._head = (
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,'
            b'"delta":{"type":"%s_delta","%s":' % (self._index, name, name)
        )
        yield _event("content_block_start", index=self._index, content_block=block)

    def _close(self) -> Iterator[bytes]:
        if self._open is not None:
            self._open = None
            yield _event("content_block_stop", index=self._index)

    def _block(self, part: ModelPart, *, is_own: bool) -> Iterator[bytes]:
        """Yield the events of a whole part."""
        for block in _blocks(part, is_own=is_own):
            self._index += 1
            begun, deltas = _split(block)
            yield _event("content_block_start", index=self._index, content_block=begun)
            for delta in deltas:
                yield _event("content_block_delta", index=self._index, delta=delta)
            yield _event("content_block_stop", index=self._index)


def _event(kind: str, **fields: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), write_json_line({"type": kind, **fields}))


def _blocks(part: ModelPart, *, is_own: bool) -> Iterator[Json]:
    """Yield the block of *part*; none for reasoning that only another wire can show."""
    match part:
        case Text():
            if part.text:
                yield _text(part.text)
        case ToolCall():
            yield {"type": "tool_use", "id": part.id, "name": part.name, "input": part.input}
        case Reasoning(redacted=str(data)) if is_own:
            yield {"type": "redacted_thinking", "data": data}
        case Reasoning():
            signature = (is_own and part.signature) or ""
            if part.text or signature:
                yield _thinking(part.text, signature)
        case _:
            assert_never(part)


def _split(block: Json) -> tuple[Json, list[Json]]:
    """Return *block* as it is announced, and the deltas that bring its content."""
    match block["type"]:
        case "text":
            return _text(""), [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
            signed = [{"type": "signature_delta", "signature": block["signature"]}]
            return _thinking("", ""), deltas + (signed if block["signature"] else [])
        case "tool_use":
            arguments = write_json(block["input"]).decode()
            delta = {"type": "input_json_delta", "partial_json": arguments}
            return {**block, "input": {}}, [delta]
    return block, []


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _thinking(text: str, signature: str) -> Json:
    return {"type": "thinking", "thinking": text, "signature": signature}


def _stop(answer: Answer) -> str:
    is_native = answer.end == "end" and answer.wire == AnthropicWriter.wire
    return (is_native and answer.stop) or _STOPS[answer.end]


def _usage(answer: Answer | None) -> Json:
    """Return the tokens; in this wire the input does not include what was cached."""
    counts = None if answer is None else answer.counts
    return {
        "input_tokens": counts.input if counts else 0,
        "cache_creation_input_tokens": counts.cache_write if counts else 0,
        "cache_read_input_tokens": counts.cache_read if counts else 0,
        "output_tokens": counts.output if counts else 0,
    }


def _error(failure: Failure) -> Json:
    kind = _TYPES.get(failure.kind, "api_error")
    if failure.kind is FailureKind.AUTH and failure.status == 403:
        kind = "permission_error"
    message = failure.message
    if failure.kind is FailureKind.CONTEXT_OVERFLOW:
        message = overflow_message(failure, TOO_LONG)
    return {"type": kind, "message": message}
