"""Write a model's answer as Chat Completions, in OpenRouter's dialect or the common one.

Source: fixtures/captures/openrouter_*.json, groq_stream_*.json and
mistral_stream_thinking_list.json.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ...conversation import ModelPart, Reasoning, Text, ToolCall
from ..vendor_error import to_json
from .base import (
    CREATED,
    Frame,
    StreamedAnswer,
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
"""The word of the model behind OpenRouter for each ``finish_reason``."""

THINKING = {"openrouter": "reasoning", "groq": "reasoning", "cerebras": "reasoning"}
"""The field for thinking of the vendors that do not call it ``reasoning_content``.

Mistral has no field; it puts thinking into the list of contents. OpenAI hides it.
"""
BESIDE: Mapping[str, Mapping[str, object]] = {
    "openai": {"refusal": None, "annotations": []},
    "openrouter": {"refusal": None},
}
"""What else a vendor puts into every message. Groq refuses a ``refusal`` that comes back."""


def stream(answer: ModelAnswer, request: StubRequest) -> StreamedAnswer:
    """Return *answer* as chunks."""
    return StreamedAnswer(tuple(_frames(answer, request)), tuple(_finish(answer, request)))


def whole(answer: ModelAnswer, request: StubRequest) -> dict[str, object]:
    """Return *answer* as one completion."""
    message: dict[str, object] = {"role": "assistant", "content": None}
    message |= _beside(request)
    calls = []
    for part in _parts(answer, request):
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
    """Return the chunks with which *error* ends a stream."""
    if not _is_openrouter(request):
        return (_data({"error": error}), DONE)
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    return (_data({**_head(request), "error": error, "choices": [choice]}), DONE)


def _beside(request: StubRequest) -> Mapping[str, object]:
    """Return what the vendor puts into every message beside its content."""
    return {"reasoning_content": ""} if request.must_think else BESIDE.get(request.vendor, {})


def _parts(answer: ModelAnswer, request: StubRequest) -> list[ModelPart]:
    """Return the parts of *answer*, without thinking if the vendor hides it."""
    parts = parts_of(answer, request)
    if request.vendor != "openai":
        return parts
    return [part for part in parts if not isinstance(part, Reasoning)]


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
    thought = _beside(request) if request.must_think and not answer.reasoning else {}
    yield _chunk({"role": "assistant", "content": "", **thought}, request)
    calls = 0
    for part in _parts(answer, request):
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
    """Return the chunks of thinking; OpenRouter sends the signature in a later one of its own."""
    pieces = pieces_of(part.text, size)
    for number, piece in enumerate(pieces, start=1):
        delta = _thinking(piece, request, is_last=number == len(pieces))
        yield _chunk(delta, request, is_output=True)
    if _is_openrouter(request):
        detail = _detail(signature=part.signature)
        yield _chunk({"reasoning": None, "reasoning_details": [detail]}, request)


def _call_frames(part: ToolCall, index: int, size: int, request: StubRequest) -> Iterator[Frame]:
    """Return the chunks of a call; only the first has the id and the name."""
    first = {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": ""}}
    yield _chunk({"content": None, "tool_calls": [{"index": index, **first}]}, request)
    for piece in pieces_of(arguments_of(part), size):
        fragment = {"index": index, "function": {"arguments": piece}}
        yield _chunk({"content": None, "tool_calls": [fragment]}, request, is_output=True)


def _detail(**fields: str | None) -> dict[str, object]:
    return {"type": "reasoning.text", **fields, "format": "anthropic-claude-v1", "index": 0}


def _thinking(text: str, request: StubRequest, *, is_last: bool = True) -> dict[str, object]:
    """Return the fields of a message or a delta that carry thinking, as the provider has them."""
    if request.vendor == "mistral":
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
        return {"content": [{**thought, "closed": True} if is_last else thought]}
    field = THINKING.get(request.vendor)
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
    """Return the finish, the usage if the provider sends it, and the terminal marker.

    OpenRouter always sends the usage, next to a choice without a finish. The others send it
    without any choice, OpenAI itself only if the request asks for it.
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
    """Return the usage; in this wire the prompt's tokens include the cached ones."""
    usage = usage_of(answer, request)
    counts: dict[str, object] = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.output,
        "total_tokens": usage.prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
    return {**counts, "cost": 0, "is_byok": False} if _is_openrouter(request) else counts
