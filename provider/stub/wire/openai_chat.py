"""A model's answer as Chat Completions, in OpenRouter's dialect or the common one.

No clock, no socket. Source: fixtures/captures/openrouter_*.json, groq_stream_*.json and
mistral_stream_thinking_list.json.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ...conversation import Reasoning, Text, ToolCall
from ..vendor_error import to_json
from .base import (
    CREATED,
    Frame,
    Streamed,
    StubRequest,
    arguments_of,
    parts_of,
    pieces_of,
    stop_of,
    usage_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..answer import ModelAnswer

DONE = Frame(b"data: [DONE]\n\n")

NATIVE_STOP = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
"""What the model behind OpenRouter said for its ``finish_reason``."""

THINKING = {"openrouter": "reasoning", "groq": "reasoning", "cerebras": "reasoning"}
"""Where a provider puts thinking, if not in ``reasoning_content`` beside no content.

Mistral has no field for it: there, thinking is an entry of the content.
"""


def stream(answer: ModelAnswer, request: StubRequest) -> Streamed:
    """Spell *answer* as chunks."""
    return Streamed(tuple(_frames(answer, request)), tuple(_finish(answer, request)))


def whole(answer: ModelAnswer, request: StubRequest) -> dict[str, object]:
    """Spell *answer* as one completion."""
    message: dict[str, object] = {"role": "assistant", "content": None, "refusal": None}
    calls = []
    for part in parts_of(answer, request):
        match part:
            case Text():
                message["content"] = _whole_text(part.text, message["content"])
            case Reasoning():
                message |= _whole_reasoning(part, request)
            case ToolCall():
                function = {"name": part.name, "arguments": arguments_of(part)}
                calls.append({"id": part.id, "type": "function", "function": function})
            case _:
                assert_never(part)
    if calls:
        message["tool_calls"] = calls
    elif message["content"] is None:
        message["content"] = ""
    choice = {"index": 0, "message": message, "logprobs": None, **_stop(answer, request)}
    head = {**_head(request), "object": "chat.completion"}
    return {**head, "choices": [choice], "usage": _usage(answer, request)}


def error_frames(
    error: Mapping[str, object], request: StubRequest, _sent: int
) -> tuple[Frame, ...]:
    """Spell *error* as the chunks that end a stream."""
    if not _is_openrouter(request):
        return (_data({"error": error}), DONE)
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    return (_data({**_head(request), "error": error, "choices": [choice]}), DONE)


def _is_openrouter(request: StubRequest) -> bool:
    return request.dialect == "openrouter"


def _data(value: object, *, is_output: bool = False) -> Frame:
    return Frame(b"data: %s\n\n" % to_json(value), is_output)


def _head(request: StubRequest) -> dict[str, object]:
    head: dict[str, object] = {
        "id": request.id("gen-" if _is_openrouter(request) else "chatcmpl-"),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": request.route.model,
    }
    if _is_openrouter(request):
        head["provider"] = "Stub"
    return head


def _chunk(delta: Mapping[str, object], request: StubRequest, *, is_output: bool = False) -> Frame:
    stop: dict[str, object] = {"finish_reason": None}
    if _is_openrouter(request):
        delta = {"content": "", **delta}
        stop["native_finish_reason"] = None
    choice = {"index": 0, "delta": delta, "logprobs": None, **stop}
    return _data({**_head(request), "choices": [choice]}, is_output=is_output)


def _frames(answer: ModelAnswer, request: StubRequest) -> Iterator[Frame]:
    yield _chunk({"role": "assistant", "content": ""}, request)
    calls = 0
    for part in parts_of(answer, request):
        match part:
            case Text():
                for piece in pieces_of(part.text, answer.chunk):
                    yield _chunk({"content": piece}, request, is_output=True)
            case Reasoning():
                yield from _reasoning_frames(part, answer.chunk, request)
            case ToolCall():
                yield from _call_frames(part, calls, answer.chunk, request)
                calls += 1
            case _:
                assert_never(part)


def _reasoning_frames(part: Reasoning, size: int, request: StubRequest) -> Iterator[Frame]:
    """The signature comes late, in a fragment of its own, and from OpenRouter only."""
    pieces = pieces_of(part.text, size)
    for number, piece in enumerate(pieces, start=1):
        delta = _thinking(piece, request, is_last=number == len(pieces))
        yield _chunk(delta, request, is_output=True)
    if _is_openrouter(request):
        detail = _detail(signature=part.signature)
        yield _chunk({"reasoning": None, "reasoning_details": [detail]}, request)


def _call_frames(part: ToolCall, index: int, size: int, request: StubRequest) -> Iterator[Frame]:
    """The id and the name come with the first fragment only."""
    first = {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": ""}}
    yield _chunk({"content": None, "tool_calls": [{"index": index, **first}]}, request)
    for piece in pieces_of(arguments_of(part), size):
        fragment = {"index": index, "function": {"arguments": piece}}
        yield _chunk({"content": None, "tool_calls": [fragment]}, request, is_output=True)


def _detail(**fields: str | None) -> dict[str, object]:
    return {"type": "reasoning.text", **fields, "format": "anthropic-claude-v1", "index": 0}


def _thinking(text: str, request: StubRequest, *, is_last: bool = True) -> dict[str, object]:
    """What of a message, or of a delta, carries thinking: in each provider's own place."""
    if request.route.provider == "mistral":
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
        return {"content": [{**thought, "closed": True} if is_last else thought]}
    field = THINKING.get(request.route.provider)
    if field is None:
        return {"content": None, "reasoning_content": text}
    details = {"reasoning_details": [_detail(text=text)]} if _is_openrouter(request) else {}
    return {field: text, **details}


def _whole_reasoning(part: Reasoning, request: StubRequest) -> dict[str, object]:
    if not _is_openrouter(request):
        return _thinking(part.text, request)
    detail = _detail(text=part.text, signature=part.signature)
    return {"reasoning": part.text, "reasoning_details": [detail]}


def _whole_text(text: str, before: object) -> object:
    return [*before, {"type": "text", "text": text}] if isinstance(before, list) else text


def _finish(answer: ModelAnswer, request: StubRequest) -> Iterator[Frame]:
    """The finish, the usage where it is due, and the terminal marker.

    OpenRouter sends the usage unasked, beside a choice without a finish; the others with no
    choice at all, and OpenAI itself only when asked.
    """
    empty = {"content": ""} if _is_openrouter(request) else {}
    choice = {"index": 0, "delta": empty, "logprobs": None}
    yield _data({**_head(request), "choices": [{**choice, **_stop(answer, request)}]})
    usage = _usage(answer, request)
    if _is_openrouter(request):
        last = {**choice, "finish_reason": None, "native_finish_reason": None}
        yield _data({**_head(request), "choices": [last], "usage": usage})
    elif request.wants_usage or request.route.provider not in {"openai", "openai-chat"}:
        yield _data({**_head(request), "choices": [], "usage": usage})
    yield DONE


def _stop(answer: ModelAnswer, request: StubRequest) -> dict[str, str]:
    word = stop_of(answer, "stop", "tool_calls")
    if not _is_openrouter(request):
        return {"finish_reason": word}
    return {"finish_reason": word, "native_finish_reason": NATIVE_STOP.get(word, word)}


def _usage(answer: ModelAnswer, request: StubRequest) -> dict[str, object]:
    """Count the cached tokens among the prompt's, as this wire does."""
    usage = usage_of(answer, request)
    counts: dict[str, object] = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.output,
        "total_tokens": usage.prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }
    return {**counts, "cost": 0, "is_byok": False} if _is_openrouter(request) else counts
