"""Write a model's answer as Anthropic Messages.

Source: docs.claude.com/en/api/messages-streaming, and
fixtures/captures/anthropic_stream_thinking_tool.json.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ...conversation import ModelPart, Reasoning, Text, ToolCall
from .base import (
    Frame,
    StreamedAnswer,
    StubRequest,
    arguments_of,
    event,
    parts_of,
    pieces_of,
    stop_of,
    usage_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..answer import ModelAnswer


def stream(answer: ModelAnswer, request: StubRequest) -> StreamedAnswer:
    """Return *answer* as events."""
    return StreamedAnswer(tuple(_frames(answer, request)), tuple(_finish(answer, request)))


def whole(answer: ModelAnswer, request: StubRequest) -> dict[str, object]:
    """Return *answer* as one message."""
    return {
        "id": request.id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": request.route.model,
        "content": [_block(part) for part in parts_of(answer, request)],
        "stop_reason": stop_of(answer, "end_turn", "tool_use"),
        "stop_sequence": None,
        "usage": _message_usage(answer, request),
    }


def error_frames(
    error: Mapping[str, object], request: StubRequest, _sent: int
) -> tuple[Frame, ...]:
    """Return the event with which *error* ends a stream."""
    return (event("error", error=error, request_id=request.id("req_")),)


def _frames(answer: ModelAnswer, request: StubRequest) -> Iterator[Frame]:
    message = whole(answer, request)
    usage = {**_message_usage(answer, request), "output_tokens": 1}
    message |= {"content": [], "stop_reason": None, "usage": usage}
    yield event("message_start", message=message)
    yield event("ping")
    for index, part in enumerate(parts_of(answer, request)):
        yield event("content_block_start", index=index, content_block=_empty_block(part))
        for delta in _block_deltas(part, answer.chunk):
            is_output = delta["type"] != "signature_delta" and delta.get("partial_json") != ""
            yield event("content_block_delta", is_output=is_output, index=index, delta=delta)
        yield event("content_block_stop", index=index)


def _finish(answer: ModelAnswer, request: StubRequest) -> Iterator[Frame]:
    delta = {"stop_reason": stop_of(answer, "end_turn", "tool_use"), "stop_sequence": None}
    yield event("message_delta", delta=delta, usage=_message_usage(answer, request))
    yield event("message_stop")


def _empty_block(part: ModelPart) -> dict[str, object]:
    match part:
        case Text():
            return {"type": "text", "text": ""}
        case Reasoning():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
        case _:
            assert_never(part)


def _block_deltas(part: ModelPart, size: int) -> Iterator[dict[str, str | None]]:
    match part:
        case Text():
            for piece in pieces_of(part.text, size):
                yield {"type": "text_delta", "text": piece}
        case Reasoning():
            for piece in pieces_of(part.text, size):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": part.signature}
        case ToolCall():
            for piece in ("", *pieces_of(arguments_of(part), size)):
                yield {"type": "input_json_delta", "partial_json": piece}
        case _:
            assert_never(part)


def _block(part: ModelPart) -> dict[str, object]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Reasoning():
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.input}
        case _:
            assert_never(part)


def _message_usage(answer: ModelAnswer, request: StubRequest) -> dict[str, object]:
    usage = usage_of(answer, request)
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
        "service_tier": "standard",
    }
